//===- Windows.h - sliding windows of convolutions and pooling --*- C++ -*-===//
#ifndef PDC_DIALECTS_NN_IR_WINDOWS_H
#define PDC_DIALECTS_NN_IR_WINDOWS_H

#include "dialects/nn/IR/NNChecks.h"
#include "dialects/nn/Interfaces/NNInterfaces.h"

namespace pdc::nn {

/// Windows over height and width of an image [n, c, h, w].
struct Windows {
  llvm::ArrayRef<int64_t> kernel;   // [h, w]
  llvm::ArrayRef<int64_t> stride;   // [h, w]
  llvm::ArrayRef<int64_t> padding;  // [top, left, bottom, right]
  llvm::ArrayRef<int64_t> dilation; // [h, w]

  /// Elements from a window's first to its last, along axis 0 (height) or 1 (width).
  int64_t extent(int axis) const { return dilation[axis] * (kernel[axis] - 1) + 1; }
  /// Windows along an axis of `size` elements; less than one where a window does not fit.
  int64_t count(int64_t size, int axis) const {
    int64_t room = size + padding[axis] + padding[axis + 2] - extent(axis);
    return room < 0 ? 0 : room / stride[axis] + 1;
  }
};

/// The windows along one axis, and the image of `size` elements that they slide over. Positions are those of
/// the image without its padding.
struct WindowAxis {
  WindowAxis(const Windows &windows, int axis, int64_t size)
      : extent(windows.extent(axis)), stride(windows.stride[axis]), low(windows.padding[axis]), size(size),
        count(windows.count(size, axis)) {}

  /// From the first element of the first window to the last of the last; it may exceed the image.
  Interval covered(Interval windows) const {
    return {windows.begin * stride - low, (windows.end - 1) * stride - low + extent};
  }
  /// The elements of the image that these windows read: at least one.
  Interval inImage(Interval windows) const;
  /// The windows that read any of these elements: at least one, which may be a neighbour where there is none.
  Interval touching(Interval elements) const;

  /// Sets the sides of `padding` [top, left, bottom, right] along axis `number` so that these windows lie over a
  /// part that has the elements `image`.
  void pad(llvm::MutableArrayRef<int64_t> padding, int number, Interval windows, Interval image) const;

  int64_t extent, stride, low, size, count;
};

/// Elements [part.begin, part.end) along dimension `dim` of a value that holds `has` of it: cut, and filled up
/// with zeros.
mlir::Value cutOrPad(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value, int64_t dim,
                     Interval has, Interval part);

/// The factor called `name`, which the rule has.
unsigned findFactor(const ShardingRule &rule, llvm::StringRef name);

/// Fails unless `values` are `count` integers, none below `least`.
template <typename OpT>
mlir::LogicalResult checkIntegers(std::optional<mlir::Location> location, llvm::StringRef name,
                                  llvm::StringRef shape, llvm::ArrayRef<int64_t> values, size_t count,
                                  int64_t least) {
  if (values.size() == count && llvm::all_of(values, [&](int64_t value) { return value >= least; }))
    return mlir::success();
  std::string found;
  for (int64_t value : values)
    found += (found.empty() ? "" : ", ") + std::to_string(value);
  return inferError<OpT>(location, "expected ", name, " ", shape, ": ", static_cast<int64_t>(count),
                         " integers, none below ", least, ", found [", found, "]");
}

/// Checks the windows and gives the result [n, channels, h', w'] for an image [n, c, h, w].
template <typename OpT>
mlir::FailureOr<mlir::RankedTensorType> inferWindows(std::optional<mlir::Location> location,
                                                     mlir::RankedTensorType image, int64_t channels,
                                                     const Windows &windows) {
  if (failed(checkIntegers<OpT>(location, "kernel", "[h, w]", windows.kernel, 2, 1)) ||
      failed(checkIntegers<OpT>(location, "stride", "[h, w]", windows.stride, 2, 1)) ||
      failed(checkIntegers<OpT>(location, "padding", "[top, left, bottom, right]", windows.padding, 4, 0)) ||
      failed(checkIntegers<OpT>(location, "dilation", "[h, w]", windows.dilation, 2, 1)))
    return mlir::failure();
  llvm::SmallVector<int64_t, 4> shape = {image.getDimSize(0), channels};
  for (int axis : {0, 1}) {
    int64_t size = image.getDimSize(2 + axis), count = windows.count(size, axis);
    if (count < 1)
      return inferError<OpT>(location, "expected a window no larger than the padded input, found windows of ",
                             windows.extent(axis), " elements over ",
                             size + windows.padding[axis] + windows.padding[axis + 2], " along the ",
                             axis == 0 ? "height" : "width", " of ", image);
    shape.push_back(count);
  }
  return mlir::RankedTensorType::get(shape, image.getElementType());
}

} // namespace pdc::nn

#endif // PDC_DIALECTS_NN_IR_WINDOWS_H
