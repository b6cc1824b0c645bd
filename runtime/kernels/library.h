// Library calls of CPU programs: one Definition per name that a kLibrary instruction's `target` can have. A
// new call is a new file that ends in PDC_REGISTER_LIBRARY_CALL; nothing else knows the list.
//
// The calls, their operands (reads, then writes) and attributes are described in runtime/kernels/README.md.
#ifndef PDC_RUNTIME_KERNELS_LIBRARY_H_
#define PDC_RUNTIME_KERNELS_LIBRARY_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/base/workers.h"
#include "runtime/program/program_generated.h"

namespace pdc::kernels {

// What an instruction works on.
struct Binding {
  // One address per operand, view offsets applied.
  std::vector<std::byte*> operands;
  std::byte* workspace = nullptr;
  int64_t workspace_bytes = 0;
  Workers workers{1};
};

// A call with everything resolved. Run() allocates nothing itself and may run again and again, on one thread
// at a time.
class Call {
 public:
  virtual ~Call() = default;
  virtual absl::Status Run() = 0;
};

struct Definition {
  std::string name;
  // Checks operands and attributes (INVALID_ARGUMENT, or UNIMPLEMENTED for what the call cannot do), and says
  // how many bytes of workspace a rank with `threads` threads needs. Null: no workspace, and Prepare checks.
  absl::StatusOr<int64_t> (*workspace_bytes)(const program::Instruction& instruction, int threads);
  // The instruction outlives the call. Checks what workspace_bytes checks.
  absl::StatusOr<std::unique_ptr<Call>> (*prepare)(const program::Instruction& instruction,
                                                   const Binding& binding);
  // Floating-point operations of one Run(). Null: none to speak of.
  double (*flops)(const program::Instruction& instruction);
};

// NOT_FOUND lists the calls there are.
absl::StatusOr<const Definition*> FindCall(std::string_view name);

// What pdc plans memory with: the same question before and after an instruction is written. Answers for this
// machine's instruction set, since oneDNN chooses its code by it.
absl::StatusOr<int64_t> WorkspaceBytes(const program::Instruction& instruction, int threads);
absl::StatusOr<int64_t> WorkspaceBytes(const program::InstructionT& instruction, int threads);

double Flops(const program::Instruction& instruction);

// Looks up the call, checks that the planned workspace is enough, and prepares. FAILED_PRECONDITION when the
// workspace was planned for another machine or number of threads.
absl::StatusOr<std::unique_ptr<Call>> PrepareCall(const program::Instruction& instruction,
                                                  const Binding& binding);

// For PDC_REGISTER_LIBRARY_CALL.
struct Registration {
  explicit Registration(Definition definition);
};

// One operand, as calls read it.
struct View {
  program::ElementType type;
  absl::Span<const int64_t> shape;
  absl::Span<const int64_t> strides;  // in elements

  bool dense() const;
  int64_t elements() const;
};

View ViewOf(const program::Instruction& instruction, uint32_t operand);

// INVALID_ARGUMENT "matmul takes 3 operands, found 2" unless there are `reads` reads before `writes` writes.
absl::Status ExpectOperands(const program::Instruction& instruction, uint32_t reads, uint32_t writes);
// INVALID_ARGUMENT "matmul: MESSAGE".
absl::Status CallError(const program::Instruction& instruction, absl::string_view message);
// UNIMPLEMENTED "matmul: MESSAGE".
absl::Status CallUnsupported(const program::Instruction& instruction, absl::string_view message);
// "[2,3]xf32 strides [3,1]".
std::string ToString(const View& view);

}  // namespace pdc::kernels

// Defines a call at namespace scope; the library that holds it is linked with alwayslink.
#define PDC_REGISTER_LIBRARY_CALL(identifier, ...) \
  static const ::pdc::kernels::Registration identifier##_registration(::pdc::kernels::Definition{__VA_ARGS__})

#endif  // PDC_RUNTIME_KERNELS_LIBRARY_H_
