// The launcher as a process: with a payload, with a damaged one, with none.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "tests/runtime/testing/program_builder.h"

namespace pdc::launcher {
namespace {

struct Outcome {
  int exit_code;
  std::string output;  // standard output and error
};

Outcome Execute(const std::string& command) {
  std::FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  Outcome outcome{-1, ""};
  char buffer[4096];
  for (size_t bytes; (bytes = std::fread(buffer, 1, sizeof(buffer), pipe)) > 0;)
    outcome.output.append(buffer, bytes);
  int status = pclose(pipe);
  if (WIFEXITED(status)) outcome.exit_code = WEXITSTATUS(status);
  return outcome;
}

constexpr char kLauncher[] = "runtime/launcher/launcher";

// A copy of the launcher with `payload` in its section ".pdc".
std::string MakeProgram(const std::string& payload) {
  std::string folder = std::getenv("TEST_TMPDIR");
  std::ofstream(folder + "/payload", std::ios::binary) << payload;
  std::string path = folder + "/model";
  Outcome outcome =
      Execute("rm -f " + path + " && /usr/lib/llvm-22/bin/llvm-objcopy --add-section=.pdc=" + folder +
              "/payload " + kLauncher + " " + path + " && chmod +x " + path);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  return path;
}

std::string Payload() {
  program::ExecutableT executable = pdc::testing::MakeExecutable({pdc::testing::LinearGradient(2)}, 2);
  executable.compiler_version = "1.2.3";
  return pdc::testing::MakePayload(executable);
}

TEST(Launcher, WithAPayloadSaysWhatItIs) {
  Outcome outcome = Execute(MakeProgram(Payload()) + " --version");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  EXPECT_NE(outcome.output.find("tiny, compiled by pdc 1.2.3"), std::string::npos) << outcome.output;
}

TEST(Launcher, WithAFlippedBitRefusesToRun) {
  std::string payload = Payload();
  payload[payload.size() / 2] ^= 16;
  Outcome outcome = Execute(MakeProgram(payload) + " --version");
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_NE(outcome.output.find("the executable's payload is damaged"), std::string::npos) << outcome.output;
}

TEST(Launcher, WithoutAPayloadSaysThatAModelMustBeCompiled) {
  Outcome outcome = Execute(kLauncher);
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_NE(outcome.output.find("compile a model with pdc"), std::string::npos) << outcome.output;
}

TEST(Launcher, LinksNothingDynamicallyThatIsPartOfThisProjectOrItsCompiler) {
  Outcome outcome = Execute(std::string("/usr/lib/llvm-22/bin/llvm-readelf --needed-libs ") + kLauncher);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  for (const char* library : {"libLLVM", "libMLIR", "libabsl", "libflatbuffers"}) {
    EXPECT_EQ(outcome.output.find(library), std::string::npos) << outcome.output;
  }
}

}  // namespace
}  // namespace pdc::launcher
