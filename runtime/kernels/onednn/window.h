// The sliding window of convolutions and poolings: sizes, stride, padding, dilation.
#ifndef PDC_RUNTIME_KERNELS_ONEDNN_WINDOW_H_
#define PDC_RUNTIME_KERNELS_ONEDNN_WINDOW_H_

#include <dnnl.hpp>

#include "absl/status/statusor.h"
#include "runtime/kernels/library.h"

namespace pdc::kernels::onednn {

struct Window {
  dnnl::memory::dims stride{1, 1};
  dnnl::memory::dims dilation{0, 0};  // as oneDNN counts it: 0 is dense
  dnnl::memory::dims before{0, 0};    // padding: top, left
  dnnl::memory::dims after{0, 0};     // padding: bottom, right
};

// Attributes stride[2], padding[4] (top, left, bottom, right) and dilation[2] (1 is dense), each of which may
// be left out. `after` is cut to what the output uses, since a last row of padding that no window reaches is
// no error. INVALID_ARGUMENT unless `kernel` over `in` gives `out` (height and width each).
absl::StatusOr<Window> ReadWindow(const program::Instruction& instruction, absl::Span<const int64_t> in,
                                  absl::Span<const int64_t> kernel, absl::Span<const int64_t> out);

}  // namespace pdc::kernels::onednn

#endif  // PDC_RUNTIME_KERNELS_ONEDNN_WINDOW_H_
