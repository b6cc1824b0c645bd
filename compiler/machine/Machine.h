//===- Machine.h - the devices and links a plan is made for -----*- C++ -*-===//
#ifndef PDC_COMPILER_MACHINE_MACHINE_H
#define PDC_COMPILER_MACHINE_MACHINE_H

#include <string>

namespace pdc::machine {

/// Ranks on one node, one CPU core each per thread: enough for predictions on the machine where pdc runs.
/// Cluster descriptions and measured profiles are not supported yet.
struct Machine {
  std::string name;
  double flopsPerSecond;       // of one thread, f32, as matmul reaches it
  double bf16FlopsPerSecond;   // likewise with bf16 operands
  double memoryBytesPerSecond; // of one thread
  double instructionSeconds;   // fixed cost of one instruction
  double linkBytesPerSecond;   // between two ranks
  double linkLatencySeconds;   // of one message
};

/// An AVX-512 server core. Rates: oneDNN sgemm 180 to 230 GFLOP/s on one core, bf16 about twice that; STREAM
/// triad 32 to 36 GB/s; an all-reduce of two ranks in shared memory moves 25 MiB in 1.7 ms.
Machine local();

} // namespace pdc::machine

#endif // PDC_COMPILER_MACHINE_MACHINE_H
