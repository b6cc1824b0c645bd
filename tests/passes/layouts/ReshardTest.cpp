//===- ReshardTest.cpp - every way between two layouts, carried out -------===//
//
// Each step of a way is carried out on vectors held per rank. In the end every rank must hold exactly its part of
// the value in the layout that was asked for.
//
//===----------------------------------------------------------------------===//

#include "passes/layouts/Reshard.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include <gtest/gtest.h>
#include <numeric>

using namespace mlir;
using namespace pdc;
using namespace pdc::passes;
using dist::LayoutAttr;

namespace {

struct Tensor {
  SmallVector<int64_t> shape;
  std::vector<double> values;
};

int64_t product(ArrayRef<int64_t> sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>());
}

/// Calls `visit(index)` with every index of the shape in row-major order.
void forEachIndex(ArrayRef<int64_t> shape, llvm::function_ref<void(ArrayRef<int64_t>)> visit) {
  SmallVector<int64_t> index(shape.size(), 0);
  for (int64_t i = 0; i < product(shape); ++i) {
    visit(index);
    for (size_t d = shape.size(); d-- > 0;) {
      if (++index[d] < shape[d])
        break;
      index[d] = 0;
    }
  }
}

int64_t linear(ArrayRef<int64_t> shape, ArrayRef<int64_t> index) {
  int64_t at = 0;
  for (auto [size, i] : llvm::zip(shape, index))
    at = at * size + i;
  return at;
}

Tensor cut(const Tensor &from, int64_t dim, int64_t start, int64_t size) {
  Tensor part{from.shape, {}};
  part.shape[dim] = size;
  forEachIndex(part.shape, [&](ArrayRef<int64_t> index) {
    SmallVector<int64_t> source(index);
    source[dim] += start;
    part.values.push_back(from.values[linear(from.shape, source)]);
  });
  return part;
}

Tensor join(ArrayRef<Tensor> parts, int64_t dim) {
  Tensor whole{parts.front().shape, {}};
  whole.shape[dim] = 0;
  for (const Tensor &part : parts)
    whole.shape[dim] += part.shape[dim];
  whole.values.resize(product(whole.shape));
  int64_t start = 0;
  for (const Tensor &part : parts) {
    int64_t next = 0;
    forEachIndex(part.shape, [&](ArrayRef<int64_t> index) {
      SmallVector<int64_t> target(index);
      target[dim] += start;
      whole.values[linear(whole.shape, target)] = part.values[next++];
    });
    start += part.shape[dim];
  }
  return whole;
}

Tensor combine(ArrayRef<Tensor> terms, bool isMax) {
  Tensor result = terms.front();
  for (const Tensor &term : terms.drop_front())
    for (auto [value, other] : llvm::zip(result.values, term.values))
      value = isMax ? std::max(value, other) : value + other;
  return result;
}

class ReshardTest : public testing::Test {
protected:
  ReshardTest() { context.loadDialect<dist::DistDialect>(); }

  dist::MeshOp makeMesh(ArrayRef<int64_t> sizes) {
    static constexpr StringLiteral names[] = {"x", "y", "z"};
    OpBuilder b(&context);
    module = ModuleOp::create(b.getUnknownLoc());
    b.setInsertionPointToStart(module->getBody());
    SmallVector<StringRef> used(names, names + sizes.size());
    return dist::MeshOp::create(b, b.getUnknownLoc(), "mesh", b.getStrArrayAttr(used),
                                b.getDenseI64ArrayAttr(sizes));
  }

  /// For tests of single ways: axes per dimension as a string each, "xy"; and the axes of the sum.
  LayoutAttr layout(ArrayRef<StringRef> dims, StringRef sum = "", ArrayRef<int64_t> blocks = {}) {
    Builder b(&context);
    auto axes = [&](StringRef letters) {
      SmallVector<Attribute> names;
      for (char letter : letters)
        names.push_back(b.getStringAttr(StringRef(&letter, 1)));
      return b.getArrayAttr(names);
    };
    SmallVector<Attribute> split;
    for (StringRef letters : dims)
      split.push_back(axes(letters));
    SmallVector<int64_t> ones(dims.size(), 1);
    return LayoutAttr::get(&context, b.getArrayAttr(split),
                           b.getDenseI64ArrayAttr(blocks.empty() ? ones : blocks), axes(sum), axes(""));
  }

  /// Every layout of the shape on the mesh that fits; each axis splits one dimension, or none, or is summed over (or
  /// is one of a maximum, where `isMax`).
  SmallVector<LayoutAttr> allLayouts(ArrayRef<int64_t> shape, dist::MeshOp mesh, bool isMax) {
    SmallVector<LayoutAttr> layouts;
    int64_t rank = shape.size(), axes = mesh.getAxisNames().size();
    SmallVector<SmallVector<Attribute>> dims(rank);
    SmallVector<Attribute> partial;
    std::function<void(int64_t)> choose = [&](int64_t axis) {
      if (axis == axes) {
        add(dims, partial, shape, mesh, isMax, layouts);
        return;
      }
      Attribute name = mesh.getAxisNames()[axis];
      choose(axis + 1);
      partial.push_back(name);
      choose(axis + 1);
      partial.pop_back();
      for (SmallVector<Attribute> &dim : dims)
        for (size_t place = 0; place <= dim.size(); ++place) {
          dim.insert(dim.begin() + place, name);
          choose(axis + 1);
          dim.erase(dim.begin() + place);
        }
    };
    choose(0);
    return layouts;
  }

  void add(ArrayRef<SmallVector<Attribute>> dims, ArrayRef<Attribute> partial, ArrayRef<int64_t> shape,
           dist::MeshOp mesh, bool isMax, SmallVectorImpl<LayoutAttr> &layouts) {
    Builder b(&context);
    ArrayAttr none = b.getArrayAttr({}), axes = b.getArrayAttr(partial);
    SmallVector<Attribute> split;
    for (ArrayRef<Attribute> dim : dims)
      split.push_back(b.getArrayAttr(dim));
    for (int64_t block : {1, 2}) {
      SmallVector<int64_t> blocks(dims.size(), 1);
      bool any = block == 1;
      for (auto [d, dim] : llvm::enumerate(dims))
        if (block == 2 && !dim.empty() && shape[d] % 2 == 0)
          blocks[d] = 2, any = true;
      auto made = LayoutAttr::get(&context, b.getArrayAttr(split), b.getDenseI64ArrayAttr(blocks),
                                  isMax ? none : axes, isMax ? axes : none);
      if (any && checkFits(made, shape, mesh).empty())
        layouts.push_back(made);
    }
  }

  /// What the value's rank holds. Terms of a sum and candidates of a maximum are different on all ranks.
  static Tensor held(LayoutAttr layout, ArrayRef<int64_t> shape, dist::MeshOp mesh, int64_t rank) {
    LocalPart part = getLocalPart(layout, shape, mesh, rank);
    Tensor tensor{part.shape, {}};
    int64_t terms = mesh.getParts(layout.getSum()), term = mesh.getPart(layout.getSum(), rank);
    int64_t candidates = mesh.getParts(layout.getMax()), candidate = mesh.getPart(layout.getMax(), rank);
    forEachIndex(part.shape, [&](ArrayRef<int64_t> index) {
      SmallVector<int64_t> global(index);
      for (auto [i, start] : llvm::zip(global, part.start))
        i += start;
      int64_t element = linear(shape, global), value = 1000 + element;
      if (candidates > 1 && element % candidates != candidate)
        value -= 1 + candidate;
      auto noise = [&](int64_t of) { return (element * 7 + of * 13) % 11; };
      int64_t rest = 0;
      for (int64_t i = 1; i < terms; ++i)
        rest += noise(i);
      tensor.values.push_back(term == 0 ? value - rest : noise(term));
    });
    return tensor;
  }

  static std::vector<Tensor> carryOut(const ReshardStep &step, LayoutAttr before, ArrayRef<int64_t> shape,
                                      dist::MeshOp mesh, const std::vector<Tensor> &values) {
    std::vector<Tensor> results(values.size());
    for (ArrayRef<int64_t> group : mesh.getGroups(step.axes)) {
      SmallVector<Tensor> parts;
      for (int64_t rank : group)
        parts.push_back(values[rank]);
      for (auto [member, rank] : llvm::enumerate(group)) {
        auto part = [&](const Tensor &of) {
          SmallVector<int64_t> sizes = getPartSizes(step.axes, step.dim, step.result, shape, mesh, rank);
          int64_t start = std::accumulate(sizes.begin(), sizes.begin() + member, int64_t{0});
          EXPECT_EQ(std::accumulate(sizes.begin(), sizes.end(), int64_t{0}), of.shape[step.dim]);
          return cut(of, step.dim, start, sizes[member]);
        };
        switch (step.kind) {
        case ReshardKind::AllReduce:
          results[rank] = combine(parts, step.isMax);
          break;
        case ReshardKind::ReduceScatter:
          results[rank] = part(combine(parts, step.isMax));
          break;
        case ReshardKind::AllGather:
          results[rank] = join(parts, step.dim);
          break;
        case ReshardKind::AllToAll: {
          SmallVector<Tensor> received;
          for (const Tensor &from : parts)
            received.push_back(part(from));
          SmallVector<int64_t> sizes = getPartSizes(step.axes, step.otherDim, before, shape, mesh, rank);
          for (auto [from, size] : llvm::zip(received, sizes))
            EXPECT_EQ(from.shape[step.otherDim], size);
          results[rank] = join(received, step.otherDim);
          break;
        }
        case ReshardKind::Slice:
          results[rank] = part(values[rank]);
          break;
        }
      }
    }
    return results;
  }

  /// Plans, carries out, compares.
  void check(LayoutAttr from, LayoutAttr to, ArrayRef<int64_t> shape, dist::MeshOp mesh) {
    std::string error, text;
    llvm::raw_string_ostream(text) << from << " to " << to;
    SCOPED_TRACE(text);
    FailureOr<SmallVector<ReshardStep>> steps = planReshard(from, to, shape, mesh, &error);
    ASSERT_TRUE(succeeded(steps)) << error;
    std::vector<Tensor> values;
    for (int64_t rank = 0; rank < mesh.getNumRanks(); ++rank)
      values.push_back(held(from, shape, mesh, rank));
    LayoutAttr at = from;
    for (const ReshardStep &step : *steps) {
      values = carryOut(step, at, shape, mesh, values);
      at = step.result;
      for (int64_t rank = 0; rank < mesh.getNumRanks(); ++rank)
        ASSERT_EQ(values[rank].shape, getLocalPart(at, shape, mesh, rank).shape) << "rank " << rank;
    }
    // What is left of a sum or maximum is completed here, to compare.
    for (ArrayAttr axes : {to.getSum(), to.getMax()}) {
      std::vector<Tensor> before = values;
      for (ArrayRef<int64_t> group : mesh.getGroups(axes)) {
        SmallVector<Tensor> terms;
        for (int64_t rank : group)
          terms.push_back(before[rank]);
        for (int64_t rank : group)
          values[rank] = combine(terms, axes == to.getMax() && !axes.empty());
      }
    }
    ArrayAttr none = ArrayAttr::get(&context, {});
    auto whole = LayoutAttr::get(&context, to.getDims(), to.getBlocks(), none, none);
    for (int64_t rank = 0; rank < mesh.getNumRanks(); ++rank)
      ASSERT_EQ(values[rank].values, held(whole, shape, mesh, rank).values) << "rank " << rank;
  }

  /// Every pair of layouts, or every `stride`-th.
  void checkAll(ArrayRef<int64_t> meshSizes, ArrayRef<int64_t> shape, int64_t stride = 1) {
    dist::MeshOp mesh = makeMesh(meshSizes);
    int64_t number = 0, checked = 0;
    auto subset = [](ArrayAttr part, ArrayAttr of) {
      return llvm::all_of(part, [&](Attribute axis) { return llvm::is_contained(of, axis); });
    };
    for (bool isMax : {false, true}) {
      SmallVector<LayoutAttr> layouts = allLayouts(shape, mesh, isMax);
      for (LayoutAttr from : layouts)
        for (LayoutAttr to : layouts) {
          if (isMax && !from.isPartial()) // as for sums
            continue;
          if (!subset(to.getSum(), from.getSum()) || !subset(to.getMax(), from.getMax()) ||
              number++ % stride != 0)
            continue;
          ++checked;
          ASSERT_NO_FATAL_FAILURE(check(from, to, shape, mesh));
        }
    }
    EXPECT_GT(checked, 0);
  }

  /// The kinds of the steps, in order.
  SmallVector<ReshardKind> kinds(LayoutAttr from, LayoutAttr to, ArrayRef<int64_t> shape, dist::MeshOp mesh) {
    SmallVector<ReshardKind> found;
    FailureOr<SmallVector<ReshardStep>> steps = planReshard(from, to, shape, mesh);
    EXPECT_TRUE(succeeded(steps));
    if (succeeded(steps))
      for (const ReshardStep &step : *steps)
        found.push_back(step.kind);
    return found;
  }

  std::string errorOf(LayoutAttr from, LayoutAttr to, ArrayRef<int64_t> shape, dist::MeshOp mesh) {
    std::string error;
    EXPECT_TRUE(failed(planReshard(from, to, shape, mesh, &error)));
    return error;
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

using Kinds = SmallVector<ReshardKind>;

TEST_F(ReshardTest, EveryWayOnOneAxisGivesEveryRankItsPart) {
  checkAll({2}, {5, 4});
  checkAll({3}, {7, 4, 3});
  checkAll({4}, {6, 8});
}

TEST_F(ReshardTest, EveryWayOnTwoAxesGivesEveryRankItsPart) {
  checkAll({2, 2}, {6, 5});
  checkAll({2, 3}, {7, 12});
  checkAll({3, 2}, {8, 7});
  checkAll({2, 1}, {3, 2});
}

TEST_F(ReshardTest, WaysOnThreeAxesGiveEveryRankItsPart) {
  checkAll({2, 2, 2}, {8}, 1);
  checkAll({2, 2, 2}, {9, 10}, 97);
  checkAll({2, 3, 2}, {12, 13}, 101);
}

TEST_F(ReshardTest, APartialSumThatIsWantedInPartsIsReduceScattered) {
  dist::MeshOp mesh = makeMesh({4});
  EXPECT_EQ(kinds(layout({"", ""}, "x"), layout({"x", ""}), {8, 8}, mesh),
            Kinds({ReshardKind::ReduceScatter}));
  EXPECT_EQ(kinds(layout({"", ""}, "x"), layout({"", ""}), {8, 8}, mesh), Kinds({ReshardKind::AllReduce}));
}

TEST_F(ReshardTest, AReductionIsOneStepWhateverRemainsWhenSizesAreDivided) {
  dist::MeshOp mesh = makeMesh({3});
  for (int64_t size : {16, 17, 18})
    EXPECT_EQ(kinds(layout({"", ""}, "x"), layout({"", ""}), {size, 4}, mesh), Kinds({ReshardKind::AllReduce}));
}

TEST_F(ReshardTest, TheSplitOfAnotherDimensionIsReachedAllToAll) {
  dist::MeshOp mesh = makeMesh({4});
  EXPECT_EQ(kinds(layout({"x", ""}), layout({"", "x"}), {7, 9}, mesh), Kinds({ReshardKind::AllToAll}));
}

TEST_F(ReshardTest, WhatIsWholeIsSlicedWithoutCommunication) {
  dist::MeshOp mesh = makeMesh({2, 2});
  EXPECT_EQ(kinds(layout({"", ""}), layout({"yx", ""}), {7, 9}, mesh), Kinds({ReshardKind::Slice}));
}

TEST_F(ReshardTest, PartsThatDoNotJoinToPartsAreGatheredWhollyAndSliced) {
  dist::MeshOp mesh = makeMesh({2, 2});
  EXPECT_EQ(kinds(layout({"xy"}), layout({"x"}), {8}, mesh), Kinds({ReshardKind::AllGather}));
  EXPECT_EQ(kinds(layout({"xy"}), layout({"x"}), {6}, mesh),
            Kinds({ReshardKind::AllGather, ReshardKind::Slice}));
}

TEST_F(ReshardTest, BlocksThatGiveTheSamePartsNeedNothing) {
  dist::MeshOp mesh = makeMesh({2, 1});
  EXPECT_EQ(kinds(layout({"x"}), layout({"x"}, "", {4}), {8}, mesh), Kinds());
  EXPECT_EQ(kinds(layout({"x"}), layout({"x"}, "", {2}), {6}, mesh),
            Kinds({ReshardKind::AllGather, ReshardKind::Slice}));
  EXPECT_EQ(kinds(layout({"x"}), layout({"xy"}), {6}, mesh), Kinds()); // y has one rank
}

TEST_F(ReshardTest, APartialSumIsSplitBeforeItIsReduced) {
  // Over both axes at once, not one after the other.
  dist::MeshOp mesh = makeMesh({2, 2});
  EXPECT_EQ(kinds(layout({"", ""}, "xy"), layout({"x", "y"}), {8, 8}, mesh),
            Kinds({ReshardKind::ReduceScatter, ReshardKind::ReduceScatter}));
  EXPECT_EQ(kinds(layout({"", ""}, "xy"), layout({"y", ""}, "x"), {8, 8}, mesh),
            Kinds({ReshardKind::ReduceScatter}));
}

TEST_F(ReshardTest, ALayoutThatDoesNotFitIsRefused) {
  dist::MeshOp mesh = makeMesh({4});
  EXPECT_NE(errorOf(layout({"x"}), layout({""}), {3}, mesh).find("every rank needs at least one whole block"),
            std::string::npos);
  EXPECT_NE(errorOf(layout({"z"}), layout({""}), {8}, mesh).find("has no axis \"z\""), std::string::npos);
  EXPECT_NE(errorOf(layout({"x", ""}), layout({"", ""}), {8}, mesh).find("is for 2 dimensions"),
            std::string::npos);
}

TEST_F(ReshardTest, NothingBecomesAPartialResultByBeingMoved) {
  dist::MeshOp mesh = makeMesh({4});
  EXPECT_NE(
      errorOf(layout({""}), layout({""}, "x"), {8}, mesh).find("becomes a partial result only by an op"),
      std::string::npos);
}

} // namespace
