//===- PublishedTest.cpp - the authors' answers on the authors' graphs ----===//
//
// The graphs are not part of this project: PDC_PROFILES names a folder with some of them. In pipedream-profiles are
// vgg16.txt, gnmt.txt, gnmt_large.txt and vgg16_partitioned.txt (msr-fiddle/pipedream), in dnn-partitioning
// bert24_training.json, gnmt_training.json and gnmt_inference.json (msr-fiddle/dnn-partitioning), in piper gnmt.json and
// bert32a100.json (msr-fiddle/piper). The answers are those of the authors' algorithms, PipeDream's with transfers
// counted; docs/pipelines.md says how each was got.
//
//===----------------------------------------------------------------------===//

#include "compiler/place/DnnPartitioningGraph.h"
#include "compiler/place/PipeDreamProfile.h"
#include "compiler/place/PiperGraph.h"
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

TEST(Published, PipeDreamsOtherProfiles) {
  struct Answer {
    const char *name;
    int devices;
    double bandwidth, bottleneck;
  };
  int read = 0;
  for (const Answer &answer : {Answer{"gnmt_large", 4, 1e9, 0.137129},
                               {"gnmt_large", 8, 15.75e9, 0.082845},
                               {"gnmt_large", 16, 1.25e9, 0.058971},
                               {"vgg16_partitioned", 4, 1e9, 0.199734},
                               {"vgg16_partitioned", 8, 15.75e9, 0.0927950079365},
                               {"vgg16_partitioned", 16, 3.125e9, 0.04692437328}}) {
    std::string text = graph(std::string("pipedream-profiles/") + answer.name + ".txt");
    if (text.empty())
      continue;
    ++read;
    PlaceOptions options;
    options.devices = answer.devices;
    options.bytesPerSecond = answer.bandwidth;
    Placement placement = placePipeDream(parsePipeDreamProfile(text), options);
    EXPECT_NEAR(placement.bottleneckSeconds / answer.bottleneck, 1, 1e-9)
        << answer.name << " " << answer.devices;
    EXPECT_TRUE(placement.exact);
  }
  if (!read)
    GTEST_SKIP()
        << "PDC_PROFILES names no folder with pipedream-profiles/gnmt_large.txt or vgg16_partitioned.txt";
}

TEST(Published, DnnPartitioningsGraphs) {
  struct Answer {
    const char *name;
    double load;
  };
  int read = 0;
  for (const Answer &answer : {Answer{"bert24_training", 0.0417458125},
                               {"gnmt_training", 0.107004414062},
                               {"gnmt_inference", 0.0329106582031}}) {
    std::string text = graph(std::string("dnn-partitioning/") + answer.name + ".json");
    if (text.empty())
      continue;
    ++read;
    Placement placement = placeDnnPartitioning(parseDnnPartitioningGraph(text), {});
    EXPECT_NEAR(placement.bottleneckSeconds / answer.load, 1, 1e-9) << answer.name;
    EXPECT_TRUE(placement.exact) << answer.name;
  }
  if (!read)
    GTEST_SKIP() << "PDC_PROFILES names no folder with graphs in dnn-partitioning";
}

TEST(Published, PipersGraphs) {
  struct Answer {
    const char *name;
    int devices;
    double gibibytes, bottleneck;
  };
  int read = 0;
  // The experiments of its authors: 25 GiB a second.
  for (const Answer &answer : {Answer{"gnmt", 2, 2.5, 263.354289062},
                               {"gnmt", 2, 3.5, 260.226823306},
                               {"gnmt", 4, 1.2, 137.130992187},
                               {"gnmt", 8, 1.2, 68.5655639758},
                               {"gnmt", 16, 1.2, 34.262817914},
                               {"gnmt", 32, 0.8, 17.5041166627},
                               {"bert32a100", 8, 8, 0.16585575},
                               {"bert32a100", 32, 2, 0.0665495},
                               {"bert32a100", 64, 8, 0.0202005502945},
                               {"bert32a100", 128, 1, 0.03887175},
                               {"bert32a100", 512, 8, 0.00256112784601},
                               {"bert32a100", 1024, 1, 0.00439173794768}}) {
    std::string text = graph(std::string("piper/") + answer.name + ".json");
    if (text.empty())
      continue;
    ++read;
    PlaceOptions options;
    options.devices = answer.devices;
    options.memoryBytes = answer.gibibytes * (1 << 30);
    options.bytesPerSecond = 25.0 * (1 << 30);
    Placement placement = placePiper(parsePiperGraph(text), options);
    EXPECT_NEAR(placement.bottleneckSeconds / answer.bottleneck, 1, 1e-9)
        << answer.name << " " << answer.devices;
    EXPECT_TRUE(placement.exact);
  }
  if (!read)
    GTEST_SKIP() << "PDC_PROFILES names no folder with piper/gnmt.json or piper/bert32a100.json";
}
