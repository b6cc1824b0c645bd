//===- Strided.h - arithmetic of strided views ------------------*- C++ -*-===//
#ifndef PDC_PASSES_LOWER_STRIDED_H
#define PDC_PASSES_LOWER_STRIDED_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <optional>

namespace pdc::passes {

/// How elements lie in a buffer: element (i, j, ...) at offset + i * strides[0] + j * strides[1] + ... All in
/// elements. Strides of dimensions of size one are those of a dense layout of the inner ones, so that equal
/// layouts compare equal.
struct Strided {
  int64_t offset = 0;
  llvm::SmallVector<int64_t> shape;
  llvm::SmallVector<int64_t> strides;
  /// How much further on it begins on each of the program's ranks; empty: on none.
  llvm::SmallVector<int64_t> rankOffsets = {};

  bool operator==(const Strided &) const = default;

  /// Row-major without gaps, from `offset`.
  static Strided dense(llvm::ArrayRef<int64_t> shape, int64_t offset = 0);
  int64_t elements() const;
  /// Row-major without gaps, wherever it begins.
  bool isDense() const;
  /// Beginning as much further on; one number per rank of the program.
  Strided shifted(llvm::ArrayRef<int64_t> offsets) const;

  /// The same elements in row-major order under another shape; nothing where that needs a copy.
  std::optional<Strided> reshaped(llvm::ArrayRef<int64_t> newShape) const;
  /// Dimension i is dimension permutation[i] of this.
  Strided transposed(llvm::ArrayRef<int64_t> permutation) const;
  Strided sliced(llvm::ArrayRef<int64_t> offsets, llvm::ArrayRef<int64_t> sizes,
                 llvm::ArrayRef<int64_t> steps) const;
  /// Each new dimension runs over the given dimensions, major to minor (see nn::LibraryOperand); nothing
  /// where they do not lie densely in each other.
  std::optional<Strided> collapsed(llvm::ArrayRef<llvm::SmallVector<int64_t, 4>> dims) const;

private:
  void normalize();
};

} // namespace pdc::passes

#endif // PDC_PASSES_LOWER_STRIDED_H
