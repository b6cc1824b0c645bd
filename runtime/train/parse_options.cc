#include "runtime/train/parse_options.h"

#include <algorithm>
#include <iterator>
#include <map>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/base/file_uses.h"
#include "runtime/base/number_checks.h"
#include "runtime/program/view.h"

namespace pdc::train {
namespace {

using base::Between;
using base::Count;
using base::Positive;

constexpr int64_t kBenchSteps = 20;
constexpr double kVerifyTimeoutSeconds = 600;  // the reference step runs on one rank while the others wait

std::string Text(const flatbuffers::String* text) { return std::string(program::Text(text)); }

const std::map<std::string, DataFormat> kFormats = {
    {"auto", DataFormat::kAuto}, {"text", DataFormat::kText}, {"tokens", DataFormat::kTokens},
    {"npy", DataFormat::kNpy},   {"idx", DataFormat::kIdx},   {"cifar10", DataFormat::kCifar10}};
const std::map<std::string, Split> kSplits = {
    {"all", Split::kAll}, {"train", Split::kTrain}, {"validation", Split::kValidation}};
const std::map<std::string, ScheduleKind> kSchedules = {{"constant", ScheduleKind::kConstant},
                                                        {"cosine", ScheduleKind::kCosine},
                                                        {"linear", ScheduleKind::kLinear},
                                                        {"step", ScheduleKind::kStep}};

// "one of a, b, c".
template <typename T>
CLI::Validator OneOf(const std::map<std::string, T>& values) {
  std::vector<std::string> names;
  for (const auto& [name, value] : values) names.push_back(name);
  return CLI::IsMember(names);
}

// Options as text until they are parsed.
struct Texts {
  std::string format = "auto", split = "all", schedule = "constant", scaling = "none";
  int64_t checkpoint_step = -1;
  double tolerance = -1;
  bool sequential = false;
};

void AddRuntimeOptions(CLI::App& app, Options& options) {
  app.add_option("--timeout", options.runtime.timeout_seconds,
                 "Seconds to wait for a peer before the job ends")
      ->check(Between(0.001, 1e6))
      ->capture_default_str();
  app.add_option("--threads", options.runtime.threads, "Threads per rank; 0: what the model was compiled for")
      ->check(Between(0, 4096))
      ->capture_default_str();
  app.add_option("--communicator", options.runtime.communicator, "How ranks exchange data")
      ->check(CLI::IsMember({"auto", "mpi", "shared_memory", "hierarchical"}))
      ->capture_default_str();
}

void AddDataOptions(CLI::App& app, Options& options, Texts& texts, bool required) {
  CLI::Option* data = app.add_option("--data", options.data.files,
                                     "Text, uint16 tokens (.bin), x.npy,y.npy, MNIST images,labels (idx) or "
                                     "CIFAR-10 batches (.bin)")
                          ->delimiter(',');
  if (required) data->required();
  app.add_option("--format", texts.format, "Format of --data")->check(OneOf(kFormats))->capture_default_str();
  app.add_option("--mean", options.data.normalization.mean, "Subtracted from the first input, per channel")
      ->delimiter(',')
      ->check(base::FiniteReal());
  app.add_option("--std", options.data.normalization.deviation, "Divides the first input, per channel")
      ->delimiter(',')
      ->check(base::FiniteReal());
  app.add_option("--validation-fraction", options.data.validation_fraction,
                 "Share at the end of text and token files that is kept for validation")
      ->check(Between(0.0, 0.99))
      ->capture_default_str();
}

void AddSeed(CLI::App& app, Options& options) {
  app.add_option("--seed", options.seed, "Seed of initial values, sample order and dropout")
      ->check(base::Unsigned())
      ->capture_default_str();
}

void AddCheckpointOptions(CLI::App& app, Options& options, Texts& texts) {
  app.add_option("--checkpoint", options.checkpoint, "Folder of checkpoints");
  app.add_option("--checkpoint-step", texts.checkpoint_step,
                 "The checkpoint to read; the newest if not given")
      ->check(Count());
  app.add_option("--init-from", options.init_from, "Read parameters from a safetensors file")
      ->check(CLI::ExistingFile);
}

void AddTrain(CLI::App& app, Options& options, Texts& texts) {
  AddDataOptions(app, options, texts, /*required=*/true);
  AddSeed(app, options);
  AddCheckpointOptions(app, options, texts);
  app.add_option("--steps", options.steps, "Steps of the whole run, resumed steps included")
      ->required()
      ->check(Positive());
  app.add_option("--lr", options.schedule.peak, "Learning rate")
      ->check(base::PositiveReal())
      ->capture_default_str();
  app.add_option("--lr-schedule", texts.schedule, "How the rate goes on after warm-up")
      ->check(OneOf(kSchedules))
      ->capture_default_str();
  app.add_option("--warmup-steps", options.schedule.warmup_steps, "Steps in which the rate grows to --lr")
      ->check(Count())
      ->capture_default_str();
  app.add_option("--min-lr", options.schedule.minimum, "Where the schedule ends")
      ->check(base::NonnegativeReal())
      ->capture_default_str();
  app.add_option("--lr-step-every", options.schedule.step_every, "Steps between drops of the step schedule")
      ->check(Positive())
      ->capture_default_str();
  app.add_option("--lr-gamma", options.schedule.gamma, "Factor of a drop")
      ->check(Between(0.0, 1.0))
      ->capture_default_str();
  app.add_option("--lr-scaling", texts.scaling, "linear: times batch / base batch")
      ->check(CLI::IsMember({"none", "linear"}))
      ->capture_default_str();
  app.add_option("--base-batch", options.base_batch, "Batch that --lr is for")
      ->check(Positive())
      ->capture_default_str();
  app.add_option("--every", options.checkpoint_every, "Steps between checkpoints; 0: one at the end")
      ->check(Count())
      ->capture_default_str();
  app.add_option("--keep", options.keep, "Checkpoints that stay")
      ->check(Between(1, 1 << 30))
      ->capture_default_str();
  app.add_flag("--resume", options.resume, "Continue from the newest checkpoint");
  app.add_option("--validation-data", options.data.validation_files, "Data for --eval-every")->delimiter(',');
  app.add_option("--eval-every", options.eval_every, "Steps between validations; 0: none")
      ->check(Count())
      ->capture_default_str();
  app.add_option("--eval-batches", options.eval_batches, "Batches of a validation; 0: all data")
      ->check(Count())
      ->capture_default_str();
  app.add_flag("--sequential", texts.sequential, "Samples in the order of the data, not shuffled");
  app.add_option("--log", options.log, "File for one JSON object a step");
  app.add_option("--trace", options.trace, "File for a Chrome trace of all ranks");
  app.add_option("--trace-steps", options.trace_steps, "Steps that the trace shows")
      ->check(Between(1, 100000))
      ->capture_default_str();
}

void AddEval(CLI::App& app, Options& options, Texts& texts) {
  AddDataOptions(app, options, texts, /*required=*/true);
  AddCheckpointOptions(app, options, texts);
  app.add_option("--split", texts.split, "Part of a text or token file")
      ->check(OneOf(kSplits))
      ->capture_default_str();
  app.add_option("--json", options.json, "File for the result");
}

void AddInfer(CLI::App& app, Options& options, Texts& texts) {
  AddCheckpointOptions(app, options, texts);
  AddSeed(app, options);
  app.add_option("--input", options.inputs, "x.npy, one file for each input")->delimiter(',')->required();
  app.add_option("--output", options.outputs, "y.npy, one file for each output")->delimiter(',')->required();
  app.add_option("--mean", options.data.normalization.mean, "Subtracted from the first input")
      ->delimiter(',')
      ->check(base::FiniteReal());
  app.add_option("--std", options.data.normalization.deviation, "Divides the first input")
      ->delimiter(',')
      ->check(base::FiniteReal());
}

void AddBench(CLI::App& app, Options& options, Texts& texts) {
  AddDataOptions(app, options, texts, /*required=*/false);
  AddSeed(app, options);
  app.add_option("--steps", options.steps, absl::StrCat("Steps to measure; ", kBenchSteps, " if not given"))
      ->check(Positive());
  app.add_option("--warmup", options.warmup, "Steps before, not measured")
      ->check(Count())
      ->capture_default_str();
  app.add_option("--trace", options.trace, "File for a Chrome trace of the measured steps on all ranks");
  app.add_option("--json", options.json, "File for the result");
}

void AddVerify(CLI::App& app, Options& options, Texts& texts) {
  AddDataOptions(app, options, texts, /*required=*/false);
  AddSeed(app, options);
  app.add_option("--steps", options.steps, "Steps to compare; 1 if not given")->check(Positive());
  app.add_option("--lr", options.schedule.peak, "Learning rate of the steps between")
      ->check(base::PositiveReal())
      ->capture_default_str();
  app.add_option("--tolerance", texts.tolerance, "Largest relative difference; 1e-5 for f32, 2e-2 for bf16")
      ->check(base::NonnegativeReal());
  app.add_option("--json", options.json, "File for the result");
}

// Nothing that is read may be written.
std::string CheckFiles(const Options& options) {
  std::vector<base::FileUse> reads = {{"this executable", "/proc/self/exe"},
                                      {"--init-from", options.init_from}};
  for (const std::string& file : options.data.files) reads.push_back({"--data", file});
  for (const std::string& file : options.data.validation_files) reads.push_back({"--validation-data", file});
  for (const std::string& file : options.inputs) reads.push_back({"--input", file});
  std::vector<base::FileUse> writes = {
      {"--log", options.log}, {"--trace", options.trace}, {"--json", options.json}};
  for (const std::string& file : options.outputs) writes.push_back({"--output", file});
  return base::FindOverwrite(reads, writes);
}

// What no single option can check.
std::string CheckTogether(const Options& options) {
  const bool reads_model = options.command == Command::kEval || options.command == Command::kInfer;
  if (options.resume && options.checkpoint.empty()) return "--resume needs --checkpoint=DIR";
  if (options.resume && !options.init_from.empty()) return "--resume and --init-from exclude each other";
  if (options.checkpoint_every > 0 && options.checkpoint.empty()) return "--every needs --checkpoint=DIR";
  if (options.command == Command::kTrain && options.checkpoint_step && !options.resume) {
    return "--checkpoint-step needs --resume";
  }
  if (options.command == Command::kEval && options.checkpoint.empty() && options.init_from.empty()) {
    return "eval needs --checkpoint=DIR or --init-from=FILE";
  }
  if (reads_model && !options.checkpoint.empty() && !options.init_from.empty()) {
    return "--checkpoint and --init-from exclude each other";
  }
  if (options.schedule.warmup_steps > 0 && options.schedule.warmup_steps >= options.steps) {
    return absl::StrCat("--warmup-steps=", options.schedule.warmup_steps,
                        " must be below --steps=", options.steps);
  }
  if (options.schedule.minimum > options.schedule.peak) return "--min-lr must not be above --lr";
  return CheckFiles(options);
}

bool Has(const program::Executable& executable, program::Mode mode) {
  for (uint32_t i = 0; i < program::Size(executable.programs()); ++i) {
    if (executable.programs()->Get(i)->mode() == mode) return true;
  }
  return false;
}

// Whether the executable was compiled with the programs of a command. The others are not listed; who calls one is told what
// the executable lacks.
bool CanRun(const program::Executable& executable, Command command) {
  switch (command) {
    case Command::kTrain:
      return Has(executable, program::Mode::kTrain);
    case Command::kEval:
      return Has(executable, program::Mode::kEvaluate);
    case Command::kInfer:
      return Has(executable, program::Mode::kInfer);
    case Command::kBench:
      return Has(executable, program::Mode::kTrain) || Has(executable, program::Mode::kInfer);
    case Command::kVerify:
      return Has(executable, program::Mode::kTrain) && Has(executable, program::Mode::kGradient);
  }
  return false;
}

std::string FirstLine(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

ParsedCommandLine ParseCommandLine(int argc, const char* const* argv, const program::Executable& executable) {
  ParsedCommandLine parsed;
  Options& options = parsed.options;
  Texts texts;
  const std::string path = argc > 0 ? argv[0] : "";
  const std::string name = path.substr(path.rfind('/') + 1);
  const std::string what =
      absl::StrCat(Text(executable.model()), ", compiled by pdc ", Text(executable.compiler_version()),
                   " for ", executable.ranks(), executable.ranks() == 1 ? " rank" : " ranks", " (",
                   Text(executable.precision()), ")");
  CLI::App app(absl::StrCat(what, "\nRun with: mpiexec -n ", executable.ranks(), " ", path, " COMMAND ..."),
               name);
  app.set_version_flag("--version", what);
  app.require_subcommand(1);
  const std::pair<Command, CLI::App*> commands[] = {
      {Command::kTrain, app.add_subcommand("train", "Train the model")},
      {Command::kEval, app.add_subcommand("eval", "Average loss and metrics over a data set")},
      {Command::kInfer, app.add_subcommand("infer", "Outputs for the samples of .npy files")},
      {Command::kBench, app.add_subcommand("bench", "Time steps; random data if no --data is given")},
      {Command::kVerify,
       app.add_subcommand("verify", "Compare the parallel step with the single-device one")}};
  AddTrain(*commands[0].second, options, texts);
  AddEval(*commands[1].second, options, texts);
  AddInfer(*commands[2].second, options, texts);
  AddBench(*commands[3].second, options, texts);
  AddVerify(*commands[4].second, options, texts);
  std::vector<std::string> listed;
  for (const auto& [command, subcommand] : commands) {
    AddRuntimeOptions(*subcommand, options);
    if (CanRun(executable, command)) {
      listed.push_back(subcommand->get_name());
    } else {
      subcommand->group("");
    }
  }

  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    parsed.message = app.help();
    return parsed;
  } catch (const CLI::CallForVersion&) {
    parsed.message = what + "\n";
    return parsed;
  } catch (const CLI::ParseError& error) {
    parsed.exit_code = 2;
    const std::string first = argc > 1 ? argv[1] : "-";
    const bool known = std::any_of(std::begin(commands), std::end(commands),
                                   [&](const auto& command) { return command.second->get_name() == first; });
    if (!known && first[0] != '-') {
      parsed.message = absl::StrCat("there is no command '", first,
                                    "'; the commands are ", absl::StrJoin(listed, ", "));
      return parsed;
    }
    parsed.message = absl::StrCat(FirstLine(error.what()), "; see ", name, known ? " " + first : "", " --help");
    return parsed;
  }
  CLI::App* chosen = nullptr;
  for (const auto& [command, subcommand] : commands) {
    if (!subcommand->parsed()) continue;
    options.command = command;
    chosen = subcommand;
  }
  options.data.format = kFormats.at(texts.format);
  options.data.split = kSplits.at(texts.split);
  options.data.shuffle = !texts.sequential;
  options.schedule.kind = kSchedules.at(texts.schedule);
  options.scale_learning_rate = texts.scaling == "linear";
  if (texts.checkpoint_step >= 0) options.checkpoint_step = texts.checkpoint_step;
  if (texts.tolerance >= 0) options.tolerance = texts.tolerance;
  const CLI::Option* seed = chosen->get_option_no_throw("--seed");
  options.seed_given = seed != nullptr && seed->count() > 0;
  if (options.steps == 0) options.steps = options.command == Command::kBench ? kBenchSteps : 1;
  if (options.command == Command::kVerify && chosen->get_option("--timeout")->count() == 0) {
    options.runtime.timeout_seconds = kVerifyTimeoutSeconds;
  }
  const std::string conflict = CheckTogether(options);
  if (!conflict.empty()) {
    parsed.exit_code = 2;
    parsed.message = absl::StrCat(conflict, "; see ", name, " ", chosen->get_name(), " --help");
    return parsed;
  }
  parsed.run = true;
  return parsed;
}

}  // namespace pdc::train
