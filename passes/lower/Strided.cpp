//===- Strided.cpp - arithmetic of strided views --------------------------===//

#include "passes/lower/Strided.h"
#include "llvm/ADT/STLExtras.h"

using namespace pdc::passes;
using llvm::ArrayRef;
using llvm::SmallVector;

void Strided::normalize() {
  for (int64_t d = static_cast<int64_t>(shape.size()) - 1; d >= 0; --d)
    if (shape[d] == 1)
      strides[d] = d + 1 < static_cast<int64_t>(shape.size()) ? shape[d + 1] * strides[d + 1] : 1;
}

Strided Strided::dense(ArrayRef<int64_t> shape, int64_t offset) {
  Strided result{offset, SmallVector<int64_t>(shape), SmallVector<int64_t>(shape.size(), 1)};
  for (int64_t d = static_cast<int64_t>(shape.size()) - 2; d >= 0; --d)
    result.strides[d] = result.strides[d + 1] * shape[d + 1];
  return result;
}

int64_t Strided::elements() const {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return count;
}

bool Strided::isDense() const { return strides == dense(shape).strides; }

Strided Strided::shifted(ArrayRef<int64_t> offsets) const {
  Strided result = *this;
  result.rankOffsets.resize(offsets.size(), 0);
  for (auto [sum, more] : llvm::zip(result.rankOffsets, offsets))
    sum += more;
  int64_t least = *llvm::min_element(result.rankOffsets);
  result.offset += least;
  for (int64_t &rest : result.rankOffsets)
    rest -= least;
  if (llvm::all_of(result.rankOffsets, [](int64_t rest) { return rest == 0; }))
    result.rankOffsets.clear();
  return result;
}

std::optional<Strided> Strided::reshaped(ArrayRef<int64_t> newShape) const {
  if (isDense()) {
    Strided result = dense(newShape, offset);
    result.rankOffsets = rankOffsets;
    return result;
  }
  // Runs of dimensions that lie densely in each other, major to minor, as (elements, stride of the
  // innermost).
  SmallVector<std::pair<int64_t, int64_t>> runs;
  for (auto [size, stride] : llvm::zip(shape, strides)) {
    if (size == 1)
      continue;
    if (!runs.empty() && runs.back().second == size * stride)
      runs.back() = {runs.back().first * size, stride};
    else
      runs.push_back({size, stride});
  }
  // The new dimensions must each lie in one run.
  Strided result{offset, SmallVector<int64_t>(newShape), SmallVector<int64_t>(newShape.size(), 1),
                 rankOffsets};
  for (int64_t d = static_cast<int64_t>(newShape.size()) - 1; d >= 0; --d) {
    if (newShape[d] == 1)
      continue;
    if (runs.empty() || runs.back().first % newShape[d] != 0)
      return std::nullopt;
    result.strides[d] = runs.back().second;
    runs.back() = {runs.back().first / newShape[d], runs.back().second * newShape[d]};
    if (runs.back().first == 1)
      runs.pop_back();
  }
  result.normalize();
  return result;
}

Strided Strided::transposed(ArrayRef<int64_t> permutation) const {
  Strided result{offset, {}, {}, rankOffsets};
  for (int64_t d : permutation) {
    result.shape.push_back(shape[d]);
    result.strides.push_back(strides[d]);
  }
  result.normalize();
  return result;
}

Strided Strided::sliced(ArrayRef<int64_t> offsets, ArrayRef<int64_t> sizes, ArrayRef<int64_t> steps) const {
  Strided result{offset, SmallVector<int64_t>(sizes), {}, rankOffsets};
  for (size_t d = 0; d < shape.size(); ++d) {
    result.offset += offsets[d] * strides[d];
    result.strides.push_back(strides[d] * (steps.empty() ? 1 : steps[d]));
  }
  result.normalize();
  return result;
}

std::optional<Strided> Strided::collapsed(ArrayRef<SmallVector<int64_t, 4>> dims) const {
  Strided result{offset, {}, {}, rankOffsets};
  for (const SmallVector<int64_t, 4> &run : dims) {
    int64_t size = 1, stride = 1;
    for (int64_t d : run) {
      if (shape[d] == 1)
        continue;
      if (size != 1 && stride != shape[d] * strides[d])
        return std::nullopt;
      size *= shape[d];
      stride = strides[d];
    }
    result.shape.push_back(size);
    result.strides.push_back(stride);
  }
  result.normalize();
  return result;
}
