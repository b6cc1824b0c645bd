#include "runtime/kernels/native/strided_copy.h"

#include <algorithm>
#include <cstring>

namespace pdc::kernels::native {
namespace {

// A block of 4-byte elements takes 32 cache lines of each side: it stays in the first-level cache.
constexpr int64_t kBlock = 32;

template <typename T>
void CopyBlock(const T* from, T* to, int64_t rows, int64_t columns, int64_t from_row, int64_t from_column,
               int64_t to_row, int64_t to_column) {
  for (int64_t i = 0; i < rows; ++i) {
    const T* source = from + i * from_row;
    T* target = to + i * to_row;
    if (from_column == 1 && to_column == 1) {
      std::memcpy(target, source, columns * sizeof(T));
    } else if (to_column == 1) {
      for (int64_t j = 0; j < columns; ++j) target[j] = source[j * from_column];
    } else {
      for (int64_t j = 0; j < columns; ++j) target[j * to_column] = source[j * from_column];
    }
  }
}

}  // namespace

StridedCopy::StridedCopy(absl::Span<const int64_t> shape, absl::Span<const int64_t> from_strides,
                         absl::Span<const int64_t> to_strides, int64_t element_bytes)
    : element_bytes_(element_bytes) {
  std::vector<Dimension> dimensions;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 0) outer_size_ = 0;
    if (shape[d] > 1) dimensions.push_back({shape[d], from_strides[d], to_strides[d]});
  }
  std::sort(dimensions.begin(), dimensions.end(), [](const Dimension& a, const Dimension& b) {
    return a.to != b.to ? a.to > b.to : a.from > b.from;
  });
  for (const Dimension& inner : dimensions) {
    if (!outer_.empty() && outer_.back().from == inner.from * inner.size &&
        outer_.back().to == inner.to * inner.size) {
      outer_.back() = {outer_.back().size * inner.size, inner.from, inner.to};
    } else {
      outer_.push_back(inner);
    }
  }
  if (outer_.empty()) return;
  columns_ = outer_.back();
  outer_.pop_back();
  if (columns_.from != 1 && !outer_.empty()) {
    auto rows = std::min_element(outer_.begin(), outer_.end(),
                                 [](const Dimension& a, const Dimension& b) { return a.from < b.from; });
    rows_ = *rows;
    outer_.erase(rows);
  } else if (!outer_.empty()) {
    rows_ = outer_.back();
    outer_.pop_back();
  }
  for (const Dimension& dimension : outer_) outer_size_ *= dimension.size;
}

void StridedCopy::Run(const std::byte* from, std::byte* to, const Workers& workers) const {
  switch (element_bytes_) {
    case 1:
      return RunTyped(reinterpret_cast<const uint8_t*>(from), reinterpret_cast<uint8_t*>(to), workers);
    case 2:
      return RunTyped(reinterpret_cast<const uint16_t*>(from), reinterpret_cast<uint16_t*>(to), workers);
    case 4:
      return RunTyped(reinterpret_cast<const uint32_t*>(from), reinterpret_cast<uint32_t*>(to), workers);
    default:
      return RunTyped(reinterpret_cast<const uint64_t*>(from), reinterpret_cast<uint64_t*>(to), workers);
  }
}

template <typename T>
void StridedCopy::RunTyped(const T* from, T* to, const Workers& workers) const {
  bool by_rows = columns_.from == 1;
  int64_t step_columns = by_rows ? columns_.size : kBlock;
  // One unit of work: a strip of rows of one outer index.
  int64_t strips = (rows_.size + kBlock - 1) / kBlock;
  workers.ParallelFor(outer_size_ * strips, [&](IndexRange range) {
    for (int64_t unit = range.begin; unit < range.end; ++unit) {
      int64_t rest = unit / strips, row = unit % strips * kBlock;
      const T* source = from + row * rows_.from;
      T* target = to + row * rows_.to;
      for (size_t d = outer_.size(); d-- > 0;) {
        source += rest % outer_[d].size * outer_[d].from;
        target += rest % outer_[d].size * outer_[d].to;
        rest /= outer_[d].size;
      }
      int64_t rows = std::min(kBlock, rows_.size - row);
      for (int64_t column = 0; column < columns_.size; column += step_columns) {
        CopyBlock(source + column * columns_.from, target + column * columns_.to, rows,
                  std::min(step_columns, columns_.size - column), rows_.from, columns_.from, rows_.to,
                  columns_.to);
      }
    }
  });
}

}  // namespace pdc::kernels::native
