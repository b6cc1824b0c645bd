#include "runtime/program/container.h"

#include <gtest/gtest.h>

#include <random>

#include "runtime/program/dump.h"
#include "runtime/program/reader.h"
#include "tests/runtime/testing/program_builder.h"

namespace pdc::program {
namespace {

std::string Example() {
  std::string program = WriteExecutable(testing::MakeExecutable({testing::LinearGradient(2)}, 2));
  std::string kernels = "not quite an object file";
  std::string report(1000, 'r');
  return WritePayload(
      {{kProgramSection, program}, {kKernelsSection, kernels}, {kReportSection, report}, {"empty", ""}});
}

TEST(Payload, ReadsWhatWasWritten) {
  std::string payload = Example();
  auto sections = ReadPayload(payload);
  ASSERT_TRUE(sections.ok()) << sections.status();
  EXPECT_EQ(sections->size(), 4u);
  EXPECT_EQ(sections->at(kKernelsSection), "not quite an object file");
  EXPECT_EQ(sections->at("empty"), "");
  for (const auto& [name, contents] : *sections)
    EXPECT_EQ((contents.data() - payload.data()) % 64, 0) << name;
}

TEST(Payload, IsTheSameBytesForTheSameSections) {
  EXPECT_EQ(Example(), Example());
  EXPECT_EQ(PayloadHash(Example()), PayloadHash(Example()));
  EXPECT_EQ(PayloadHash(Example()).size(), 32u);
}

TEST(Payload, RefusesEveryFlippedBitOfTwoThousand) {
  const std::string payload = Example();
  std::mt19937_64 random(11);
  for (int i = 0; i < 2000; ++i) {
    std::string damaged = payload;
    size_t bit = random() % (payload.size() * 8);
    damaged[bit / 8] ^= static_cast<char>(1 << (bit % 8));
    absl::Status status = ReadPayload(damaged).status();
    ASSERT_EQ(status.code(), absl::StatusCode::kDataLoss) << "bit " << bit << ": " << status;
    ASSERT_NE(PayloadHash(damaged), PayloadHash(payload));
  }
}

TEST(Payload, RefusesEveryTruncationAndExtension) {
  const std::string payload = Example();
  for (size_t bytes = 0; bytes < payload.size(); bytes += bytes < 600 ? 1 : 37) {
    ASSERT_EQ(ReadPayload(std::string_view(payload).substr(0, bytes)).status().code(),
              absl::StatusCode::kDataLoss);
  }
  EXPECT_EQ(ReadPayload(payload + std::string(64, '\0')).status().code(), absl::StatusCode::kDataLoss);
}

TEST(Payload, NamesTheDamagedSection) {
  std::string payload = Example();
  payload[payload.find("not quite")] = 'N';
  absl::Status status = ReadPayload(payload).status();
  EXPECT_NE(status.message().find("section 'kernels' does not match its hash"), absl::string_view::npos)
      << status;
}

TEST(Payload, OfAnotherVersionSaysWhichVersionIsRead) {
  std::string payload = Example();
  payload[8] = static_cast<char>(kFormatVersion + 1);
  absl::Status status = ReadPayload(payload).status();
  EXPECT_NE(status.message().find("format version 3, this runtime reads version 2"), absl::string_view::npos)
      << status;
}

// What hashes do not protect (a program section from elsewhere) is still never read out of bounds: these runs
// are what the address sanitizer looks at.
TEST(Reader, SurvivesMutatedProgramSections) {
  const std::string section = WriteExecutable(testing::MakeExecutable({testing::LinearGradient(2)}, 2));
  std::mt19937_64 random(5);
  int refused = 0;
  for (int i = 0; i < 2000; ++i) {
    std::string damaged = section;
    for (int flips = 1 + static_cast<int>(random() % 3); flips-- > 0;) {
      damaged[random() % damaged.size()] ^= static_cast<char>(1 << random() % 8);
    }
    auto executable = ReadExecutable(damaged);
    if (executable.ok()) {
      EXPECT_FALSE(DumpExecutable(**executable).empty());
    } else {
      EXPECT_EQ(executable.status().code(), absl::StatusCode::kDataLoss);
      ++refused;
    }
  }
  EXPECT_GT(refused, 100);
}

TEST(Reader, RefusesTruncatedProgramSections) {
  const std::string section = WriteExecutable(testing::MakeExecutable({testing::LinearGradient(2)}, 2));
  for (size_t bytes = 0; bytes + 8 < section.size(); bytes += 8) {
    std::string cut = section.substr(0, bytes);
    EXPECT_EQ(ReadExecutable(cut).status().code(), absl::StatusCode::kDataLoss) << bytes << " bytes";
  }
}

TEST(Reader, RefusesUnknownEnumerators) {
  ExecutableT executable = testing::MakeExecutable({testing::LinearGradient(1)}, 1);
  executable.programs[0]->instructions[0]->opcode = static_cast<Opcode>(100);
  EXPECT_EQ(ReadExecutable(WriteExecutable(executable)).status().code(), absl::StatusCode::kDataLoss);
}

TEST(Reader, FindsTheProgramOfARankAndMode) {
  std::string section = WriteExecutable(
      testing::MakeExecutable({testing::LinearGradient(2), testing::LinearGradient(2, Mode::kTrain)}, 2));
  auto executable = ReadExecutable(section);
  ASSERT_TRUE(executable.ok()) << executable.status();
  EXPECT_EQ(FindProgram(**executable, 1, Mode::kTrain), (*executable)->programs()->Get(1));
  EXPECT_EQ(FindProgram(**executable, 1, Mode::kInfer), nullptr);
  EXPECT_EQ(FindProgram(**executable, 2, Mode::kTrain), nullptr);
}

TEST(Dump, ShowsBuffersGroupsAndInstructions) {
  std::string section = WriteExecutable(testing::MakeExecutable({testing::LinearGradient(2)}, 2));
  auto executable = ReadExecutable(section);
  ASSERT_TRUE(executable.ok()) << executable.status();
  EXPECT_EQ(DumpExecutable(**executable),
            R"(executable tiny: 2 ranks, 1 threads, precision , optimizer 
rank 0: programs [0]
rank 1: programs [0]
0: program gradient private 256 shared 64 bytes, 3 samples from 0 on of 3
  group 0: ranks [0,1]
  buffer 0: private[0, +32) 4x2xf32 parameter w
  buffer 1: private[64, +48) 3x4xf32 input x
  buffer 2: private[128, +24) 3x2xf32 activation y
  buffer 3: shared[0, +32) 4x2xf32 gradient g
  buffer 4: private[192, +32) 4x2xf32 output w
  0: library matmul, read %1 3x4xf32, read %0 4x2xf32, write %2 3x2xf32  // x w
  1: library matmul, read %1 4x3xf32 strides [1,4], read %2 3x2xf32, write %3 4x2xf32  // x^T y
  2: start all_reduce group 0 sum, readwrite %3 4x2xf32  // all_reduce of buffer 3
  3: done 2  // end of 2
  4: copy, read %3 4x2xf32, write %4 4x2xf32  // gradient of w
)");
}

}  // namespace
}  // namespace pdc::program
