//===- LayoutPictureTest.cpp - how a tensor lies on the mesh, drawn -------===//

#include "compiler/plan/LayoutPicture.h"
#include "gtest/gtest.h"

using namespace pdc;

static llvm::json::Value report(const char *text) { return llvm::cantFail(llvm::json::parse(text)); }

static std::string draw(const llvm::json::Value &plan, llvm::StringRef name) {
  return llvm::cantFail(plan::drawLayout(*plan.getAsObject(), name));
}

static llvm::json::Value twoByTwo() {
  return report(R"({"mesh": [{"axis": "data", "size": 2}, {"axis": "tensor", "size": 2}], "layouts": [
    {"value": "w", "shape": [5, 8], "dims": ["in", "hidden"], "axes": [["data"], ["tensor"]], "blocks": [1, 2], "partial": []},
    {"value": "fc.bias", "shape": [6], "dims": ["hidden"], "axes": [["tensor", "data"]], "blocks": [1], "partial": []},
    {"value": "x", "shape": [4, 3], "dims": [], "axes": [[], []], "blocks": [1, 1], "partial": []},
    {"value": "t", "shape": [2, 2], "dims": ["a", "b"], "axes": [["tensor"], []], "blocks": [1, 1], "partial": ["data"]},
    {"value": "s", "shape": [], "dims": [], "axes": [], "blocks": [], "partial": []}]})");
}

TEST(LayoutPicture, TwoDimensionsAreRowsAndColumnsAndPartsMayDiffer) {
  EXPECT_EQ(
      draw(twoByTwo(), "w"),
      "w: in 5 x hidden 8, in split over data (2 parts), hidden split over tensor (2 parts in blocks of 2)\n"
      "mesh data=2 tensor=2; each part is held by 1 rank\n"
      "\n"
      "           hidden\n"
      "           0..3   4..7\n"
      "         +------+------+\n"
      "in 0..2  | 0    | 1    |\n"
      "         +------+------+\n"
      "in 3..4  | 2    | 3    |\n"
      "         +------+------+\n");
}

TEST(LayoutPicture, AVectorRunsAcrossAndTheFirstAxisIsTheMajorOne) {
  EXPECT_EQ(draw(twoByTwo(), "fc.bias"), "fc.bias: hidden 6, hidden split over tensor and data (4 parts)\n"
                                         "mesh data=2 tensor=2; each part is held by 1 rank\n"
                                         "\n"
                                         "    hidden\n"
                                         "    0..1   2..3   4..4   5..5\n"
                                         "  +------+------+------+------+\n"
                                         "  | 0    | 2    | 1    | 3    |\n"
                                         "  +------+------+------+------+\n");
}

TEST(LayoutPicture, WhatIsWholeIsOneBoxWithAllRanks) {
  EXPECT_EQ(draw(twoByTwo(), "x"), "x: 4 x 3\n"
                                   "mesh data=2 tensor=2; every rank holds all of it\n"
                                   "\n"
                                   "        0..2\n"
                                   "      +------+\n"
                                   "0..3  | 0-3  |\n"
                                   "      +------+\n");
  EXPECT_EQ(draw(twoByTwo(), "s"), "s: scalar\n"
                                   "mesh data=2 tensor=2; every rank holds all of it\n"
                                   "\n"
                                   "\n"
                                   "  +-----+\n"
                                   "  | 0-3 |\n"
                                   "  +-----+\n");
}

TEST(LayoutPicture, PartialValuesAreSaidToBeTerms) {
  EXPECT_NE(draw(twoByTwo(), "t").find("a rank holds a term: the value is the sum over data\n"),
            std::string::npos);
}

TEST(LayoutPicture, SaysWhichShapeTheModelDeclares) {
  auto plan = report(R"({"mesh": [{"axis": "tensor", "size": 2}], "layouts": [
    {"value": "qkv.weight", "shape": [8, 3, 4], "declared_shape": [8, 12], "dims": ["model", "", "qkv"],
     "axes": [[], [], ["tensor"]], "blocks": [1, 1, 1], "partial": []}]})");
  EXPECT_EQ(draw(plan, "qkv.weight").find("qkv.weight: model 8 x 3 x qkv 4 (declared 8 x 12), qkv split over tensor (2 parts)\n"),
            0u)
      << draw(plan, "qkv.weight");
}

TEST(LayoutPicture, OfThreeSplitDimensionsTheFirstIsAPictureEach) {
  auto plan = report(
      R"({"mesh": [{"axis": "x", "size": 2}, {"axis": "y", "size": 2}, {"axis": "z", "size": 2}], "layouts": [
    {"value": "a", "shape": [2, 4, 2], "dims": ["n", "", "c"], "axes": [["x"], ["y"], ["z"]], "blocks": [1, 1, 1], "partial": []}]})");
  EXPECT_EQ(draw(plan, "a"), "a: n 2 x 4 x c 2, n split over x (2 parts), dimension 1 split over y (2 "
                             "parts), c split over z (2 parts)\n"
                             "mesh x=2 y=2 z=2; each part is held by 1 rank\n"
                             "\n"
                             "n 0..0:\n"
                             "        c\n"
                             "        0..0   1..1\n"
                             "      +------+------+\n"
                             "0..1  | 0    | 1    |\n"
                             "      +------+------+\n"
                             "2..3  | 2    | 3    |\n"
                             "      +------+------+\n"
                             "\n"
                             "n 1..1:\n"
                             "        c\n"
                             "        0..0   1..1\n"
                             "      +------+------+\n"
                             "0..1  | 4    | 5    |\n"
                             "      +------+------+\n"
                             "2..3  | 6    | 7    |\n"
                             "      +------+------+\n");
}

TEST(LayoutPicture, OfManyPartsTheFirstAndTheLastAreDrawnAndOfManyRanksTheFirst) {
  auto plan = report(R"({"mesh": [{"axis": "x", "size": 16}, {"axis": "y", "size": 16}], "layouts": [
    {"value": "a", "shape": [32], "dims": [], "axes": [["y"]], "blocks": [1], "partial": []}]})");
  std::string picture = draw(plan, "a");
  EXPECT_NE(picture.find(" 6..7 "), std::string::npos);
  EXPECT_EQ(picture.find(" 8..9 "), std::string::npos);
  EXPECT_NE(picture.find("28..29"), std::string::npos);
  EXPECT_NE(picture.find("| 0 16 32 48 ... (16) "), std::string::npos);
}

TEST(LayoutPicture, OptimizerStateIsDrawnByItsSlot) {
  auto plan = report(R"({"mesh": [{"axis": "data", "size": 2}], "layouts": [], "optimizer_layouts": [
    {"value": "optimizer.m.w", "shape": [4], "dims": ["in"], "axes": [["data"]], "blocks": [1], "partial": []}]})");
  EXPECT_NE(draw(plan, "optimizer.m.w").find("optimizer.m.w: in 4, in split over data (2 parts)"), std::string::npos)
      << draw(plan, "optimizer.m.w");
  EXPECT_EQ(llvm::toString(plan::drawLayout(*plan.getAsObject(), "w").takeError()),
            "the plan has no parameter, state, input or optimizer state 'w'; there are optimizer.m.w");
}

TEST(LayoutPicture, AnUnknownNameIsAnErrorWithThoseLikeIt) {
  auto plan = twoByTwo();
  EXPECT_EQ(llvm::toString(plan::drawLayout(*plan.getAsObject(), "bias").takeError()),
            "the plan has no parameter, state, input or optimizer state 'bias'; there are fc.bias");
  EXPECT_EQ(llvm::toString(plan::drawLayout(*plan.getAsObject(), "zz").takeError()),
            "the plan has no parameter, state, input or optimizer state 'zz'");
}

TEST(LayoutPicture, AStageThatIsNotLikeTheOthersHasItsOwnMeshAndRanks) {
  llvm::json::Value plan = report(R"({"mesh": [], "stages": [
    {"ranks": [0, 1], "mesh": [{"axis": "data", "size": 2}]}, {"ranks": [2, 3], "mesh": [{"axis": "tensor", "size": 2}]}],
    "layouts": [{"value": "w", "shape": [4], "dims": ["in"], "axes": [["tensor"]], "blocks": [1], "partial": [], "stages": [1]}]})");
  EXPECT_EQ(draw(plan, "w"), "w: in 4, in split over tensor (2 parts)\n"
                             "mesh tensor=2; each part is held by 1 rank\n"
                             "\n"
                             "    in\n"
                             "    0..1   2..3\n"
                             "  +------+------+\n"
                             "  | 2    | 3    |\n"
                             "  +------+------+\n");
}
