//===- TransformerProblem.cpp - a transformer's training step, in numbers -===//

#include "tools/bench/solver/TransformerProblem.h"
#include <cassert>
#include <map>
#include <random>
#include <string>

using namespace pdc::plan;

namespace {
/// A value of the model and its gradient, both nodes of the problem.
struct Value {
  uint32_t node = 0, gradient = 0;
  double size = 1; // relative to the activation of a layer
  bool hasGradient = false;
};

class TransformerMaker {
public:
  explicit TransformerMaker(const TransformerShape &shape) : shape(shape), random(shape.seed) {}

  Problem make() {
    Value hidden = addValue("hidden", 1);
    op("embed", 0.1, {parameter("table", 8)}, hidden);
    for (uint32_t layer = 0; layer < shape.layers; ++layer)
      hidden = block(hidden);
    Value logits = addValue("logits", 16);
    op("head", 8, {hidden, parameter("head", 8)}, logits);
    backward();
    return std::move(problem);
  }

private:
  struct Op {
    std::string kind;
    double work;
    std::vector<Value> inputs;
    Value output;
  };

  Value block(Value hidden) {
    Value a = unary("norm1", 0.05, hidden, 1);
    Value qkv = linear("qkv", 3, a, 3);
    Value scores = unary("scores", 1, qkv, 2);
    Value weights = unary("softmax", 0.1, scores, 2);
    Value context = addValue("context", 1);
    op("context", 1, {weights, qkv}, context);
    Value attention = binary("add1", 0.05, linear("projection", 1, context, 1), hidden, 1);
    Value b = unary("norm2", 0.05, attention, 1);
    Value wide = linear("fc1", 4, b, 4);
    Value active = unary("gelu", 0.2, wide, 4);
    return binary("add2", 0.05, linear("fc2", 4, active, 1), attention, 1);
  }

  Value linear(const std::string &kind, double work, Value input, double size) {
    return binary(kind, work, input, parameter(kind + " weight", work), size);
  }
  Value unary(const std::string &kind, double work, Value input, double size) {
    Value output = addValue(kind, size);
    op(kind, work, {input}, output);
    return output;
  }
  Value binary(const std::string &kind, double work, Value a, Value b, double size) {
    Value output = addValue(kind, size);
    op(kind, work, {a, b}, output);
    return output;
  }

  void op(const std::string &kind, double work, const std::vector<Value> &inputs, Value output) {
    addOp(kind, work, inputs, output);
    ops.push_back({kind, work, inputs, output});
  }

  /// Gradients in the opposite order; a value that is used twice adds its gradients up.
  void backward() {
    std::map<uint32_t, uint32_t> gradientOf;
    for (size_t i = ops.size(); i-- > 0;) {
      const Op &op = ops[i];
      auto [it, isNew] = gradientOf.try_emplace(op.output.node);
      if (isNew)
        it->second = addLayout("loss gradient", op.output.size);
      Value gradient{it->second, 0, op.output.size};
      for (size_t k = 0; k < op.inputs.size(); ++k) {
        std::string kind = op.kind + " gradient " + std::to_string(k);
        Value result{addLayout(kind, op.inputs[k].size), 0, op.inputs[k].size};
        std::vector<Value> operands{gradient, op.inputs[op.inputs.size() == 2 ? 1 - k : 0]};
        addOp(kind, op.work, operands, result);
        accumulate(gradientOf, op.inputs[k], result);
      }
    }
    for (const Value &weight : parameters)
      addOp("update", 0.05 * weight.size, {{gradientOf.at(weight.node), 0, weight.size}}, weight);
  }

  void accumulate(std::map<uint32_t, uint32_t> &gradientOf, Value input, Value result) {
    auto [it, isNew] = gradientOf.try_emplace(input.node, result.node);
    if (isNew)
      return;
    Value sum{addLayout("sum", input.size), 0, input.size};
    addOp("sum", 0.05, {{it->second, 0, input.size}, result}, sum);
    it->second = sum.node;
  }

  Value parameter(const std::string &kind, double size) {
    parameters.push_back(addValue(kind, size));
    return parameters.back();
  }
  Value addValue(const std::string &kind, double size) { return {addLayout(kind, size), 0, size}; }

  /// The two axes' states of a layout: choice = a * states + b. State 0 is replicated, 1 a partial sum.
  uint32_t addLayout(const std::string &kind, double size) {
    auto [it, isNew] = unaryOf.try_emplace("layout " + kind);
    if (isNew) {
      UnaryTable table;
      for (uint32_t a = 0; a < shape.states; ++a)
        for (uint32_t b = 0; b < shape.states; ++b) {
          double parts = (a >= 2 ? 8 : 1) * (b >= 2 ? 4 : 1);
          table.seconds.push_back(0);
          table.bytes.push_back(static_cast<int64_t>(size * 4e6 / parts));
        }
      it->second = static_cast<uint32_t>(problem.unaryTables.size());
      problem.unaryTables.push_back(std::move(table));
    }
    problem.nodes.push_back({it->second, std::nullopt, {}});
    return static_cast<uint32_t>(problem.nodes.size() - 1);
  }

  void addOp(const std::string &kind, double work, const std::vector<Value> &inputs, Value output) {
    auto [it, isNew] = unaryOf.try_emplace("op " + kind);
    if (isNew) {
      UnaryTable table;
      for (uint32_t a = 0; a < shape.splits; ++a)
        for (uint32_t b = 0; b < shape.splits; ++b)
          table.seconds.push_back(work * 1e-3 / ((a > 0 ? 8 : 1) * (b > 0 ? 4 : 1)));
      it->second = static_cast<uint32_t>(problem.unaryTables.size());
      problem.unaryTables.push_back(std::move(table));
    }
    problem.nodes.push_back({it->second, std::nullopt, {}});
    auto node = static_cast<uint32_t>(problem.nodes.size() - 1);
    for (size_t i = 0; i < inputs.size(); ++i)
      addOperand(kind + " operand " + std::to_string(i), node, inputs[i], false);
    addOperand(kind + " result", node, output, true);
  }

  void addOperand(const std::string &kind, uint32_t op, Value value, bool isResult) {
    auto [it, isNew] = pairOf.try_emplace(kind);
    if (isNew) {
      it->second = static_cast<uint32_t>(problem.pairTables.size());
      problem.pairTables.push_back(reshardTable(value.size, isResult));
    }
    problem.edges.push_back({op, value.node, it->second});
  }

  /// Which state of the value each split of the op needs or makes on an axis, and what it costs to get there.
  PairTable reshardTable(double size, bool isResult) {
    std::vector<uint32_t> stateOf{0};
    for (uint32_t split = 1; split < shape.splits; ++split) {
      // A loop that the value does not have: replicated operand, partial sum as result.
      uint32_t state = static_cast<uint32_t>(random() % (shape.states - 1));
      stateOf.push_back(state == 0 ? (isResult ? 1 : 0) : state + 1);
    }
    PairTable table{shape.splits * shape.splits, shape.states * shape.states, {}, {}};
    for (uint32_t row = 0; row < table.rows; ++row)
      for (uint32_t column = 0; column < table.columns; ++column) {
        uint32_t a = stateOf[row / shape.splits], b = stateOf[row % shape.splits];
        uint32_t x = column / shape.states, y = column % shape.states;
        double parts = y >= 2 ? 4 : 1;
        double first = isResult ? reshard(a, x) : reshard(x, a),
               second = isResult ? reshard(b, y) : reshard(y, b);
        bool impossible = first == forbidden || second == forbidden;
        table.seconds.push_back(impossible ? forbidden : size * (1e-4 * first / parts + 4e-4 * second));
      }
    return table;
  }

  /// Relative time of changing the state on one axis: all-gather, reduce-scatter 1, all-reduce 2, all-to-all
  /// less, a slice nothing; nothing becomes a partial sum.
  static double reshard(uint32_t from, uint32_t to) {
    if (from == to)
      return 0;
    if (to == 1)
      return forbidden;
    if (from == 0)
      return 0;
    if (from == 1)
      return to == 0 ? 2 : 1;
    return to == 0 ? 1 : 0.3;
  }

  const TransformerShape &shape;
  std::mt19937 random;
  Problem problem;
  std::vector<Op> ops;
  std::vector<Value> parameters;
  std::map<std::string, uint32_t> unaryOf, pairOf;
};
} // namespace

Problem pdc::plan::makeTransformerProblem(const TransformerShape &shape) {
  return TransformerMaker(shape).make();
}
