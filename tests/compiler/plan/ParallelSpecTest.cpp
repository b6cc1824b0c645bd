//===- ParallelSpecTest.cpp - what --parallel says ------------------------===//

#include "compiler/plan/ParallelSpec.h"
#include "llvm/ADT/StringExtras.h"
#include <gtest/gtest.h>

using namespace pdc::plan;

namespace {

/// "2x1 1x2 zero 1": data and tensor of each stage that is not like the others; or the error.
std::string read(llvm::StringRef text, int64_t ranks) {
  llvm::Expected<ParallelSpec> spec = parseParallelSpec(text, ranks);
  if (!spec)
    return llvm::toString(spec.takeError());
  std::string result = std::to_string(spec->pipeline) + " stages:";
  for (const ParallelSpec &stage : spec->stages.empty() ? std::vector<ParallelSpec>{*spec} : spec->stages)
    result += " " + std::to_string(stage.data) + "x" + std::to_string(stage.tensor) + (stage.isSearched ? "?" : "") +
              (stage.zero ? " zero " + std::to_string(stage.zero) : "");
  return result;
}

bool has(const std::string &text, const std::string &part) { return text.find(part) != std::string::npos; }

TEST(ParallelSpec, OneNumberIsForAllStages) {
  EXPECT_EQ(read("pipeline=2", 4), "2 stages: 2x1");
  EXPECT_EQ(read("pipeline=2,tensor=2", 4), "2 stages: 1x2");
  EXPECT_EQ(read("layouts,pipeline=2", 4), "2 stages: 2x1?");
}

TEST(ParallelSpec, PipelineNamesTheRanksOfStages) {
  EXPECT_EQ(read("pipeline=2:1:1", 4), "3 stages: 2x1 1x1 1x1");
  EXPECT_EQ(read("pipeline=4:1,tensor=2:1", 5), "2 stages: 2x2 1x1");
  EXPECT_EQ(read("layouts,pipeline=15:1", 16), "2 stages: 15x1? 1x1?");
  EXPECT_EQ(read("pipeline=2:2", 4), "2 stages: 2x1");
}

TEST(ParallelSpec, EachNumberMayBeOneForEachStage) {
  EXPECT_EQ(read("data=4:1,tensor=1:2,pipeline=2", 6), "2 stages: 4x1 1x2");
  EXPECT_EQ(read("pipeline=2:1,zero=1", 3), "2 stages: 2x1 zero 1 1x1");
  EXPECT_EQ(read("pipeline=2:2,zero=1:3", 4), "2 stages: 2x1 zero 1 2x1 zero 3");
}

TEST(ParallelSpec, WhatDoesNotAddUpIsRefused) {
  EXPECT_TRUE(has(read("pipeline=2:1:1", 5), "its stages have 4 ranks together, but --ranks=5"));
  EXPECT_TRUE(has(read("pipeline=3:1,tensor=2", 4), "stage 0 has 3 ranks, which data=1 and tensor=2 do not give"));
  EXPECT_TRUE(has(read("data=2:1:1,pipeline=2", 4), "data has 3 numbers, and there are 2 stages"));
  EXPECT_TRUE(has(read("pipeline=2:0", 2), "'0' is not a number that pipeline can be"));
  EXPECT_TRUE(has(read("pipeline=2:x", 2), "'x' is not a number that pipeline can be"));
  EXPECT_TRUE(has(read("pipeline=1:1,zero=0:1", 2), "of which each stage has one"));
  EXPECT_TRUE(has(read("layouts,data=2,pipeline=2", 4), "beside it name pipeline alone"));
  EXPECT_TRUE(has(read("pipeline=2,pipeline=2", 4), "given twice"));
  EXPECT_TRUE(has(read("pipeline=2:1,tensor=auto", 3), "numbers of single stages leave nothing to search"));
}

} // namespace
