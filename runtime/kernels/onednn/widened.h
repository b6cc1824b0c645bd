// bf16 on every processor: oneDNN 2.6 computes in bf16 only where there is AVX-512. Elsewhere operands in bf16 are
// widened to f32 in the workspace, the call runs in f32, and what it wrote is rounded to bf16: the sums are those of
// the bf16 primitives, which add up in f32 too.
#ifndef PDC_RUNTIME_KERNELS_ONEDNN_WIDENED_H_
#define PDC_RUNTIME_KERNELS_ONEDNN_WIDENED_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "runtime/kernels/library.h"

namespace pdc::kernels::onednn {

using WorkspaceFunction = absl::StatusOr<int64_t> (*)(const program::Instruction& instruction, int threads);
using PrepareFunction = absl::StatusOr<std::unique_ptr<Call>> (*)(const program::Instruction& instruction,
                                                                  const Binding& binding);

// Whether `instruction` has operands in bf16 and this processor cannot compute in it.
bool NeedsWidening(const program::Instruction& instruction);

absl::StatusOr<int64_t> WidenedWorkspace(const program::Instruction& instruction, int threads,
                                         WorkspaceFunction workspace);
absl::StatusOr<std::unique_ptr<Call>> PrepareWidened(const program::Instruction& instruction,
                                                     const Binding& binding, WorkspaceFunction workspace,
                                                     PrepareFunction prepare);

// The functions of a call, for its registration.
template <WorkspaceFunction workspace>
absl::StatusOr<int64_t> AnyWorkspace(const program::Instruction& instruction, int threads) {
  if (NeedsWidening(instruction)) return WidenedWorkspace(instruction, threads, workspace);
  return workspace(instruction, threads);
}

template <WorkspaceFunction workspace, PrepareFunction prepare>
absl::StatusOr<std::unique_ptr<Call>> AnyPrepare(const program::Instruction& instruction,
                                                 const Binding& binding) {
  if (NeedsWidening(instruction)) return PrepareWidened(instruction, binding, workspace, prepare);
  return prepare(instruction, binding);
}

}  // namespace pdc::kernels::onednn

#endif  // PDC_RUNTIME_KERNELS_ONEDNN_WIDENED_H_
