//===- presets_test.cpp - the clusters that pdc knows by name -------------===//

#include "compiler/machine/ClusterFile.h"
#include "gtest/gtest.h"

using namespace pdc::machine;

TEST(Presets, AllAreRead) {
  for (const std::string &name : presetNames()) {
    auto cluster = resolveCluster(name);
    ASSERT_TRUE(static_cast<bool>(cluster)) << llvm::toString(cluster.takeError());
    EXPECT_EQ(cluster->name, name);
    EXPECT_FALSE(cluster->description.empty()) << name;
  }
}

TEST(Presets, WriteWhatTheyRead) {
  for (const std::string &name : presetNames()) {
    std::string text = writeCluster(llvm::cantFail(resolveCluster(name)));
    EXPECT_EQ(writeCluster(llvm::cantFail(parseCluster(text, name))), text);
  }
}
