//===- TransferTest.cpp - values between the ranks of two meshes ----------===//

#include "passes/layouts/Transfer.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include <gtest/gtest.h>
#include <map>
#include <random>

using namespace mlir;
using namespace pdc;
using namespace pdc::passes;
using dist::LayoutAttr;

namespace {

class TransferTest : public testing::Test {
protected:
  TransferTest() : b(&context) {
    context.loadDialect<dist::DistDialect>();
    module = ModuleOp::create(b.getUnknownLoc());
    b.setInsertionPointToStart(module->getBody());
  }

  dist::MeshOp mesh(StringRef name, ArrayRef<StringRef> axes, ArrayRef<int64_t> sizes, int64_t first) {
    auto made = dist::MeshOp::create(b, b.getUnknownLoc(), name, b.getStrArrayAttr(axes), b.getDenseI64ArrayAttr(sizes));
    made.setFirstRank(first);
    return made;
  }

  LayoutAttr split(int64_t rank, int64_t dim, ArrayRef<StringRef> axes) {
    return LayoutAttr::getSplit(&context, rank, dim, axes);
  }
  LayoutAttr whole(int64_t rank) { return LayoutAttr::getReplicated(&context, rank); }

  static std::string text(ArrayRef<TransferPiece> pieces) {
    std::string result;
    llvm::raw_string_ostream os(result);
    for (const TransferPiece &piece : pieces) {
      os << piece.from << ">" << piece.to << " ";
      llvm::interleave(piece.box.start, os, ",");
      os << "+";
      llvm::interleave(piece.box.shape, os, ",");
      os << "; ";
    }
    return result;
  }

  MLIRContext context;
  OpBuilder b;
  OwningOpRef<ModuleOp> module;
};

TEST_F(TransferTest, EachRankGetsTheIntersectionsOfItsPartWithTheOthers) {
  dist::MeshOp two = mesh("a", {"data"}, {2}, 0), three = mesh("b", {"data"}, {3}, 2);
  EXPECT_EQ(text(planTransfer(split(1, 0, {"data"}), two, split(1, 0, {"data"}), three, {6}, 0)),
            "0>2 0+2; 0>3 2+1; 1>3 3+1; 1>4 4+2; ");
}

TEST_F(TransferTest, SplitsAlongDifferentDimensionsMeetInAGrid) {
  dist::MeshOp two = mesh("a", {"data"}, {2}, 0), other = mesh("b", {"tensor"}, {2}, 2);
  EXPECT_EQ(text(planTransfer(split(2, 0, {"data"}), two, split(2, 1, {"tensor"}), other, {4, 6}, 0)),
            "0>2 0,0+2,3; 1>2 2,0+2,3; 0>3 0,3+2,3; 1>3 2,3+2,3; ");
}

TEST_F(TransferTest, RanksThatHoldTheSameTakeTurns) {
  dist::MeshOp two = mesh("a", {"tensor"}, {2}, 0), four = mesh("b", {"tensor"}, {4}, 2), one = mesh("c", {"x"}, {1}, 6);
  // Among the receivers; as many as there are: each from its counterpart.
  EXPECT_EQ(text(planTransfer(whole(1), two, whole(1), four, {3}, 0)), "0>2 0+3; 1>3 0+3; 0>4 0+3; 1>5 0+3; ");
  EXPECT_EQ(text(planTransfer(whole(1), two, whole(1), four, {3}, 1)), "0>2 0+3; 1>3 0+3; 0>4 0+3; 1>5 0+3; ");
  // Where one rank receives, from message to message.
  EXPECT_EQ(text(planTransfer(whole(1), two, whole(1), one, {3}, 0)), "0>6 0+3; ");
  EXPECT_EQ(text(planTransfer(whole(1), two, whole(1), one, {3}, 1)), "1>6 0+3; ");
}

TEST_F(TransferTest, AScalarReachesEveryRank) {
  dist::MeshOp one = mesh("a", {"data"}, {1}, 0), three = mesh("b", {"data"}, {3}, 1);
  EXPECT_EQ(text(planTransfer(whole(0), one, whole(0), three, {}, 0)), "0>1 +; 0>2 +; 0>3 +; ");
}

/// Every element that a rank needs comes once, from a rank that holds it.
TEST_F(TransferTest, RandomLayoutsGiveEveryElementOnce) {
  std::mt19937 random(7);
  auto below = [&](int64_t limit) { return static_cast<int64_t>(random() % limit); };
  for (int trial = 0; trial < 200; ++trial) {
    int64_t a = 1 + below(3), c = 1 + below(3);
    std::string number = std::to_string(trial);
    dist::MeshOp from = mesh("f" + number, {"x", "y"}, {a, 1 + below(3)}, 0);
    dist::MeshOp to = mesh("t" + number, {"x", "y"}, {c, 1 + below(3)}, from.getNumRanks());
    SmallVector<int64_t> shape{9 + below(5), 9 + below(5)};
    auto layout = [&] {
      switch (below(4)) {
      case 0:
        return whole(2);
      case 1:
        return split(2, below(2), {"x", "y"});
      case 2:
        return split(2, below(2), {"y"});
      default:
        return split(2, below(2), {"y", "x"});
      }
    };
    LayoutAttr sent = layout(), received = layout();
    std::map<int64_t, std::map<std::pair<int64_t, int64_t>, int>> came;
    for (const TransferPiece &piece : planTransfer(sent, from, received, to, shape, trial)) {
      LocalPart held = getLocalPart(sent, shape, from, piece.from), needed = getLocalPart(received, shape, to, piece.to);
      for (const LocalPart &part : {held, needed})
        for (size_t d = 0; d < 2; ++d) {
          EXPECT_GE(piece.box.start[d], part.start[d]);
          EXPECT_LE(piece.box.start[d] + piece.box.shape[d], part.start[d] + part.shape[d]);
        }
      for (int64_t i = 0; i < piece.box.shape[0]; ++i)
        for (int64_t j = 0; j < piece.box.shape[1]; ++j)
          ++came[piece.to][{piece.box.start[0] + i, piece.box.start[1] + j}];
    }
    for (int64_t rank : to.getRanks()) {
      LocalPart needed = getLocalPart(received, shape, to, rank);
      EXPECT_EQ(static_cast<int64_t>(came[rank].size()), needed.shape[0] * needed.shape[1]);
      for (const auto &[element, times] : came[rank])
        EXPECT_EQ(times, 1);
    }
  }
}

} // namespace
