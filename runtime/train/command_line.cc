#include "runtime/train/command_line.h"

#include <chrono>
#include <map>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "nlohmann/json.hpp"
#include "runtime/base/status.h"
#include "runtime/program/reader.h"
#include "runtime/program/view.h"
#include "runtime/train/atomic_file.h"
#include "runtime/train/bench.h"
#include "runtime/train/checkpoint/checkpoint.h"
#include "runtime/train/collect.h"
#include "runtime/train/evaluate.h"
#include "runtime/train/parse_options.h"
#include "runtime/train/program_io.h"
#include "runtime/train/train_loop.h"
#include "runtime/train/verify.h"

namespace pdc::train {
namespace {

using program::Mode;

constexpr double kF32Tolerance = 1e-5;
constexpr double kBf16Tolerance = 2e-2;
// Where a relu's argument is nearly zero, or two logits are nearly equal, rounding decides the branch.
constexpr const char* kBf16Advice =
    "; sums that are rounded to bf16 in another order can take the other branch of a relu or a maximum: the same plan "
    "with --precision=f32 tells whether it is right";

// What a command reads before anything is computed.
struct Prepared {
  TrainingPlan training;                    // train
  std::unique_ptr<BatchBuilder> batches;    // the other commands
  std::unique_ptr<BatchBuilder> steps;      // verify: of the steps between
  std::unique_ptr<BatchBuilder> reference;  // verify, rank 0
  Mode mode = Mode::kTrain;                 // of `batches`
  std::string checkpoint_folder;            // eval, infer
};

absl::Status WriteText(const std::string& path, const std::string& text) {
  PDC_ASSIGN_OR_RETURN(auto file, AtomicFile::Create(path));
  PDC_RETURN_IF_ERROR(file->Write(text.data(), text.size()));
  return file->Commit();
}

// Before anything is computed, so that a result is not lost at the end of a long run.
absl::Status CheckOutputs(const Options& options) {
  std::vector<std::string> paths = options.outputs;
  paths.insert(paths.end(), {options.log, options.trace, options.json});
  for (const std::string& path : paths) {
    if (!path.empty()) PDC_RETURN_IF_ERROR(CheckWritable(path));
  }
  return absl::OkStatus();
}

// Data from --data, or random samples without it.
absl::StatusOr<std::unique_ptr<BatchBuilder>> DataOrSynthetic(const Options& options,
                                                              const program::Program& program) {
  if (!options.data.files.empty()) {
    return OpenBatches(options.data, options.data.files, Split::kAll, true, program);
  }
  PDC_ASSIGN_OR_RETURN(BatchInputs inputs, BatchInputsOf(program));
  if (inputs.inputs.empty()) return absl::InvalidArgumentError("the model takes no data");
  auto dataset = MakeSyntheticDataset(inputs.inputs, inputs.inputs[0].batch, options.seed);
  return BatchBuilder::Create(std::move(dataset), std::move(inputs), options.data.normalization);
}

absl::Status PrepareVerify(const Options& options, const program::Executable& executable, int rank,
                           Prepared& prepared) {
  PDC_ASSIGN_OR_RETURN(const program::Program* train, RequireProgram(executable, rank, Mode::kTrain));
  PDC_ASSIGN_OR_RETURN(const program::Program* program, RequireProgram(executable, rank, Mode::kGradient));
  PDC_ASSIGN_OR_RETURN(prepared.batches, DataOrSynthetic(options, *program));
  PDC_ASSIGN_OR_RETURN(prepared.steps, DataOrSynthetic(options, *train));
  if (rank != 0) return absl::OkStatus();
  PDC_ASSIGN_OR_RETURN(const program::Program* reference,
                       RequireProgram(executable, 0, Mode::kReferenceGradient));
  PDC_ASSIGN_OR_RETURN(prepared.reference, DataOrSynthetic(options, *reference));
  return absl::OkStatus();
}

absl::StatusOr<Prepared> Prepare(const Options& options, const program::Executable& executable, int rank) {
  Prepared prepared;
  PDC_RETURN_IF_ERROR(CheckOutputs(options));
  switch (options.command) {
    case Command::kTrain: {
      PDC_ASSIGN_OR_RETURN(prepared.training, PlanTraining(options, executable, rank));
      return prepared;
    }
    case Command::kVerify:
      PDC_RETURN_IF_ERROR(PrepareVerify(options, executable, rank, prepared));
      return prepared;
    case Command::kBench: {
      if (program::FindProgram(executable, rank, Mode::kTrain) == nullptr) prepared.mode = Mode::kInfer;
      PDC_ASSIGN_OR_RETURN(const program::Program* program, RequireProgram(executable, rank, prepared.mode));
      PDC_ASSIGN_OR_RETURN(prepared.batches, DataOrSynthetic(options, *program));
      return prepared;
    }
    case Command::kEval: {
      prepared.mode = Mode::kEvaluate;
      PDC_ASSIGN_OR_RETURN(const program::Program* program, RequireProgram(executable, rank, prepared.mode));
      PDC_ASSIGN_OR_RETURN(prepared.batches, OpenBatches(options.data, options.data.files, options.data.split,
                                                         false, *program));
      break;
    }
    case Command::kInfer: {
      prepared.mode = Mode::kInfer;
      DataOptions data = options.data;
      data.format = DataFormat::kNpy;
      PDC_ASSIGN_OR_RETURN(const program::Program* program, RequireProgram(executable, rank, prepared.mode));
      PDC_ASSIGN_OR_RETURN(prepared.batches, OpenBatches(data, options.inputs, Split::kAll, false, *program));
      break;
    }
  }
  if (options.checkpoint.empty()) return prepared;
  PDC_ASSIGN_OR_RETURN(prepared.checkpoint_folder,
                       CheckpointFolder(options.checkpoint, options.keep).Find(options.checkpoint_step));
  PDC_ASSIGN_OR_RETURN(const TrainingState state, CheckCheckpoint(prepared.checkpoint_folder));
  const std::string model(program::Text(executable.model()));
  if (state.model == model) return prepared;
  return absl::InvalidArgumentError(absl::StrCat("'", prepared.checkpoint_folder,
                                                 "' is a checkpoint of model '", state.model,
                                                 "', this executable is of '", model, "'"));
}

// One command on one rank.
class CommandRun {
 public:
  CommandRun(const Options& options, const Environment& environment, const Prepared& prepared,
             exec::Session& session)
      : options_(options), environment_(environment), prepared_(prepared), session_(session) {}

  // The exit code.
  absl::StatusOr<int> Run() {
    switch (options_.command) {
      case Command::kTrain: {
        PDC_ASSIGN_OR_RETURN(
            const TrainingResult result,
            Train(options_, prepared_.training, session_, {environment_.out, environment_.out_is_terminal}));
        return result.signal == 0 ? 0 : 128 + result.signal;
      }
      case Command::kEval:
        return RunEval();
      case Command::kInfer:
        PDC_RETURN_IF_ERROR(AgreeOnStatus(session_.communicator(), session_.deadline(), LoadModel()));
        PDC_RETURN_IF_ERROR(Infer(session_, *prepared_.batches, options_.outputs, options_.seed));
        return 0;
      case Command::kBench:
        return RunBench();
      case Command::kVerify:
        return RunVerify();
    }
    return absl::InternalError("unknown command");
  }

 private:
  bool speaks() const { return session_.communicator().rank() == 0; }

  absl::Status LoadModel() {
    PDC_RETURN_IF_ERROR(InitializeAll(session_, prepared_.mode, options_.seed));
    if (!prepared_.checkpoint_folder.empty()) {
      return LoadCheckpoint(prepared_.checkpoint_folder, LoadPart::kModel, session_, prepared_.mode);
    }
    return options_.init_from.empty() ? absl::OkStatus()
                                      : LoadParameters(options_.init_from, session_, prepared_.mode);
  }

  // Rank 0 shows a result and writes --json.
  absl::Status Deliver(const std::string& text, const std::string& json) {
    if (!speaks()) return absl::OkStatus();
    std::fputs(text.c_str(), environment_.out);
    std::fflush(environment_.out);
    return options_.json.empty() ? absl::OkStatus() : WriteText(options_.json, json);
  }

  absl::StatusOr<int> RunEval() {
    PDC_RETURN_IF_ERROR(AgreeOnStatus(session_.communicator(), session_.deadline(), LoadModel()));
    PDC_ASSIGN_OR_RETURN(
        const Evaluation evaluation,
        Evaluate(session_, *prepared_.batches, /*maximum_batches=*/0, /*step=*/1, options_.seed));
    std::string text;
    nlohmann::ordered_json json;
    for (const auto& [name, value] : evaluation.averages) {
      absl::StrAppendFormat(&text, "%s %.6g  ", name, value);
      json[name] = value;
    }
    json["samples"] = evaluation.samples;
    PDC_RETURN_IF_ERROR(Deliver(absl::StrCat(text, evaluation.samples, " samples\n"), json.dump(1) + "\n"));
    return 0;
  }

  absl::StatusOr<int> RunBench() {
    PDC_RETURN_IF_ERROR(InitializeAll(session_, prepared_.mode, options_.seed));
    const BenchOptions bench = {options_.warmup, options_.steps, options_.seed, options_.trace};
    PDC_ASSIGN_OR_RETURN(const BenchResult result,
                         Bench(session_, prepared_.mode, *prepared_.batches, bench));
    PDC_RETURN_IF_ERROR(Deliver(ToText(result) + "\n", ToJson(result, environment_.report)));
    return 0;
  }

  absl::StatusOr<int> RunVerify() {
    const bool bf16 = program::Text(session_.executable().precision()) == "bf16";
    const double tolerance = options_.tolerance.value_or(bf16 ? kBf16Tolerance : kF32Tolerance);
    const VerifyOptions verify = {options_.steps, options_.schedule.peak, options_.seed};
    PDC_ASSIGN_OR_RETURN(const std::vector<Comparison> comparisons,
                         Verify(session_, {*prepared_.batches, *prepared_.steps, prepared_.reference.get()}, verify));
    absl::Status verdict;
    if (const Comparison* worst = Worst(comparisons)) {
      const bool fits = worst->relative <= tolerance;
      const std::string_view measure = worst->is_absolute ? "absolute" : "relative";
      const std::string line =
          absl::StrFormat("largest %s difference %.4e (%s, step %d), tolerance %.1e: %s", measure, worst->relative,
                          worst->name, worst->step, tolerance, fits ? "equal" : "DIFFERENT");
      nlohmann::ordered_json json = {
          {"equal", fits}, {"tolerance", tolerance}, {"values", nlohmann::json::array()}};
      for (const Comparison& row : comparisons) {
        json["values"].push_back({{"step", row.step},
                                  {"name", row.name},
                                  {"largest", row.largest},
                                  {"difference", row.largest_difference},
                                  {"relative", row.relative},
                                  {"absolute", row.is_absolute}});
      }
      PDC_RETURN_IF_ERROR(Deliver(absl::StrCat(ToTable(comparisons), line, "\n"), json.dump(1) + "\n"));
      if (!fits) {
        verdict = absl::DataLossError(absl::StrFormat(
            "step %d: '%s' differs from the single-device step by %.4e (%s), tolerance %.1e%s",
            worst->step, worst->name, worst->relative, measure, tolerance, bf16 ? kBf16Advice : ""));
      }
    }
    PDC_RETURN_IF_ERROR(AgreeOnStatus(session_.communicator(), session_.deadline(), verdict));
    return 0;
  }

  const Options& options_;
  const Environment& environment_;
  const Prepared& prepared_;
  exec::Session& session_;
};

absl::Status CheckRankCount(const program::Executable& executable, int ranks, const std::string& path) {
  if (executable.ranks() == ranks) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("compiled for ", executable.ranks(), executable.ranks() == 1 ? " rank" : " ranks",
                   ", started on ", ranks, ": run mpiexec -n ", executable.ranks(), " ", path, " ..."));
}

comm::Clock::time_point DeadlineOf(const RuntimeOptions& options) {
  return comm::Clock::now() + std::chrono::duration_cast<comm::Clock::duration>(
                                  std::chrono::duration<double>(options.timeout_seconds));
}

// Memory is made for these programs only.
std::vector<Mode> ModesOf(const Options& options, const Prepared& prepared) {
  if (options.command == Command::kVerify) {
    return {Mode::kTrain, Mode::kGradient, Mode::kReferenceGradient};
  }
  if (options.command != Command::kTrain) return {prepared.mode};
  if (options.eval_every > 0) return {Mode::kTrain, Mode::kEvaluate};
  return {Mode::kTrain};
}

absl::StatusOr<int> RunWithRanks(const Options& options, const Environment& environment,
                                 comm::Communicator& communicator) {
  const int rank = communicator.rank();
  absl::StatusOr<Prepared> prepared = Prepare(options, *environment.executable, rank);
  PDC_RETURN_IF_ERROR(AgreeOnStatus(communicator, DeadlineOf(options.runtime), prepared.status()));
  RuntimeOptions runtime = options.runtime;
  runtime.modes = ModesOf(options, *prepared);
  PDC_ASSIGN_OR_RETURN(const std::unique_ptr<exec::Session> session, environment.open(communicator, runtime));
  return CommandRun(options, environment, *prepared, *session).Run();
}

}  // namespace

int RunCommandLine(int argc, const char* const* argv, const Environment& environment) {
  const ParsedCommandLine parsed = ParseCommandLine(argc, argv, *environment.executable);
  const std::string path = argc > 0 ? argv[0] : "";
  const std::string name = path.substr(path.rfind('/') + 1);
  const auto complain = [&](const std::string& message) {
    std::fprintf(environment.err, "%s: %s\n", name.c_str(), message.c_str());
    std::fflush(environment.err);
  };
  if (!parsed.run) {
    if (!environment.speaks) return parsed.exit_code;
    if (parsed.exit_code != 0) {
      complain(parsed.message);
    } else {
      std::fputs(parsed.message.c_str(), environment.out);
    }
    return parsed.exit_code;
  }
  absl::StatusOr<std::unique_ptr<comm::Communicator>> communicator =
      environment.connect(parsed.options.runtime);
  if (!communicator.ok()) {
    complain(std::string(communicator.status().message()));
    return 1;
  }
  comm::Communicator& ranks = **communicator;
  const absl::Status count = CheckRankCount(*environment.executable, ranks.size(), path);
  if (!count.ok()) {
    if (ranks.rank() == 0) complain(std::string(count.message()));
    return 1;
  }
  const absl::StatusOr<int> result = RunWithRanks(parsed.options, environment, ranks);
  std::fflush(environment.out);
  if (result.ok()) return *result;
  const std::string message(result.status().message());
  if (IsAgreed(result.status())) {
    if (ranks.rank() == 0) complain(message);
    return 1;
  }
  const std::string place = absl::StrCat("rank ", ranks.rank());
  const absl::Status placed =
      absl::StrContains(message, place) ? result.status() : Annotate(result.status(), place);
  // Under mpiexec this writes the reason and does not return.
  ranks.Abort(placed);
  complain(std::string(placed.message()));
  return 1;
}

}  // namespace pdc::train
