// One rank of a job, ready to run steps: the programs of an executable image, bound to a device and a
// communicator.
#ifndef PDC_RUNTIME_EXEC_SESSION_H_
#define PDC_RUNTIME_EXEC_SESSION_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/comm/communicator.h"
#include "runtime/device/device.h"
#include "runtime/program/program_generated.h"

namespace pdc::exec {

struct SessionOptions {
  std::chrono::nanoseconds timeout = std::chrono::seconds(60);  // of every wait for peers
  // What will be run: the arenas are as large as these programs need. The same on all ranks. Empty: all.
  std::vector<program::Mode> modes;
};

// For traces: one executed instruction.
struct InstructionEvent {
  int64_t step;
  int32_t instruction;
  std::chrono::steady_clock::time_point begin, end;
};

// A buffer of a program as the trainer sees it.
struct BufferView {
  const program::Buffer* description;
  std::byte* data;  // description->bytes() bytes
};

// Writes an input of a program: `input` counts its kInput buffers in their order, `destination` has room for the bytes of that
// one.
using InputWriter = std::function<absl::Status(size_t input, std::byte* destination)>;

class Session {
 public:
  // Checks the programs, compares their hash with all ranks, allocates and touches the arenas. Collective
  // over all ranks. DATA_LOSS or INVALID_ARGUMENT for a payload that must not run; FAILED_PRECONDITION when
  // it was compiled for another number of ranks, when ranks brought different payloads, or when this machine
  // cannot run its kernels. `image` is a payload (see runtime/program/container.h), aligned to 8 bytes; it,
  // the device and the communicator outlive the session.
  static absl::StatusOr<std::unique_ptr<Session>> Create(std::string_view image, device::Device& device,
                                                         comm::Communicator& communicator,
                                                         SessionOptions options);
  virtual ~Session() = default;

  virtual const program::Executable& executable() const = 0;
  // NOT_FOUND when the executable was compiled without this mode, or the session was opened without it.
  virtual absl::StatusOr<const program::Program*> program(program::Mode mode) const = 0;
  // In the order of the program; kinds kParameter, kOptimizerState, kState, kInput, kScalarInput, kOutput.
  // Persistent buffers of the train, gradient, evaluate and infer programs are the same memory;
  // kReferenceGradient has arenas of its own, allocated here or by its first Run(). Empty when the executable
  // has no such program or there is no memory for it: Run() says which.
  virtual std::vector<BufferView> buffers(program::Mode mode, program::BufferKind kind) = 0;

  // Runs the program's list once; step is the number that errors and traces show (the first step is 1). The
  // first run of a mode prepares its instructions; later ones allocate nothing. An error names rank, step and
  // instruction, and the session answers every later call with it: operations that peers wait for may be
  // unfinished. Each input is written by `write` right before the first instruction that needs it (its first_use; before the
  // step, where there is none), so that a step can begin before all of its inputs are there. Without `write` the caller has
  // written them before; FAILED_PRECONDITION where one has its memory only from its first_use on. Errors of `write` are
  // returned as they are.
  virtual absl::Status Run(program::Mode mode, int64_t step, const InputWriter& write) = 0;
  absl::Status Run(program::Mode mode, int64_t step) { return Run(mode, step, nullptr); }

  // Called after each instruction while set; null by default.
  virtual void set_trace(std::function<void(const InstructionEvent&)> trace) = 0;

  virtual comm::Communicator& communicator() = 0;
  virtual comm::Clock::time_point deadline() const = 0;  // now + timeout
};

}  // namespace pdc::exec

#endif  // PDC_RUNTIME_EXEC_SESSION_H_
