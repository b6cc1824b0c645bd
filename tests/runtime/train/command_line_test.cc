#include "runtime/train/command_line.h"

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "runtime/train/data/npy.h"
#include "tests/runtime/train/fake_session.h"
#include "tests/runtime/train/test_files.h"

namespace pdc::train {
namespace {

using nlohmann::json;
using program::BufferKind;
using program::Mode;
using testing::HasSubstr;
using testing::Not;

struct Outcome {
  std::vector<int> codes;  // of the ranks
  std::string out;         // of rank 0
  std::string err;         // of all ranks
};

std::string Contents(std::FILE* file) {
  std::string text(std::ftell(file), '\0');
  std::rewind(file);
  text.resize(std::fread(text.data(), 1, text.size(), file));
  return text;
}

// Runs a command on `ranks` threads as ranks.
Outcome RunCommand(const std::string& image, int ranks, std::vector<std::string> arguments,
                   const FakeSession::RunFunction& run = RunTokenModel) {
  arguments.insert(arguments.begin(), "/bin/model");
  std::vector<const char*> argv;
  for (const std::string& argument : arguments) argv.push_back(argument.c_str());
  std::vector<uint64_t> aligned((image.size() + 7) / 8);
  std::memcpy(aligned.data(), image.data(), image.size());
  MailHub hub;
  Outcome outcome;
  outcome.codes.resize(ranks);
  std::FILE* err = std::tmpfile();
  std::FILE* out = std::tmpfile();
  OnRanks(ranks, [&](int rank) {
    std::FILE* silent = std::tmpfile();
    Environment environment;
    environment.executable = program::GetExecutable(aligned.data());
    environment.report = R"({"predicted": {"step_time": 0.25, "peak_memory": [1, 2]}})";
    environment.connect = [&](const RuntimeOptions&) -> absl::StatusOr<std::unique_ptr<comm::Communicator>> {
      return std::make_unique<MailCommunicator>(hub, rank, ranks);
    };
    environment.open = [&](comm::Communicator& communicator,
                           const RuntimeOptions&) -> absl::StatusOr<std::unique_ptr<exec::Session>> {
      return std::make_unique<FakeSession>(image, communicator, run);
    };
    environment.out = rank == 0 ? out : silent;
    environment.err = err;
    environment.speaks = rank == 0;
    outcome.codes[rank] = RunCommandLine(static_cast<int>(argv.size()), argv.data(), environment);
    std::fclose(silent);
  });
  outcome.out = Contents(out);
  outcome.err = Contents(err);
  std::fclose(out);
  std::fclose(err);
  return outcome;
}

std::string TextFile(const std::string& folder, int bytes = 400) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>('a' + (i * i + i / 7) % 26);
  return WriteFile(folder + "/text.txt", text);
}

std::vector<double> Losses(const std::string& log) {
  std::istringstream lines(ReadFile(log));
  std::vector<double> losses;
  std::string line;
  while (std::getline(lines, line)) {
    const json record = json::parse(line);
    EXPECT_EQ(record["step"], static_cast<int>(losses.size()) + 1);
    losses.push_back(record["loss"]);
  }
  return losses;
}

// --- training

TEST(Train, LowersTheLossAndLogsOneObjectAStep) {
  const std::string folder = TestFolder();
  const Outcome outcome = RunCommand(TokenModelImage(1, 4, 8), 1,
                                     {"train", "--data=" + TextFile(folder), "--steps=12", "--lr=0.3",
                                      "--eval-every=4", "--log=" + folder + "/log"});
  EXPECT_EQ(outcome.codes[0], 0) << outcome.err;
  const std::vector<double> losses = Losses(folder + "/log");
  ASSERT_EQ(losses.size(), 12u);
  EXPECT_LT(losses.back(), losses.front());
  const json last = json::parse(ReadFile(folder + "/log").substr(ReadFile(folder + "/log").rfind("{")));
  for (const char* key : {"step", "loss", "step_time", "tokens_per_second", "lr", "validation_loss"}) {
    EXPECT_TRUE(last.contains(key)) << key;
  }
  EXPECT_THAT(outcome.out, HasSubstr("step 12/12  loss "));
}

TEST(Train, GivesTheSameLossesOnAnyNumberOfRanks) {
  const std::string folder = TestFolder();
  const std::string data = TextFile(folder);
  std::vector<double> expected;
  for (int ranks : {1, 2, 3}) {
    const std::string log = folder + "/log" + std::to_string(ranks);
    const Outcome outcome = RunCommand(TokenModelImage(ranks, 4, 8), ranks,
                                       {"train", "--data=" + data, "--steps=6", "--lr=0.3", "--log=" + log});
    EXPECT_EQ(outcome.codes, std::vector<int>(ranks, 0)) << outcome.err;
    if (expected.empty()) expected = Losses(log);
    const std::vector<double> losses = Losses(log);
    ASSERT_EQ(losses.size(), expected.size());
    for (size_t i = 0; i < losses.size(); ++i) EXPECT_NEAR(losses[i], expected[i], 1e-6 * expected[i]);
  }
}

TEST(Train, ResumedContinuesBitForBit) {
  const std::string folder = TestFolder();
  const std::vector<std::string> common = {
      "train",   "--data=" + TextFile(folder), "--lr=0.3", "--lr-schedule=step", "--lr-step-every=5",
      "--seed=7"};
  const auto run = [&](std::vector<std::string> more) {
    std::vector<std::string> arguments = common;
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome outcome = RunCommand(TokenModelImage(2, 4, 8), 2, arguments);
    EXPECT_EQ(outcome.codes, std::vector<int>(2, 0)) << outcome.err;
  };
  run({"--steps=9", "--log=" + folder + "/whole", "--checkpoint=" + folder + "/a"});
  run({"--steps=4", "--log=" + folder + "/parts", "--checkpoint=" + folder + "/b"});
  run({"--steps=9", "--log=" + folder + "/parts", "--checkpoint=" + folder + "/b", "--resume"});
  EXPECT_EQ(Losses(folder + "/whole"), Losses(folder + "/parts"));
  for (const char* name : {"model.safetensors", "optimizer.safetensors", "state.json"}) {
    EXPECT_EQ(ReadFile(folder + "/a/step-00000009/" + name), ReadFile(folder + "/b/step-00000009/" + name))
        << name;
  }
}

TEST(Train, FinishesTheStepAndSavesWhenASignalComes) {
  const std::string folder = TestFolder();
  std::atomic<bool> raised = false;
  const auto run = [&](FakeSession& session, Mode mode, int64_t step) {
    if (step == 3 && !raised.exchange(true)) std::raise(SIGTERM);
    return RunTokenModel(session, mode, step);
  };
  const Outcome outcome = RunCommand(
      TokenModelImage(1, 4, 8), 1,
      {"train", "--data=" + TextFile(folder), "--steps=1000", "--checkpoint=" + folder + "/c"}, run);
  EXPECT_EQ(outcome.codes[0], 128 + SIGTERM);
  EXPECT_EQ(ReadFile(folder + "/c/latest"), "step-00000003\n");
  EXPECT_THAT(outcome.out, HasSubstr("stopped by signal 15 after step 3; continue with --resume"));
}

TEST(Train, WritesOneTraceOfAllRanks) {
  const std::string folder = TestFolder();
  const Outcome outcome = RunCommand(TokenModelImage(2, 4, 8), 2,
                                     {"train", "--data=" + TextFile(folder), "--steps=5", "--trace-steps=3",
                                      "--trace=" + folder + "/trace.json"});
  ASSERT_EQ(outcome.codes, std::vector<int>(2, 0)) << outcome.err;
  const json trace = json::parse(ReadFile(folder + "/trace.json"));
  int events[2] = {0, 0};
  for (const json& event : trace["traceEvents"]) {
    if (event["ph"] != "X") continue;
    EXPECT_EQ(event["name"], "all of it");
    ++events[event["pid"].get<int>()];
  }
  EXPECT_EQ(events[0], 3);
  EXPECT_EQ(events[1], 3);
}

TEST(Train, StartsFromTheParametersOfAFile) {
  const std::string folder = TestFolder();
  const std::string data = TextFile(folder);
  RunCommand(TokenModelImage(1, 4, 8), 1,
             {"train", "--data=" + data, "--steps=8", "--lr=0.3", "--checkpoint=" + folder + "/c"});
  const Outcome outcome = RunCommand(TokenModelImage(1, 4, 8), 1,
                                     {"train", "--data=" + data, "--steps=1", "--log=" + folder + "/log",
                                      "--init-from=" + folder + "/c/step-00000008/model.safetensors"});
  EXPECT_EQ(outcome.codes[0], 0) << outcome.err;
  const Outcome anew = RunCommand(TokenModelImage(1, 4, 8), 1,
                                  {"train", "--data=" + data, "--steps=1", "--log=" + folder + "/anew"});
  EXPECT_LT(Losses(folder + "/log")[0], Losses(folder + "/anew")[0]);
}

// --- errors of training

TEST(TrainRefuses, AnotherNumberOfRanks) {
  const Outcome outcome = RunCommand(TokenModelImage(4, 4, 8), 2, {"train", "--data=x", "--steps=1"});
  EXPECT_EQ(outcome.codes, (std::vector<int>{1, 1}));
  EXPECT_EQ(outcome.err, "model: compiled for 4 ranks, started on 2: run mpiexec -n 4 /bin/model ...\n");
}

TEST(TrainRefuses, MissingDataWithOneLineForAllRanks) {
  const Outcome outcome =
      RunCommand(TokenModelImage(2, 4, 8), 2, {"train", "--data=/nonexistent/x", "--steps=1"});
  EXPECT_EQ(outcome.codes, (std::vector<int>{1, 1}));
  EXPECT_EQ(outcome.err, "model: cannot open '/nonexistent/x': No such file or directory\n");
}

TEST(TrainRefuses, AFolderWithCheckpointsOfAnotherRun) {
  const std::string folder = TestFolder();
  const std::vector<std::string> arguments = {"train", "--data=" + TextFile(folder), "--steps=1",
                                              "--checkpoint=" + folder + "/c"};
  EXPECT_EQ(RunCommand(TokenModelImage(1, 4, 8), 1, arguments).codes[0], 0);
  const Outcome outcome = RunCommand(TokenModelImage(1, 4, 8), 1, arguments);
  EXPECT_EQ(outcome.codes[0], 1);
  EXPECT_THAT(outcome.err, HasSubstr("holds checkpoints of another run; use --resume"));
}

TEST(TrainRefuses, ADamagedCheckpointBeforeAStepRuns) {
  const std::string folder = TestFolder();
  const std::string data = TextFile(folder);
  RunCommand(TokenModelImage(1, 4, 8), 1,
             {"train", "--data=" + data, "--steps=2", "--checkpoint=" + folder + "/c"});
  const std::string file = folder + "/c/step-00000002/model.safetensors";
  std::string contents = ReadFile(file);
  contents.back() = static_cast<char>(contents.back() ^ 1);
  WriteFile(file, contents);
  const Outcome outcome =
      RunCommand(TokenModelImage(1, 4, 8), 1,
                 {"train", "--data=" + data, "--steps=4", "--checkpoint=" + folder + "/c", "--resume"},
                 [](FakeSession&, Mode, int64_t) { return absl::InternalError("a step ran"); });
  EXPECT_EQ(outcome.codes[0], 1);
  EXPECT_THAT(outcome.err, HasSubstr("checkpoint file '" + file + "' is damaged"));
}

TEST(TrainRefuses, ToResumeAnotherRun) {
  const std::string folder = TestFolder();
  const std::string data = TextFile(folder);
  RunCommand(TokenModelImage(1, 4, 8), 1,
             {"train", "--data=" + data, "--steps=2", "--checkpoint=" + folder + "/c"});
  const auto resume = [&](const std::string& image, const std::string& more) {
    return RunCommand(
               image, 1,
               {"train", "--data=" + data, "--steps=4", "--checkpoint=" + folder + "/c", "--resume", more})
        .err;
  };
  EXPECT_THAT(resume(TokenModelImage(1, 4, 8), "--seed=9"), HasSubstr("its seed is 0, --seed is 9"));
  EXPECT_THAT(resume(TokenModelImage(1, 4, 8, "other"), "--keep=1"),
              HasSubstr("it is of model 'token_model'"));
  EXPECT_THAT(resume(TokenModelImage(1, 4, 8), "--validation-fraction=0.5"),
              HasSubstr("its data had 352 samples"));
}

TEST(TrainFails, WithRankAndStepWhenOneRankFails) {
  const std::string folder = TestFolder();
  const Outcome outcome =
      RunCommand(TokenModelImage(2, 4, 8), 2, {"train", "--data=" + TextFile(folder), "--steps=9"},
                 [](FakeSession& session, Mode mode, int64_t step) {
                   if (session.communicator().rank() == 1 && step == 3) {
                     return absl::InternalError("the kernel failed");
                   }
                   return RunTokenModel(session, mode, step);
                 });
  EXPECT_EQ(outcome.codes, (std::vector<int>{1, 1}));
  EXPECT_THAT(outcome.err, HasSubstr("model: rank 1, step 3: the kernel failed\n"));
}

TEST(TrainFails, WhenTheLossIsNoNumberAndKeepsTheLastCheckpoint) {
  const std::string folder = TestFolder();
  const Outcome outcome = RunCommand(
      TokenModelImage(1, 4, 8), 1,
      {"train", "--data=" + TextFile(folder), "--steps=9", "--checkpoint=" + folder + "/c", "--every=2"},
      [](FakeSession& session, Mode mode, int64_t step) {
        const absl::Status status = RunTokenModel(session, mode, step);
        if (step == 3) *session.data<float>(mode, BufferKind::kOutput, "loss") = NAN;
        return status;
      });
  EXPECT_EQ(outcome.codes[0], 1);
  EXPECT_THAT(outcome.err, HasSubstr("step 3: the loss is nan"));
  EXPECT_EQ(ReadFile(folder + "/c/latest"), "step-00000002\n");
}

// --- other commands

TEST(Eval, AveragesEveryLabelOnceWhateverTheBatch) {
  const std::string folder = TestFolder();
  const std::string data = TextFile(folder, 105);  // 13 windows of 8
  RunCommand(TokenModelImage(1, 4, 8), 1,
             {"train", "--data=" + data, "--steps=3", "--lr=0.1", "--checkpoint=" + folder + "/c"});
  std::vector<json> results;
  for (const auto& [ranks, batch] : {std::pair(1, 1), std::pair(1, 4), std::pair(3, 5), std::pair(2, 13)}) {
    const Outcome outcome =
        RunCommand(TokenModelImage(ranks, batch, 8), ranks,
                   {"eval", "--data=" + data, "--checkpoint=" + folder + "/c", "--json=" + folder + "/j"});
    EXPECT_EQ(outcome.codes, std::vector<int>(ranks, 0)) << outcome.err;
    results.push_back(json::parse(ReadFile(folder + "/j")));
    EXPECT_EQ(results.back()["samples"], 13);
    EXPECT_NEAR(results.back()["loss"].get<double>(), results[0]["loss"].get<double>(), 1e-6);
    EXPECT_NEAR(results.back()["close"].get<double>(), results[0]["close"].get<double>(), 1e-6);
  }
}

TEST(EvalRefuses, AFolderWithoutCheckpoints) {
  const std::string folder = TestFolder();
  const Outcome outcome = RunCommand(TokenModelImage(1, 4, 8), 1,
                                     {"eval", "--data=" + TextFile(folder), "--checkpoint=" + folder});
  EXPECT_EQ(outcome.codes[0], 1);
  EXPECT_EQ(outcome.err, "model: there is no checkpoint in '" + folder + "'\n");
}

TEST(Infer, WritesTheOutputsOfAllSamplesInOrder) {
  const std::string folder = TestFolder();
  std::vector<float> x;
  for (int i = 0; i < 14; ++i) x.push_back(static_cast<float>(i));
  WriteFile(folder + "/x.npy", NpyFile("<f4", "(7, 2)", BytesOf(x)));
  const Outcome outcome =
      RunCommand(AffineModelImage(2, 3), 2,
                 {"infer", "--input=" + folder + "/x.npy", "--output=" + folder + "/y.npy"}, RunAffineModel);
  ASSERT_EQ(outcome.codes, std::vector<int>(2, 0)) << outcome.err;
  std::vector<float> y;
  for (int i = 0; i < 7; ++i) y.push_back(x[2 * i] * 2 + x[2 * i + 1]);
  EXPECT_EQ(ReadFile(folder + "/y.npy"), NpyFile("<f4", "(7, 1)", BytesOf(y)));
}

TEST(Infer, NeedsAProgramForIt) {
  const std::string folder = TestFolder();
  const Outcome outcome =
      RunCommand(TokenModelImage(1, 4, 8), 1,
                 {"infer", "--input=" + folder + "/x.npy", "--output=" + folder + "/y.npy"});
  EXPECT_EQ(outcome.codes[0], 1);
  EXPECT_THAT(outcome.err, HasSubstr("compiled without the program 'infer'"));
}

TEST(Bench, WritesTheKeysOfTheInterface) {
  const std::string folder = TestFolder();
  const Outcome outcome = RunCommand(TokenModelImage(2, 4, 8), 2,
                                     {"bench", "--steps=5", "--warmup=1", "--json=" + folder + "/j"});
  ASSERT_EQ(outcome.codes, std::vector<int>(2, 0)) << outcome.err;
  const json result = json::parse(ReadFile(folder + "/j"));
  EXPECT_EQ(result["step_times"].size(), 5u);
  EXPECT_GT(result["step_time"].get<double>(), 0);
  EXPECT_GT(result["samples_per_second"].get<double>(), 0);
  EXPECT_EQ(result["peak_memory"].size(), 2u);
  EXPECT_EQ(result["predicted_step_time"], 0.25);
  EXPECT_EQ(result["predicted_peak_memory"], json({1, 2}));
  EXPECT_GT(result["processor_time"].get<double>(), 0);
  EXPECT_GE(result["flops_per_step"].get<double>(), 0);
  EXPECT_THAT(outcome.out, HasSubstr("median step"));
}

TEST(Bench, TracesTheMeasuredSteps) {
  const std::string folder = TestFolder();
  const Outcome outcome = RunCommand(
      TokenModelImage(2, 4, 8), 2, {"bench", "--steps=2", "--warmup=3", "--trace=" + folder + "/trace.json"});
  ASSERT_EQ(outcome.codes, std::vector<int>(2, 0)) << outcome.err;
  std::vector<int> steps;
  const json trace = json::parse(ReadFile(folder + "/trace.json"));
  for (const json& event : trace["traceEvents"])
    if (event["ph"] == "X") steps.push_back(event["args"]["step"]);
  EXPECT_EQ(steps, (std::vector<int>{4, 5, 4, 5}));
}

TEST(Verify, FindsThatSplitGradientsEqualTheWholeOnes) {
  const Outcome outcome = RunCommand(TokenModelImage(3, 4, 8), 3, {"verify", "--steps=3"});
  EXPECT_EQ(outcome.codes, std::vector<int>(3, 0)) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("tolerance 1.0e-05: equal"));
}

TEST(Verify, FailsAndNamesTheGradientThatDiffers) {
  const Outcome outcome = RunCommand(TokenModelImage(2, 4, 8), 2, {"verify", "--steps=2"},
                                     [](FakeSession& session, Mode mode, int64_t step) {
                                       const absl::Status status = RunTokenModel(session, mode, step);
                                       if (mode == Mode::kGradient && step == 2) {
                                         session.data<float>(mode, BufferKind::kOutput, "w")[3] += 0.01f;
                                       }
                                       return status;
                                     });
  EXPECT_EQ(outcome.codes, (std::vector<int>{1, 1}));
  EXPECT_THAT(outcome.out, HasSubstr("DIFFERENT"));
  EXPECT_THAT(outcome.err, HasSubstr("step 2: 'w' differs from the single-device step by"));
}

// --- the command line

TEST(CommandLine, HelpAndVersionNeedNoRanks) {
  const Outcome help = RunCommand(TokenModelImage(2, 4, 8), 1, {"--help"});
  EXPECT_EQ(help.codes[0], 0);
  EXPECT_THAT(help.out, HasSubstr("mpiexec -n 2 /bin/model"));
  for (const char* command : {"train", "eval", "bench", "verify"}) EXPECT_THAT(help.out, HasSubstr(command));
  EXPECT_THAT(RunCommand(TokenModelImage(2, 4, 8), 1, {"train", "--help"}).out, HasSubstr("--checkpoint"));
  EXPECT_EQ(RunCommand(TokenModelImage(2, 4, 8), 1, {"--version"}).out,
            "token_model, compiled by pdc 1.0 for 2 ranks (f32)\n");
}

TEST(CommandLine, ListsTheCommandsThatTheExecutableWasCompiledFor) {
  EXPECT_THAT(RunCommand(TokenModelImage(2, 4, 8), 1, {"--help"}).out, Not(HasSubstr("infer")));
  const Outcome inference = RunCommand(AffineModelImage(1, 4), 1, {"--help"});
  EXPECT_THAT(inference.out, HasSubstr("infer"));
  EXPECT_THAT(inference.out, HasSubstr("bench"));
  for (const char* command : {"train", "eval", "verify"}) EXPECT_THAT(inference.out, Not(HasSubstr(std::string("  ") + command)));
  EXPECT_THAT(RunCommand(AffineModelImage(1, 4), 1, {"fly"}).err, HasSubstr("the commands are infer, bench\n"));
  // Who calls another one is told why there is none.
  EXPECT_THAT(RunCommand(AffineModelImage(1, 4), 1, {"train", "--data=x", "--steps=1"}).err,
              HasSubstr("compiled without the program 'train'"));
}

TEST(CommandLine, MistakesGiveOneLineFromOneRank) {
  const auto error = [](std::vector<std::string> arguments) {
    const Outcome outcome = RunCommand(TokenModelImage(2, 4, 8), 2, std::move(arguments));
    EXPECT_EQ(outcome.codes, (std::vector<int>{2, 2}));
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    return outcome.err;
  };
  EXPECT_THAT(error({}), HasSubstr("A subcommand is required"));
  EXPECT_THAT(error({"fly"}), HasSubstr("there is no command 'fly'; the commands are train, eval, bench, verify\n"));
  EXPECT_THAT(error({"train", "--steps=1"}), HasSubstr("--data is required"));
  EXPECT_THAT(error({"train", "--steps=1"}), HasSubstr(" train --help\n"));
  EXPECT_THAT(error({"train", "--data=x"}), HasSubstr("--steps is required"));
  EXPECT_THAT(error({"train", "--data=x", "--steps=0"}), HasSubstr("--steps"));
  EXPECT_THAT(error({"train", "--data=x", "--steps=2", "--lr=fast"}), HasSubstr("--lr"));
  EXPECT_THAT(error({"train", "--data=x", "--steps=2", "--unknown=3"}), HasSubstr("--unknown=3"));
  EXPECT_THAT(error({"train", "--data=x", "--steps=2", "--lr-schedule=zigzag"}), HasSubstr("zigzag"));
  EXPECT_THAT(error({"train", "--data=x", "--steps=2", "--resume"}),
              HasSubstr("--resume needs --checkpoint=DIR"));
  EXPECT_THAT(error({"train", "--data=x", "--steps=2", "--every=1"}),
              HasSubstr("--every needs --checkpoint=DIR"));
  EXPECT_THAT(error({"train", "--data=x", "--steps=2", "--warmup-steps=2"}),
              HasSubstr("must be below --steps=2"));
  EXPECT_THAT(error({"eval", "--data=x"}), HasSubstr("eval needs --checkpoint=DIR or --init-from=FILE"));
  EXPECT_THAT(error({"infer", "--input=x.npy"}), HasSubstr("--output is required"));
}

TEST(CommandLine, AFileThatCannotBeWrittenIsRefusedBeforeTheRun) {
  const std::string folder = TestFolder();
  const Outcome outcome =
      RunCommand(TokenModelImage(1, 4, 8), 1,
                 {"train", "--data=" + TextFile(folder), "--steps=1", "--log=/nonexistent/log"});
  EXPECT_EQ(outcome.codes[0], 1);
  EXPECT_THAT(outcome.err, HasSubstr("cannot write into the folder of '/nonexistent/log'"));
}

}  // namespace
}  // namespace pdc::train
