//===- Windows.cpp - windows of a part of an image ------------------------===//

#include "dialects/nn/IR/Windows.h"
#include "dialects/nn/IR/NN.h"

using namespace mlir;

namespace pdc::nn {

Interval WindowAxis::inImage(Interval windows) const {
  Interval read = covered(windows);
  int64_t begin = std::clamp<int64_t>(read.begin, 0, size - 1);
  return {begin, std::clamp<int64_t>(read.end, begin + 1, size)};
}

Interval WindowAxis::touching(Interval elements) const {
  // Window o reads elements o * stride - low and the `extent` - 1 that follow.
  int64_t begin = llvm::divideCeilSigned(elements.begin + low - extent + 1, stride);
  int64_t end = llvm::divideFloorSigned(elements.end - 1 + low, stride) + 1;
  begin = std::clamp<int64_t>(begin, 0, count - 1);
  return {begin, std::clamp<int64_t>(end, begin + 1, count)};
}

void WindowAxis::pad(MutableArrayRef<int64_t> padding, int number, Interval windows, Interval image) const {
  Interval read = covered(windows);
  padding[number] = image.begin - read.begin;
  // Elements after the last window, fewer than a stride, are in no window.
  padding[number + 2] = std::max<int64_t>(0, read.end - image.end);
}

/// Elements [part.begin, part.end) of a value that holds the elements `has`, which reach as far.
static Value cut(OpBuilder &builder, Location loc, Value value, int64_t dim, Interval has, Interval part) {
  if (has == part)
    return value;
  SmallVector<int64_t> offsets(tensorType(value).getRank(), 0), sizes(tensorType(value).getShape()), strides;
  offsets[dim] = part.begin - has.begin;
  sizes[dim] = part.size();
  return SliceOp::create(builder, loc, value, offsets, sizes, strides);
}

Value cutOrPad(OpBuilder &builder, Location loc, Value value, int64_t dim, Interval has, Interval part) {
  // What lies outside of the part first, unless that is all.
  Interval kept{std::max(part.begin, has.begin), std::min(part.end, has.end)};
  if (kept.size() > 0) {
    value = cut(builder, loc, value, dim, has, kept);
    has = kept;
  }
  Interval padded{std::min(part.begin, has.begin), std::max(part.end, has.end)};
  if (padded != has) {
    SmallVector<int64_t> low(tensorType(value).getRank(), 0), high(low);
    low[dim] = has.begin - padded.begin;
    high[dim] = padded.end - has.end;
    value = PadOp::create(builder, loc, value, low, high, APFloat(0.0));
  }
  return cut(builder, loc, value, dim, padded, part);
}

unsigned findFactor(const ShardingRule &rule, StringRef name) {
  const auto *found = llvm::find_if(rule.factors, [&](const Factor &factor) { return factor.name == name; });
  assert(found != rule.factors.end() && "no such factor");
  return found - rule.factors.begin();
}

} // namespace pdc::nn
