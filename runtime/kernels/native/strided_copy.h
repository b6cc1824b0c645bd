// Copies between strided views of equal shape, of elements of 1, 2, 4 or 8 bytes.
#ifndef PDC_RUNTIME_KERNELS_NATIVE_STRIDED_COPY_H_
#define PDC_RUNTIME_KERNELS_NATIVE_STRIDED_COPY_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "runtime/base/workers.h"

namespace pdc::kernels::native {

// Dimensions ordered by the destination's strides, largest first, and joined where both sides step through
// two of them as one; so a transposition of any rank ends as a few loops around a copy of rows or of square
// blocks.
class StridedCopy {
 public:
  StridedCopy(absl::Span<const int64_t> shape, absl::Span<const int64_t> from_strides,
              absl::Span<const int64_t> to_strides, int64_t element_bytes);

  // Allocates nothing.
  void Run(const std::byte* from, std::byte* to, const Workers& workers) const;

 private:
  struct Dimension {
    int64_t size, from, to;  // strides in elements
  };

  template <typename T>
  void RunTyped(const T* from, T* to, const Workers& workers) const;

  int64_t element_bytes_;
  std::vector<Dimension> outer_;  // outermost first
  Dimension rows_{1, 0, 0};       // of a block: where the source has its smallest stride
  Dimension columns_{1, 1, 1};    // of a block: where the destination has its smallest stride
  int64_t outer_size_ = 1;
};

}  // namespace pdc::kernels::native

#endif  // PDC_RUNTIME_KERNELS_NATIVE_STRIDED_COPY_H_
