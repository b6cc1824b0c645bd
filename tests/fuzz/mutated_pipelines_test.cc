// Mutations of pipelines made by hand, and of the payloads in the folder PDC_PAYLOADS.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/fuzz/judge.h"
#include "tests/fuzz/pipelines.h"

namespace pdc::fuzz {
namespace {

TEST(MutatedPipelines, OfGPipe) {
  ExpectMutationsAreRefusedOrRun({"gpipe", MakePipeline(schedule::gpipe(4, 6), true), ""}, 300);
}

TEST(MutatedPipelines, OfOneForwardOneBackward) {
  ExpectMutationsAreRefusedOrRun({"1f1b", MakePipeline(schedule::oneForwardOneBackward(3, 5), false), ""}, 300);
}

TEST(MutatedPipelines, OfPayloads) {
  const char* folder = std::getenv("PDC_PAYLOADS");
  if (folder == nullptr) GTEST_SKIP() << "PDC_PAYLOADS does not name a folder that mutated_programs_test has filled";
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  ASSERT_FALSE(files.empty());
  for (const std::filesystem::path& path : files) {
    std::stringstream payload;
    payload << std::ifstream(path, std::ios::binary).rdbuf();
    auto subject = ReadSubject(path.filename().string(), payload.str());
    ASSERT_TRUE(subject.ok()) << path << ": " << subject.status();
    ExpectMutationsAreRefusedOrRun(*subject, 150);
  }
}

}  // namespace
}  // namespace pdc::fuzz

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  pdc::fuzz::TellWhatCrashed();
  return RUN_ALL_TESTS();
}
