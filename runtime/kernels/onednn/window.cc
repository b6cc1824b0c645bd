#include "runtime/kernels/onednn/window.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/base/status.h"
#include "runtime/program/view.h"

namespace pdc::kernels::onednn {
namespace {

using dnnl::memory;

absl::StatusOr<memory::dims> Read(const program::Instruction& instruction, absl::string_view name,
                                  size_t size, int64_t otherwise, int64_t least) {
  absl::Span<const int64_t> values =
      program::FindIntegers(instruction, std::string_view(name.data(), name.size()));
  if (values.empty()) return memory::dims(size, otherwise);
  bool valid = values.size() == size;
  for (int64_t value : values) valid = valid && value >= least;
  if (valid) return memory::dims(values.begin(), values.end());
  return CallError(instruction, absl::StrCat("'", name, "' is [", absl::StrJoin(values, ","), "], expected ",
                                             size, " numbers, each at least ", least));
}

}  // namespace

absl::StatusOr<Window> ReadWindow(const program::Instruction& instruction, absl::Span<const int64_t> in,
                                  absl::Span<const int64_t> kernel, absl::Span<const int64_t> out) {
  PDC_ASSIGN_OR_RETURN(memory::dims stride, Read(instruction, "stride", 2, 1, 1));
  PDC_ASSIGN_OR_RETURN(memory::dims dilation, Read(instruction, "dilation", 2, 1, 1));
  PDC_ASSIGN_OR_RETURN(memory::dims padding, Read(instruction, "padding", 4, 0, 0));
  Window window;
  window.stride = stride;
  for (int d = 0; d < 2; ++d) {
    int64_t reach = (kernel[d] - 1) * dilation[d] + 1;
    int64_t padded = in[d] + padding[d] + padding[d + 2];
    int64_t expected = padded < reach ? 0 : (padded - reach) / stride[d] + 1;
    if (out[d] != expected) {
      return CallError(instruction,
                       absl::StrCat("a window of ", kernel[d], " with stride ", stride[d], ", dilation ",
                                    dilation[d], " and padding ", padding[d], "+", padding[d + 2], " over ",
                                    in[d], " gives ", expected, ", but the result has ", out[d]));
    }
    window.dilation[d] = dilation[d] - 1;
    window.before[d] = padding[d];
    window.after[d] = std::max<int64_t>(0, (out[d] - 1) * stride[d] + reach - in[d] - padding[d]);
  }
  return window;
}

}  // namespace pdc::kernels::onednn
