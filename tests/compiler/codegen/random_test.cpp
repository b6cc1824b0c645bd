//===- random_test.cpp - random fusions against the reference -------------===//
//
// Bodies of random ops over a random iteration space, with a reduction over a random set of its dimensions.
// Each seed is one body; a failure names it.
//
//===----------------------------------------------------------------------===//

#include "dialects/nn/Analysis/IterationSpace.h"
#include "tests/compiler/codegen/harness.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace mlir;
using namespace pdc;
using namespace pdc::codegen::test;

namespace {

class RandomFusion {
public:
  explicit RandomFusion(unsigned seed) : random(seed) {}
  nn::FusionOp write(FusionWriter &w);

private:
  unsigned below(unsigned bound) { return random() % bound; }
  /// The space's shape with some dimensions of size one.
  SmallVector<int64_t> someShape();
  Value pick() { return values[below(values.size())]; }
  Value elementwise(FusionWriter &w);
  SmallVector<Value> chooseResults();

  std::mt19937 random;
  SmallVector<int64_t> space, reduced;
  SmallVector<Value> values;
};

} // namespace

SmallVector<int64_t> RandomFusion::someShape() {
  SmallVector<int64_t> shape = space;
  for (int64_t &size : shape)
    if (below(4) == 0)
      size = 1;
  return shape;
}

Value RandomFusion::elementwise(FusionWriter &w) {
  switch (below(9)) {
  case 0:
    return w.op<nn::AddOp>({pick(), pick()});
  case 1:
    return w.op<nn::SubOp>({pick(), pick()});
  case 2:
    return w.op<nn::TanhOp>({w.op<nn::MulOp>({pick(), pick()})});
  case 3:
    return w.op<nn::MaxOp>({pick(), w.splat(0.25)});
  case 4:
    return w.op<nn::TanhOp>({pick()});
  case 5:
    return w.op<nn::ExpOp>({w.op<nn::TanhOp>({pick()})});
  case 6:
    return w.op<nn::MulOp>({pick(), w.splat(0.5)});
  case 7: {
    Value x = pick(), bound = w.splat(0.75);
    return w.op<nn::DivOp>({x, w.op<nn::AddOp>({w.op<nn::SquareOp>({pick()}), bound})});
  }
  default:
    return w.op<nn::SqrtOp>({w.op<nn::AddOp>({w.op<nn::SquareOp>({pick()}), w.splat(0.1)})});
  }
}

SmallVector<Value> RandomFusion::chooseResults() {
  SmallVector<Value> results{values.back()};
  for (unsigned i = 0, count = below(3); i < count; ++i)
    results.push_back(pick());
  return results;
}

nn::FusionOp RandomFusion::write(FusionWriter &w) {
  static const int64_t sizes[] = {1, 2, 3, 5, 8, 17, 40};
  for (unsigned i = 0, rank = 1 + below(4); i < rank; ++i)
    space.push_back(sizes[below(std::size(sizes))]);
  if (below(4) == 0)
    space.back() = 300;
  for (int64_t i = 0; i < static_cast<int64_t>(space.size()); ++i)
    if (below(2))
      reduced.push_back(i);
  values.push_back(w.operand(space));
  for (unsigned i = 0, count = below(3); i < count; ++i)
    values.push_back(w.operand(someShape()));
  // Something of every operand, over the whole space.
  Value all = values[0];
  for (Value value : ArrayRef(values).drop_front())
    all = w.op<nn::AddOp>({all, value});
  values.push_back(all);
  for (unsigned i = 0, count = 1 + below(8); i < count; ++i) {
    Value value = elementwise(w);
    // Reduce values of the full shape only: the reductions of a kernel run over the same dimensions.
    if (!reduced.empty() && cast<RankedTensorType>(value.getType()).getShape() == ArrayRef(space) && below(2))
      value = below(2) ? w.max(value, reduced)
                       : w.op<nn::MulOp>({w.sum(w.op<nn::TanhOp>({value}), reduced), w.splat(0.01)});
    values.push_back(value);
  }
  return w.finish(chooseResults());
}

TEST(RandomFusions, EqualTheReference) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    FusionWriter w;
    nn::FusionOp fusion = RandomFusion(seed).write(w);
    RunOptions options;
    options.codegen.optimizationLevel = seed % 3 == 0 ? 3 : 1; // some of all, to be quick
    options.tolerance = 2e-5;
    EXPECT_EQ(check(fusion, options), "") << "seed " << seed;
  }
}
