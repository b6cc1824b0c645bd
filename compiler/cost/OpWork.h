//===- OpWork.h - the time of one op on one device --------------*- C++ -*-===//
#ifndef PDC_COMPILER_COST_OPWORK_H
#define PDC_COMPILER_COST_OPWORK_H

#include "compiler/machine/Cluster.h"
#include <string>

namespace pdc::cost {

/// What an op, or its local part, does on one device.
struct OpWork {
  machine::OpClass opClass = machine::OpClass::Elementwise;
  double flops = 0;
  double bytesRead = 0;
  double bytesWritten = 0;
  machine::Precision precision = machine::Precision::F32;
  /// What DeviceKind::librarySeconds calls exactly this library call; empty: no call that could have been
  /// measured.
  std::string call;
  /// Written to memory that is not read: a processor fetches the lines of a cache before it writes to them.
  double bytesFetched = 0;
  /// What the step around it works on, and so what of the operands a cache may still hold; 0: only the op itself is known.
  double workingSetBytes = 0;
  /// Of a convolution or pooling: those that lie side by side in a vector register (DeviceKind::channelBlock); 0: not known.
  double channels = 0;
  /// Part of a kernel that another op launches.
  bool isLaunched = false;
};

/// The measured time of the call where the device has one. Else the roofline (Williams et al. 2009) under
/// measured efficiencies:
///
///     launch + max(flops / (peak * share(class, flops)), bytes / (bandwidth * share(memory, W)))
///
/// where W is the larger of the op's bytes and the working set of its step: a curve that was measured over arrays of
/// W bytes says how fast memory is that is used again after W bytes. Of arithmetic classes the first share is measured
/// and the second is that of copies; of the others the second is measured, and the first is kVectorShare of the f32
/// peak. Channels that do not fill blocks cost as if they did.
///
/// On a host's cores bytes that are fetched before they are written count as well. Arithmetic classes take the sum, not
/// the maximum, where the working set is known: their shares are measured with operands in the caches, and a core that
/// waits for operands computes nothing; libraries pack the operands of matrix products, which moves them twice. Where shares
/// were measured also while all ranks of a node are busy, those hold for as much of the moving as an op moves of its time.
double opSeconds(const machine::DeviceKind &device, const OpWork &work);

/// What straight vector code reaches of a peak that counts fused multiply-adds on all lanes.
inline constexpr double kVectorShare = 0.25;

/// How often a matrix product moves its operands on a host.
inline constexpr double kPackedPasses = 2;

} // namespace pdc::cost

#endif // PDC_COMPILER_COST_OPWORK_H
