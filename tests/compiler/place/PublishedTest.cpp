//===- PublishedTest.cpp - the authors' answers on the authors' graphs ----===//
//
// The graphs are not part of this project: PDC_PROFILES names a folder with pipedream-profiles/vgg16.txt and
// gnmt.txt (msr-fiddle/pipedream) and dnn-partitioning/bert24_training.json (msr-fiddle/dnn-partitioning). The
// answers are those of the authors' planners, PipeDream's with transfers counted.
//
//===----------------------------------------------------------------------===//

#include "compiler/place/DnnPartitioningGraph.h"
#include "compiler/place/PipeDreamProfile.h"
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sstream>

using namespace pdc::place;
using testing::ElementsAre;

namespace {

std::string graph(const std::string &name) {
  if (const char *folder = std::getenv("PDC_PROFILES")) {
    std::ifstream file(std::filesystem::path(folder) / name);
    if (file) {
      std::stringstream text;
      text << file.rdbuf();
      return text.str();
    }
  }
  return "";
}

std::vector<int> replicas(const Placement &placement) {
  std::vector<int> result;
  for (const PlacedStage &stage : placement.stages)
    result.push_back(stage.replicas);
  return result;
}

} // namespace

TEST(Published, PipeDreamsProfiles) {
  struct Answer {
    const char *name;
    int devices;
    double bandwidth, bottleneck, dataParallel;
  };
  for (const Answer &answer : {Answer{"vgg16", 4, 1e9, 0.205520896, 0.583206},
                               {"vgg16", 4, 15.75e9, 0.169953786, 0.194488},
                               {"vgg16", 16, 1.25e9, 0.054794891, 0.145802},
                               {"vgg16", 16, 3.125e9, 0.045524808, 0.083541},
                               {"gnmt", 4, 1e9, 0.025868, 0.603652},
                               {"gnmt", 4, 15.75e9, 0.025868, 0.059262},
                               {"gnmt", 16, 1.25e9, 0.017125, 0.150913},
                               {"gnmt", 16, 3.125e9, 0.011081, 0.063718}}) {
    std::string text = graph(std::string("pipedream-profiles/") + answer.name + ".txt");
    if (text.empty())
      GTEST_SKIP() << "PDC_PROFILES does not name a folder with pipedream-profiles/" << answer.name << ".txt";
    PlaceOptions options;
    options.devices = answer.devices;
    options.bytesPerSecond = answer.bandwidth;
    Placement placement = placePipeDream(parsePipeDreamProfile(text), options);
    EXPECT_NEAR(placement.bottleneckSeconds / answer.bottleneck, 1, 1e-6)
        << answer.name << " " << answer.devices;
    EXPECT_NEAR(*placement.dataParallelSeconds, answer.dataParallel, 1e-6)
        << answer.name << " " << answer.devices;
    if (answer.name == std::string("vgg16") && answer.bandwidth == 1e9)
      EXPECT_THAT(replicas(placement), ElementsAre(3, 1));
    if (answer.name == std::string("vgg16") && answer.bandwidth == 3.125e9)
      EXPECT_THAT(replicas(placement), ElementsAre(15, 1));
  }
}

TEST(Published, DnnPartitioningsGraph) {
  std::string text = graph("dnn-partitioning/bert24_training.json");
  if (text.empty())
    GTEST_SKIP() << "PDC_PROFILES does not name a folder with dnn-partitioning/bert24_training.json";
  Placement placement = placeDnnPartitioning(parseDnnPartitioningGraph(text), {});
  EXPECT_NEAR(placement.bottleneckSeconds, 0.041745812, 1e-9);
  EXPECT_EQ(placement.stages.size(), 6u);
}
