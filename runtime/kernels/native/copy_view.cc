// "copy_view" and "transpose": see runtime/kernels/README.md.
#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/kernels/library.h"
#include "runtime/kernels/native/strided_copy.h"
#include "runtime/program/view.h"

namespace pdc::kernels::native {
namespace {

class CopyCall : public Call {
 public:
  CopyCall(const View& from, const View& to, const Binding& binding)
      : copy_(from.shape, from.strides, to.strides, program::ElementBytes(from.type)),
        from_(binding.operands[0]),
        to_(binding.operands[1]),
        workers_(binding.workers) {}

  absl::Status Run() override {
    copy_.Run(from_, to_, workers_);
    return absl::OkStatus();
  }

 private:
  StridedCopy copy_;
  const std::byte* from_;
  std::byte* to_;
  Workers workers_;
};

absl::StatusOr<std::unique_ptr<Call>> PrepareCopyView(const program::Instruction& instruction,
                                                      const Binding& binding) {
  PDC_RETURN_IF_ERROR(ExpectOperands(instruction, 1, 1));
  View from = ViewOf(instruction, 0), to = ViewOf(instruction, 1);
  if (from.type != to.type || from.shape != to.shape) {
    return CallError(instruction, absl::StrCat("copies ", ToString(from), " into ", ToString(to),
                                               "; shape and element type must be equal"));
  }
  return std::make_unique<CopyCall>(from, to, binding);
}

absl::StatusOr<std::unique_ptr<Call>> PrepareTranspose(const program::Instruction& instruction,
                                                       const Binding& binding) {
  PDC_RETURN_IF_ERROR(ExpectOperands(instruction, 1, 1));
  if (!ViewOf(instruction, 1).dense()) {
    return CallError(instruction,
                     absl::StrCat("writes ", ToString(ViewOf(instruction, 1)), ", which is not dense"));
  }
  return PrepareCopyView(instruction, binding);
}

PDC_REGISTER_LIBRARY_CALL(copy_view, "copy_view", nullptr, PrepareCopyView, nullptr);
PDC_REGISTER_LIBRARY_CALL(transpose, "transpose", nullptr, PrepareTranspose, nullptr);

}  // namespace
}  // namespace pdc::kernels::native
