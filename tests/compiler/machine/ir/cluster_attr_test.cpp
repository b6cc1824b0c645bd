//===- cluster_attr_test.cpp - clusters in the IR -------------------------===//

#include "compiler/machine/ClusterFile.h"
#include "compiler/machine/ir/ClusterAttr.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"
#include <algorithm>

using namespace mlir;
using namespace pdc::machine;

/// Attributes sort keys.
static std::string sorted(Cluster cluster) {
  std::sort(cluster.devices.begin(), cluster.devices.end(),
            [](const DeviceKind &a, const DeviceKind &b) { return a.name < b.name; });
  return writeCluster(cluster);
}

static std::string print(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  module.print(os);
  return text;
}

static std::string messageOf(MLIRContext &context, const std::string &attribute) {
  auto module =
      parseSourceString<ModuleOp>("module attributes {dist.cluster = " + attribute + "} {}", &context);
  auto cluster = getCluster(*module);
  return cluster ? "" : llvm::toString(cluster.takeError());
}

class ClusterAttr : public ::testing::Test {
protected:
  ClusterAttr() { context.allowUnregisteredDialects(); }
  MLIRContext context;
};

TEST_F(ClusterAttr, EveryPresetIsTheSameAfterItsText) {
  for (const std::string &name : presetNames()) {
    Cluster cluster = llvm::cantFail(resolveCluster(name));
    OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(&context));
    setCluster(*module, cluster);
    auto again = parseSourceString<ModuleOp>(print(*module), &context);
    ASSERT_TRUE(again) << name;
    auto read = getCluster(*again);
    ASSERT_TRUE(static_cast<bool>(read)) << llvm::toString(read.takeError());
    ASSERT_TRUE(read->has_value());
    EXPECT_EQ(sorted(**read), sorted(cluster));
  }
}

TEST_F(ClusterAttr, KeepsHowManyRanksThereAre) {
  Cluster cluster = llvm::cantFail(resolveCluster("lassen", 6));
  EXPECT_EQ(llvm::cantFail(fromAttribute(toAttribute(&context, cluster))).rankCount(), 6);
}

TEST_F(ClusterAttr, AModuleMaySayNothing) {
  OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(&context));
  EXPECT_FALSE(llvm::cantFail(getCluster(*module)).has_value());
}

TEST_F(ClusterAttr, ErrorsNameTheKey) {
  EXPECT_EQ(messageOf(context, "{name = \"x\", nodes = [], devises = {}}"),
            "dist.cluster: devises: unknown key; did you mean 'devices'?");
  EXPECT_EQ(messageOf(context, "{name = \"x\", devices = {}, nodes = []}"),
            "dist.cluster: nodes: expected at least one group of nodes, found none");
  EXPECT_EQ(messageOf(context, "{name = \"x\", overlap = 2 : i64}"),
            "dist.cluster: overlap: expected a share between 0 and 1, found '2'");
  EXPECT_EQ(messageOf(context, "3 : i32"), "dist.cluster: expected a dictionary");
}
