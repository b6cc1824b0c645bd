//===- cost_model_test.cpp - the native and the published models ----------===//

#include "compiler/cost/CostModel.h"
#include "tests/compiler/cost/clusters.h"
#include "gtest/gtest.h"

using namespace pdc;
using namespace pdc::cost;
using machine::Cluster;

static std::unique_ptr<CostModel> model(const std::string &spec, const Cluster &cluster) {
  return llvm::cantFail(makeCostModel(spec, cluster));
}

static std::string messageOf(const std::string &spec, const Cluster &cluster) {
  auto made = makeCostModel(spec, cluster);
  return made ? "" : llvm::toString(made.takeError());
}

static Cluster fourInARow() { return test::row(4, "latency: 1 s, bandwidth: 1"); }
static Cluster twoByFour() {
  return test::grid(2, 4, "latency: 1 s, bandwidth: 100", "latency: 1 s, bandwidth: 10, sharing: per_member");
}

TEST(AlpaModel, FiveAllReducesOfTheSixLayerPerceptronCostWhatAlpaPublished) {
  // alpa/tests, test_n_layer_mlp: batch 32, hidden 256, f32, mesh 1 x 4, alpha = beta = 1.
  Cluster cluster = fourInARow();
  auto alpa = model("alpa", cluster);
  double allReduce =
      alpa->collectiveSeconds(Collective::AllReduce, 32 * 256 * 4, shapeOfAxes(cluster, {4}, {0}));
  EXPECT_NEAR(5 * allReduce, 245765.05, 1e-6);
}

TEST(AlpaModel, CostsOfEachCollective) {
  Cluster cluster = fourInARow();
  GroupShape all = shapeOfAxes(cluster, {4}, {0});
  auto alpa = model("alpa:alpha=2,beta=3", cluster);
  EXPECT_DOUBLE_EQ(alpa->collectiveSeconds(Collective::AllReduce, 100, all), 2 + 3 * 2 * 0.75 * 100 + 0.01);
  EXPECT_DOUBLE_EQ(alpa->collectiveSeconds(Collective::AllGather, 100, all), 2 + 3 * 0.75 * 100 + 0.1);
  EXPECT_DOUBLE_EQ(alpa->collectiveSeconds(Collective::ReduceScatter, 100, all), 2 + 3 * 0.75 * 100 + 0.001);
  // 400 bytes of the whole tensor: alpha + beta (n - 1) / n / n * 400 * n / 2 + 0.001.
  EXPECT_DOUBLE_EQ(alpa->collectiveSeconds(Collective::AllToAll, 100, all),
                   2 + 3 * 0.75 / 4 * 400 * 2 + 0.001);
}

TEST(AlpaModel, EachLevelHasItsAlphaAndBeta) {
  Cluster cluster = twoByFour();
  GroupShape inner = shapeOfAxes(cluster, {2, 4}, {1}), outer = shapeOfAxes(cluster, {2, 4}, {0});
  auto byDefault = model("alpa", cluster), given = model("alpa:alpha=5/7,beta=0.5/2", cluster);
  EXPECT_DOUBLE_EQ(byDefault->collectiveSeconds(Collective::AllGather, 100, inner), 1 + 0.1 * 75 + 0.1);
  EXPECT_DOUBLE_EQ(byDefault->collectiveSeconds(Collective::AllGather, 100, outer), 1 + 50 + 0.1);
  EXPECT_DOUBLE_EQ(given->collectiveSeconds(Collective::AllGather, 100, inner), 5 + 0.5 * 75 + 0.1);
  EXPECT_DOUBLE_EQ(given->collectiveSeconds(Collective::AllGather, 100, outer), 7 + 2 * 50 + 0.1);
}

TEST(AlpaModel, ComputationIsFree) {
  EXPECT_EQ(model("alpa", fourInARow())->opSeconds({machine::OpClass::Matmul, 1e12, 1, 1, {}, ""}), 0);
  EXPECT_FALSE(model("alpa", fourInARow())->countsWork());
  EXPECT_TRUE(model("native", fourInARow())->countsWork());
}

TEST(PipeDreamModel, SynchronizesFourTimesTheWeightsThatLeave) {
  Cluster cluster = twoByFour();
  auto pipedream = model("pipedream", cluster);
  EXPECT_DOUBLE_EQ(
      pipedream->collectiveSeconds(Collective::AllReduce, 1000, shapeOfAxes(cluster, {2, 4}, {1})),
      4 * 0.75 * 1000 / 100);
  EXPECT_DOUBLE_EQ(
      pipedream->collectiveSeconds(Collective::AllReduce, 1000, shapeOfAxes(cluster, {2, 4}, {0})),
      4 * 0.5 * 1000 / 10);
  EXPECT_DOUBLE_EQ(
      pipedream->collectiveSeconds(Collective::PointToPoint, 1000, shapeOfRanks(cluster, {0, 4})), 100);
}

TEST(PiperModel, HasOneBandwidthForAllDevices) {
  Cluster cluster = twoByFour();
  auto piper = model("piper", cluster);
  EXPECT_DOUBLE_EQ(piper->collectiveSeconds(Collective::AllReduce, 1000, shapeOfAxes(cluster, {2, 4}, {1})),
                   4 * 0.75 * 1000 / 10);
}

TEST(NativeModel, AsksTheDeviceOfTheRank) {
  Cluster cluster = twoByFour();
  machine::NodeGroup slow = cluster.nodes[0];
  cluster.nodes[0].count = slow.count = 1;
  cluster.devices.push_back(cluster.devices[0]);
  cluster.devices[1].name = slow.device = "slow";
  cluster.devices[1].memoryBytesPerSecond /= 2;
  cluster.nodes.push_back(slow);
  auto native = model("native", cluster);
  OpWork work{machine::OpClass::Copy, 0, 1e9, 1e9, machine::Precision::F32, ""};
  EXPECT_NEAR(native->opSeconds(work, 4) / native->opSeconds(work, 3), 2, 1e-3);
}

TEST(NativeModel, CollectivesAreThoseOfTheLinks) {
  Cluster cluster = twoByFour();
  GroupShape shape = shapeOfAxes(cluster, {2, 4}, {0});
  EXPECT_EQ(model("native", cluster)->collectiveSeconds(Collective::AllToAll, 5, shape),
            collectiveSeconds(cluster, Collective::AllToAll, 5, shape));
}

TEST(CostModelErrors, NameThatIsNone) {
  EXPECT_EQ(messageOf("flexflow", fourInARow()),
            "--cost-model=flexflow: there is no such cost model; native, alpa, pipedream and piper are");
}

TEST(CostModelErrors, ParametersThatTheModelHasNot) {
  EXPECT_EQ(messageOf("native:alpha=1", fourInARow()),
            "--cost-model=native:alpha=1: 'native' has no parameters");
  EXPECT_EQ(messageOf("alpa:gamma=1", fourInARow()),
            "--cost-model=alpa:gamma=1: unknown word 'gamma': expected alpha=NUMBERS or beta=NUMBERS");
}

TEST(CostModelErrors, NumbersThatAreTooLarge) {
  for (const char *number : {"1e400", "1e101", "inf"})
    EXPECT_EQ(messageOf(std::string("alpa:alpha=") + number, fourInARow()),
              std::string("--cost-model=alpa:alpha=") + number + ": '" + number + "' is too large: expected at most 1e+100");
  EXPECT_EQ(messageOf("alpa:beta=1e400", fourInARow()),
            "--cost-model=alpa:beta=1e400: '1e400' is too large: expected at most 1e+100");
}

TEST(CostModelErrors, NumbersThatAreNone) {
  EXPECT_EQ(messageOf("alpa:alpha=-1", fourInARow()),
            "--cost-model=alpa:alpha=-1: '-1' is not a number of at least 0");
  EXPECT_EQ(
      messageOf("alpa:alpha=1/2/3", fourInARow()),
      "--cost-model=alpa:alpha=1/2/3: '1/2/3': expected one number, or one for each of the 1 link levels, "
      "innermost first");
}
