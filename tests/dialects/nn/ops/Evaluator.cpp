//===- Evaluator.cpp - the meaning of nn ops, one element at a time -------===//

#include "tests/dialects/nn/ops/Evaluator.h"
#include "dialects/nn/IR/NNUtils.h"
#include "llvm/ADT/STLExtras.h"
#include <limits>
#include <numeric>

using namespace mlir;

namespace pdc::nn::testing {

Tensor::Tensor(ArrayRef<int64_t> shape, double value)
    : shape(shape.begin(), shape.end()),
      data(std::accumulate(shape.begin(), shape.end(), int64_t(1), std::multiplies<>()), value) {}

size_t Tensor::at(ArrayRef<int64_t> index) const {
  size_t offset = 0;
  for (auto [i, size] : llvm::zip_equal(index, shape))
    offset = offset * size + i;
  return offset;
}

void forEachIndex(ArrayRef<int64_t> shape, llvm::function_ref<void(ArrayRef<int64_t>)> visit) {
  if (llvm::is_contained(shape, 0))
    return;
  SmallVector<int64_t> index(shape.size(), 0);
  while (true) {
    visit(index);
    int64_t dim = static_cast<int64_t>(shape.size()) - 1;
    for (; dim >= 0 && ++index[dim] == shape[dim]; --dim)
      index[dim] = 0;
    if (dim < 0)
      return;
  }
}

LogicalResult decomposeAll(Operation *root) {
  while (true) {
    DecomposableOpInterface next;
    root->walk([&](DecomposableOpInterface op) {
      next = op;
      return WalkResult::interrupt();
    });
    if (!next)
      return success();
    OpBuilder builder(next);
    FailureOr<SmallVector<Value>> replacements = next.decompose(builder);
    if (failed(replacements))
      return failure();
    next->replaceAllUsesWith(*replacements);
    next->erase();
  }
}

//===----------------------------------------------------------------------===//
// Elementwise ops
//===----------------------------------------------------------------------===//

static Attribute toAttribute(Type type, double value) {
  if (isa<FloatType>(type))
    return FloatAttr::get(type, value);
  return IntegerAttr::get(type, static_cast<int64_t>(value));
}

static double toDouble(Attribute attribute) {
  if (auto value = dyn_cast<FloatAttr>(attribute))
    return value.getValueAsDouble();
  APInt value = cast<IntegerAttr>(attribute).getValue();
  return static_cast<double>(value.getBitWidth() == 1 ? value.getLimitedValue() != 0 : value.getSExtValue());
}

namespace {
/// The scalar code of an elementwise op, evaluated by folding.
class ScalarCode {
public:
  explicit ScalarCode(ElementwiseOpInterface op) {
    SmallVector<Value> elements, index;
    for (Type type : op->getOperandTypes())
      elements.push_back(block.addArgument(computeType(getElementTypeOrSelf(type)), op->getLoc()));
    auto result = cast<RankedTensorType>(op->getResult(0).getType());
    for (int64_t i = 0; i < result.getRank(); ++i)
      index.push_back(block.addArgument(IndexType::get(op->getContext()), op->getLoc()));
    OpBuilder builder(op->getContext());
    builder.setInsertionPointToEnd(&block);
    value = op.buildScalar(builder, elements, index);
  }

  FailureOr<double> run(ArrayRef<double> arguments) {
    llvm::DenseMap<Value, Attribute> attributes;
    for (auto [argument, number] : llvm::zip_equal(block.getArguments(), arguments))
      attributes[argument] = toAttribute(argument.getType(), number);
    for (Operation &op : block) {
      SmallVector<Attribute> operands;
      for (Value operand : op.getOperands())
        operands.push_back(attributes.at(operand));
      SmallVector<OpFoldResult> results;
      if (failed(op.fold(operands, results)) || results.size() != 1)
        return op.emitError("this scalar op does not fold");
      OpFoldResult folded = results.front();
      attributes[op.getResult(0)] =
          isa<Attribute>(folded) ? cast<Attribute>(folded) : attributes.at(cast<Value>(folded));
    }
    return toDouble(attributes.at(value));
  }

private:
  Block block;
  Value value;
};
} // namespace

LogicalResult Evaluator::evaluateElementwise(ElementwiseOpInterface op) {
  ScalarCode code(op);
  Tensor &out = result(op);
  LogicalResult status = success();
  forEachIndex(out.shape, [&](ArrayRef<int64_t> index) {
    if (failed(status))
      return;
    SmallVector<double> arguments;
    for (unsigned i = 0; i < op->getNumOperands(); ++i) {
      const Tensor &in = operand(op, i);
      // Right-aligned; size one stretches.
      SmallVector<int64_t> at(index.take_back(in.shape.size()));
      for (auto [position, size] : llvm::zip_equal(at, in.shape))
        position = size == 1 ? 0 : position;
      arguments.push_back(in[at]);
    }
    llvm::append_range(arguments, index);
    FailureOr<double> value = code.run(arguments);
    if (failed(value))
      status = failure();
    else
      out[index] = *value;
  });
  return status;
}

//===----------------------------------------------------------------------===//
// Shapes and reductions
//===----------------------------------------------------------------------===//

template <typename OpT> static void reduce(OpT op, const Tensor &in, Tensor &out) {
  constexpr bool sum = std::is_same_v<OpT, ReduceSumOp>;
  std::fill(out.data.begin(), out.data.end(), sum ? 0.0 : -std::numeric_limits<double>::infinity());
  forEachIndex(in.shape, [&](ArrayRef<int64_t> index) {
    SmallVector<int64_t> at;
    for (auto [dim, position] : llvm::enumerate(index)) {
      bool reduced = llvm::is_contained(op.getAxes(), static_cast<int64_t>(dim));
      if (!reduced || op.getKeepDims())
        at.push_back(reduced ? 0 : position);
    }
    out[at] = sum ? out[at] + in[index] : std::max(out[at], in[index]);
  });
}

bool Evaluator::evaluateShape(Operation *op) {
  if (auto constant = dyn_cast<ConstantOp>(op)) {
    Tensor &out = result(op);
    for (auto [element, attribute] :
         llvm::zip_equal(out.data, cast<DenseElementsAttr>(constant.getValue()).getValues<Attribute>()))
      element = toDouble(attribute);
  } else if (isa<ReshapeOp>(op)) {
    result(op).data = operand(op, 0).data;
  } else if (auto transpose = dyn_cast<TransposeOp>(op)) {
    Tensor &out = result(op);
    forEachIndex(out.shape, [&](ArrayRef<int64_t> index) {
      SmallVector<int64_t> from(index.size());
      for (auto [i, dim] : llvm::enumerate(transpose.getPermutation()))
        from[dim] = index[i];
      out[index] = operand(op, 0)[from];
    });
  } else if (auto sum = dyn_cast<ReduceSumOp>(op)) {
    reduce(sum, operand(op, 0), result(op));
  } else if (auto max = dyn_cast<ReduceMaxOp>(op)) {
    reduce(max, operand(op, 0), result(op));
  } else if (isa<StateOp>(op)) {
    // Given by the test, where it matters: zeros otherwise.
    result(op);
  } else if (auto assign = dyn_cast<AssignOp>(op)) {
    assigned[assign.getState().getAsOpaquePointer()] = value(assign.getValue());
  } else {
    return false;
  }
  return true;
}

bool Evaluator::evaluateParts(Operation *op) {
  auto shifted = [](ArrayRef<int64_t> index, ArrayRef<int64_t> by, ArrayRef<int64_t> strides = {}) {
    SmallVector<int64_t> to;
    for (auto [d, i] : llvm::enumerate(index))
      to.push_back(i * (strides.empty() ? 1 : strides[d]) + by[d]);
    return to;
  };
  if (auto slice = dyn_cast<SliceOp>(op)) {
    Tensor &out = result(op);
    forEachIndex(out.shape, [&](ArrayRef<int64_t> index) {
      out[index] = operand(op, 0)[shifted(index, slice.getOffsets(), slice.getStrides())];
    });
  } else if (auto pad = dyn_cast<PadOp>(op)) {
    Tensor &out = result(op);
    std::fill(out.data.begin(), out.data.end(), pad.getValue().convertToDouble());
    forEachIndex(operand(op, 0).shape,
                 [&](ArrayRef<int64_t> index) { out[shifted(index, pad.getLow())] = operand(op, 0)[index]; });
  } else if (auto concat = dyn_cast<ConcatOp>(op)) {
    Tensor &out = result(op);
    SmallVector<int64_t> by(out.shape.size(), 0);
    for (unsigned i = 0; i < op->getNumOperands(); ++i) {
      forEachIndex(operand(op, i).shape,
                   [&](ArrayRef<int64_t> index) { out[shifted(index, by)] = operand(op, i)[index]; });
      by[concat.getAxis()] += operand(op, i).shape[concat.getAxis()];
    }
  } else {
    return false;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Library calls
//===----------------------------------------------------------------------===//

/// out [b, m, n] = a [b, m, k] x b [b, k, n], each given by element.
static void multiply(Tensor &out, int64_t batch, int64_t m, int64_t n, int64_t k,
                     llvm::function_ref<double(int64_t, int64_t, int64_t)> a,
                     llvm::function_ref<double(int64_t, int64_t, int64_t)> b) {
  for (int64_t g = 0; g < batch; ++g)
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j)
        for (int64_t l = 0; l < k; ++l)
          out.data[(g * m + i) * n + j] += a(g, i, l) * b(g, l, j);
}

/// An element accessor of a row-major [batch, rows, columns], transposed on demand.
static auto matrix(const Tensor &tensor, int64_t rows, int64_t columns, bool transpose) {
  return [&tensor, rows, columns, transpose](int64_t g, int64_t i, int64_t j) {
    return tensor.data[g * rows * columns + (transpose ? j * rows + i : i * columns + j)];
  };
}

static int64_t product(ArrayRef<int64_t> sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<int64_t>());
}

bool Evaluator::evaluateMatmul(Operation *op) {
  if (!isa<LinearOp, LinearGradWeightOp, MatmulOp, BatchMatmulOp>(op))
    return false;
  const Tensor &x = operand(op, 0), &y = operand(op, 1);
  Tensor &out = result(op);
  if (auto linear = dyn_cast<LinearOp>(op)) {
    int64_t k = product(ArrayRef<int64_t>(x.shape).take_back(linear.getInnerDims()));
    int64_t n = product(ArrayRef<int64_t>(out.shape).take_back(linear.getOuterDims())), m = x.data.size() / k;
    if (linear.getBias())
      for (size_t i = 0; i < out.data.size(); ++i)
        out.data[i] = operand(op, 2).data[i % n];
    multiply(out, 1, m, n, k, matrix(x, m, k, false), matrix(y, k, n, linear.getTransposeWeight()));
  } else if (auto grad = dyn_cast<LinearGradWeightOp>(op)) {
    int64_t in = product(ArrayRef<int64_t>(x.shape).take_back(grad.getInnerDims()));
    int64_t rows = x.data.size() / in, outs = y.data.size() / rows;
    if (grad.getTransposeWeight())
      multiply(out, 1, outs, in, rows, matrix(y, outs, rows, true), matrix(x, rows, in, false));
    else
      multiply(out, 1, in, outs, rows, matrix(x, in, rows, true), matrix(y, rows, outs, false));
  } else {
    bool transposeLhs = op->hasAttr("transpose_lhs"), transposeRhs = op->hasAttr("transpose_rhs");
    int64_t n = out.shape.back(), m = out.shape[out.shape.size() - 2], batch = out.data.size() / (m * n);
    int64_t k = x.data.size() / (batch * m);
    multiply(out, batch, m, n, k, matrix(x, m, k, transposeLhs), matrix(y, k, n, transposeRhs));
  }
  return true;
}

/// Calls `visit` with the offsets of each element of `large` [n, c, h, w] under each position of the windows
/// of `small` [n, channels, h', w']: (image, channel of `small`, window, position in the kernel, row,
/// column); padding is left out.
template <typename AttributesT>
static void
forEachWindow(AttributesT op, ArrayRef<int64_t> large, ArrayRef<int64_t> small, ArrayRef<int64_t> kernel,
              ArrayRef<int64_t> dilation,
              llvm::function_ref<void(ArrayRef<int64_t>, ArrayRef<int64_t>, int64_t, int64_t)> visit) {
  forEachIndex(small, [&](ArrayRef<int64_t> window) {
    forEachIndex(kernel, [&](ArrayRef<int64_t> position) {
      int64_t row = window[2] * op.getStride()[0] + position[0] * dilation[0] - op.getPadding()[0];
      int64_t column = window[3] * op.getStride()[1] + position[1] * dilation[1] - op.getPadding()[1];
      if (row >= 0 && row < large[2] && column >= 0 && column < large[3])
        visit(window, position, row, column);
    });
  });
}

/// Calls `visit` with the indices of result, input and weight of every product of a convolution.
template <typename OpT>
static void
forEachProduct(OpT op, ArrayRef<int64_t> input, ArrayRef<int64_t> weight, ArrayRef<int64_t> output,
               llvm::function_ref<void(ArrayRef<int64_t>, ArrayRef<int64_t>, ArrayRef<int64_t>)> visit) {
  int64_t perGroup = output[1] / static_cast<int64_t>(op.getGroups());
  forEachWindow(op, input, output, weight.drop_front(2), op.getDilation(),
                [&](ArrayRef<int64_t> window, ArrayRef<int64_t> position, int64_t row, int64_t column) {
                  for (int64_t c = 0; c < weight[1]; ++c)
                    visit(window, {window[0], window[1] / perGroup * weight[1] + c, row, column},
                          {window[1], c, position[0], position[1]});
                });
}

bool Evaluator::evaluateWindows(Operation *op) {
  using Index = ArrayRef<int64_t>;
  static constexpr int64_t dense[] = {1, 1};
  if (auto conv = dyn_cast<Conv2dOp>(op)) {
    const Tensor &x = operand(op, 0), &w = operand(op, 1);
    Tensor &y = result(op);
    if (conv.getBias())
      forEachIndex(y.shape, [&](Index index) { y[index] = operand(op, 2)[index[1]]; });
    forEachProduct(conv, x.shape, w.shape, y.shape, [&](Index o, Index i, Index k) { y[o] += x[i] * w[k]; });
  } else if (auto conv = dyn_cast<Conv2dGradInputOp>(op)) {
    const Tensor &dy = operand(op, 0), &w = operand(op, 1);
    Tensor &dx = result(op);
    forEachProduct(conv, dx.shape, w.shape, dy.shape,
                   [&](Index o, Index i, Index k) { dx[i] += dy[o] * w[k]; });
  } else if (auto conv = dyn_cast<Conv2dGradWeightOp>(op)) {
    const Tensor &dy = operand(op, 0), &x = operand(op, 1);
    Tensor &dw = result(op);
    forEachProduct(conv, x.shape, dw.shape, dy.shape,
                   [&](Index o, Index i, Index k) { dw[k] += dy[o] * x[i]; });
  } else if (auto pool = dyn_cast<MaxPool2dOp>(op)) {
    const Tensor &x = operand(op, 0);
    Tensor &y = result(op);
    std::fill(y.data.begin(), y.data.end(), -std::numeric_limits<double>::infinity());
    forEachWindow(pool, x.shape, y.shape, pool.getKernel(), dense,
                  [&](Index o, Index, int64_t row, int64_t column) {
                    y[o] = std::max(y[o], x[{o[0], o[1], row, column}]);
                  });
  } else if (auto pool = dyn_cast<MaxPool2dGradOp>(op)) {
    const Tensor &dy = operand(op, 0), &x = operand(op, 1);
    Tensor &dx = result(op);
    // The first largest element of each window.
    std::vector<double> largest(dy.data.size(), -std::numeric_limits<double>::infinity());
    std::vector<size_t> place(dy.data.size(), 0);
    forEachWindow(pool, x.shape, dy.shape, pool.getKernel(), dense,
                  [&](Index o, Index, int64_t row, int64_t column) {
                    size_t from = x.at({o[0], o[1], row, column}), to = dy.at(o);
                    if (x.data[from] > largest[to]) {
                      largest[to] = x.data[from];
                      place[to] = from;
                    }
                  });
    for (size_t i = 0; i < place.size(); ++i)
      dx.data[place[i]] += dy.data[i];
  } else if (isa<AvgPool2dOp, AvgPool2dGradOp>(op)) {
    bool gradient = isa<AvgPool2dGradOp>(op);
    Tensor &out = result(op);
    const Tensor &in = operand(op, 0);
    const Tensor &large = gradient ? out : in, &small = gradient ? in : out;
    auto evaluate = [&](auto pool) {
      Tensor count(small.shape);
      forEachWindow(pool, large.shape, small.shape, pool.getKernel(), dense,
                    [&](Index o, Index, int64_t, int64_t) { count[o] += 1; });
      double whole = static_cast<double>(pool.getKernel()[0] * pool.getKernel()[1]);
      forEachWindow(pool, large.shape, small.shape, pool.getKernel(), dense,
                    [&](Index o, Index, int64_t row, int64_t column) {
                      double share = 1 / (pool.getCountIncludePad() ? whole : count[o]);
                      SmallVector<int64_t> at = {o[0], o[1], row, column};
                      gradient ? out[at] += in[o] * share : out[o] += in[at] * share;
                    });
    };
    gradient ? evaluate(cast<AvgPool2dGradOp>(op)) : evaluate(cast<AvgPool2dOp>(op));
  } else {
    return false;
  }
  return true;
}

/// The first row of the part of a table or of slots that an op works on.
template <typename OpT> static int64_t startOf(const Evaluator &evaluator, OpT op) {
  return op.getStart() ? static_cast<int64_t>(evaluator.value(op.getStart()).data[0]) : 0;
}

bool Evaluator::evaluateEmbedding(Operation *op) {
  if (!isa<EmbeddingOp, EmbeddingGradOp>(op))
    return false;
  bool gradient = isa<EmbeddingGradOp>(op);
  const Tensor &in = operand(op, 0), &ids = operand(op, 1);
  Tensor &out = result(op);
  int64_t width = out.shape.back(), rows = gradient ? out.shape[0] : in.shape[0];
  int64_t start =
      gradient ? startOf(*this, cast<EmbeddingGradOp>(op)) : startOf(*this, cast<EmbeddingOp>(op));
  for (size_t i = 0; i < ids.data.size(); ++i) {
    int64_t row = static_cast<int64_t>(ids.data[i]) - start;
    if (row < 0 || row >= rows)
      continue;
    for (int64_t d = 0; d < width; ++d) {
      size_t small = i * width + d, table = row * width + d;
      out.data[gradient ? table : small] += in.data[gradient ? small : table];
    }
  }
  return true;
}

/// Calls `visit` with the index of each choice whose slot is one of `rows` from `start`, and its row there.
static void forEachChoice(const Tensor &slots, int64_t rows, int64_t start,
                          llvm::function_ref<void(ArrayRef<int64_t>, int64_t)> visit) {
  forEachIndex(slots.shape, [&](ArrayRef<int64_t> at) {
    int64_t slot = static_cast<int64_t>(slots[at]);
    if (slot >= 0 && slot >= start && slot < start + rows)
      visit(at, slot - start);
  });
}

bool Evaluator::evaluateRouting(Operation *op) {
  if (auto give = dyn_cast<ExpertSlotsOp>(op)) {
    const Tensor &experts = operand(op, 0);
    Tensor &slots = result(op);
    double capacity = static_cast<double>(give.getCapacity());
    for (int64_t g = 0; g < slots.shape[0]; ++g) {
      std::map<double, double> used;
      for (int64_t choice = 0; choice < slots.shape[2]; ++choice)
        for (int64_t token = 0; token < slots.shape[1]; ++token) {
          double expert = experts[{g, token, choice}], place = used[expert]++;
          slots[{g, token, choice}] = place < capacity ? expert * capacity + place : -1;
        }
    }
  } else if (auto dispatch = dyn_cast<DispatchOp>(op)) {
    const Tensor &tokens = operand(op, 0), &slots = operand(op, 1);
    Tensor &rows = result(op);
    forEachChoice(slots, rows.shape[1], startOf(*this, dispatch), [&](ArrayRef<int64_t> at, int64_t row) {
      double gate = dispatch.getGates() ? value(dispatch.getGates())[at] : 1;
      for (int64_t d = 0; d < rows.shape[2]; ++d)
        rows[{at[0], row, d}] += gate * tokens[{at[0], at[1], d}];
    });
  } else if (auto combine = dyn_cast<CombineOp>(op)) {
    const Tensor &rows = operand(op, 0), &slots = operand(op, 1), &gates = operand(op, 2);
    Tensor &tokens = result(op);
    forEachChoice(slots, rows.shape[1], startOf(*this, combine), [&](ArrayRef<int64_t> at, int64_t row) {
      for (int64_t d = 0; d < rows.shape[2]; ++d)
        tokens[{at[0], at[1], d}] += gates[at] * rows[{at[0], row, d}];
    });
  } else if (auto grad = dyn_cast<CombineGradGatesOp>(op)) {
    const Tensor &tokens = operand(op, 0), &rows = operand(op, 1), &slots = operand(op, 2);
    Tensor &gates = result(op);
    forEachChoice(slots, rows.shape[1], startOf(*this, grad), [&](ArrayRef<int64_t> at, int64_t row) {
      for (int64_t d = 0; d < rows.shape[2]; ++d)
        gates[at] += tokens[{at[0], at[1], d}] * rows[{at[0], row, d}];
    });
  } else {
    return false;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Evaluator
//===----------------------------------------------------------------------===//

Tensor &Evaluator::result(Operation *op) {
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  return values[op->getResult(0).getAsOpaquePointer()] = Tensor(type.getShape());
}

LogicalResult Evaluator::evaluate(Operation *op) {
  if (evaluateShape(op) || evaluateParts(op) || evaluateMatmul(op) || evaluateWindows(op) ||
      evaluateEmbedding(op) || evaluateRouting(op))
    return success();
  if (auto elementwise = dyn_cast<ElementwiseOpInterface>(op))
    return evaluateElementwise(elementwise);
  return op->emitError("this op has no meaning in the tests' evaluator");
}

LogicalResult Evaluator::run(func::FuncOp function, ArrayRef<Tensor> arguments) {
  values.clear();
  assigned.clear();
  for (auto [argument, tensor] : llvm::zip_equal(function.getArguments(), arguments))
    values[argument.getAsOpaquePointer()] = tensor;
  for (Operation &op : function.getBody().front().without_terminator())
    if (failed(evaluate(&op)))
      return failure();
  return success();
}

} // namespace pdc::nn::testing
