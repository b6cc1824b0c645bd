// A place that computes: owns a rank's private arena, a pool of threads (CPU) or a stream (GPU), and the code
// libraries that its programs call.
#ifndef PDC_RUNTIME_DEVICE_DEVICE_H_
#define PDC_RUNTIME_DEVICE_DEVICE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/program/program_generated.h"

namespace pdc::device {

// The two arenas that a program's offsets refer to.
struct Arenas {
  std::byte* private_base = nullptr;
  std::byte* shared_base = nullptr;
};

// An instruction made ready at load: addresses resolved, primitives created, nothing left to allocate.
class Prepared {
 public:
  virtual ~Prepared() = default;
  virtual absl::Status Run() = 0;
};

class Device {
 public:
  virtual ~Device() = default;
  virtual std::string name() const = 0;  // "cpu"

  // Zeroed, aligned to 4096 bytes, touched, owned by the device until it is destroyed.
  virtual absl::StatusOr<void*> Allocate(size_t bytes) = 0;

  // `image` is the kernel library of the executable (an ELF shared object), loaded from memory; `features` is
  // what it was generated for (Executable.cpu_features). FAILED_PRECONDITION names the features that this
  // machine lacks.
  virtual absl::Status LoadKernels(const std::byte* image, size_t bytes, std::string_view features) = 0;

  // kKernel, kLibrary, kFill and kCopy instructions of a program that the checker has accepted. The program
  // outlives the result, and the device does.
  virtual absl::StatusOr<std::unique_ptr<Prepared>> Prepare(const program::Program& program,
                                                            const program::Instruction& instruction,
                                                            const Arenas& arenas) = 0;
};

// The ABI of generated kernels: `arguments` are the operands' addresses (view offsets applied), in order,
// then that of the workspace if the instruction has one; the kernel does rows [begin, end) of its parallel
// extent. A kernel of extent 0 is not called.
using KernelFunction = void (*)(void* const* arguments, int64_t begin, int64_t end);

}  // namespace pdc::device

#endif  // PDC_RUNTIME_DEVICE_DEVICE_H_
