#include "runtime/train/train_loop.h"

#include <atomic>
#include <chrono>
#include <cmath>
#include <csignal>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/program/view.h"
#include "runtime/train/collect.h"
#include "runtime/train/data/prefetch.h"
#include "runtime/train/data/shuffle.h"
#include "runtime/train/evaluate.h"
#include "runtime/train/metrics.h"
#include "runtime/train/program_io.h"
#include "runtime/train/trace.h"

namespace pdc::train {
namespace {

using program::Mode;

constexpr std::chrono::minutes kCheckpointGrace(10);

// Lock-free, so that a handler may set it; and read by ranks that are threads of one process.
std::atomic<int> received_signal = 0;
static_assert(std::atomic<int>::is_always_lock_free);

// Takes SIGINT and SIGTERM while it lives; a second one of them ends the process as usual.
class SignalWatch {
 public:
  SignalWatch() {
    received_signal = 0;
    struct sigaction action = {};
    action.sa_handler = [](int signal) { received_signal = signal; };
    action.sa_flags = SA_RESTART | static_cast<int>(SA_RESETHAND);
    sigaction(SIGINT, &action, &old_interrupt_);
    sigaction(SIGTERM, &action, &old_terminate_);
  }
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;
  ~SignalWatch() {
    sigaction(SIGINT, &old_interrupt_, nullptr);
    sigaction(SIGTERM, &old_terminate_, nullptr);
  }

 private:
  struct sigaction old_interrupt_;
  struct sigaction old_terminate_;
};

std::string Text(const flatbuffers::String* text) { return std::string(program::Text(text)); }

absl::Status CheckResumed(const Options& options, const program::Executable& executable,
                          const TrainingPlan& plan) {
  const TrainingState& state = plan.resumed;
  const auto refuse = [&](const std::string& what) {
    return absl::InvalidArgumentError(absl::StrCat("cannot resume '", plan.resume_folder, "': ", what));
  };
  if (state.model != Text(executable.model()) || state.optimizer != Text(executable.optimizer())) {
    return refuse(absl::StrCat("it is of model '", state.model, "' with optimizer '", state.optimizer,
                               "', this executable trains '", Text(executable.model()), "' with '",
                               Text(executable.optimizer()), "'"));
  }
  if (state.dataset_size != plan.training->dataset().size()) {
    return refuse(absl::StrCat("its data had ", state.dataset_size, " samples, --data has ",
                               plan.training->dataset().size(),
                               "; start with --init-from to go on with other data"));
  }
  if (options.seed_given && options.seed != state.seed) {
    return refuse(absl::StrCat("its seed is ", state.seed, ", --seed is ", options.seed));
  }
  return absl::OkStatus();
}

// The folder is as the run needs it: empty, or with the checkpoint that it resumes as the newest.
absl::Status CheckUnchanged(const Options& options, const TrainingPlan& plan) {
  if (options.checkpoint.empty()) return absl::OkStatus();
  const CheckpointFolder folder(options.checkpoint, options.keep);
  if (!options.resume) {
    if (folder.Steps().empty()) return absl::OkStatus();
    return absl::AlreadyExistsError(absl::StrCat("'", options.checkpoint,
                                                 "' holds checkpoints of another run; use ",
                                                 "--resume to continue it or another folder"));
  }
  PDC_ASSIGN_OR_RETURN(const std::string found, folder.Find(options.checkpoint_step));
  if (found == plan.resume_folder) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "'", plan.resume_folder, "' is no longer the newest checkpoint: another run wrote '", found, "'"));
}

absl::Status OpenCheckpoints(const Options& options, TrainingPlan& plan) {
  const CheckpointFolder folder(options.checkpoint, options.keep);
  if (options.resume) {
    PDC_ASSIGN_OR_RETURN(plan.resume_folder, folder.Find(options.checkpoint_step));
    PDC_ASSIGN_OR_RETURN(plan.resumed, CheckCheckpoint(plan.resume_folder));
    return absl::OkStatus();
  }
  return CheckUnchanged(options, plan);
}

}  // namespace

absl::StatusOr<TrainingPlan> PlanTraining(const Options& options, const program::Executable& executable,
                                          int rank) {
  TrainingPlan plan;
  PDC_ASSIGN_OR_RETURN(const program::Program* program, RequireProgram(executable, rank, Mode::kTrain));
  PDC_RETURN_IF_ERROR(LossName(*program).status());
  const bool own_validation_files = !options.data.validation_files.empty();
  const Split split = own_validation_files ? Split::kAll : Split::kTrain;
  PDC_ASSIGN_OR_RETURN(plan.training, OpenBatches(options.data, options.data.files, split, true, *program));
  if (options.eval_every > 0) {
    PDC_ASSIGN_OR_RETURN(const program::Program* evaluate, RequireProgram(executable, rank, Mode::kEvaluate));
    const std::vector<InputSpec>& inputs = plan.training->inputs();
    const bool windows = !plan.training->dataset().fields().empty() &&
                         plan.training->dataset().fields()[0].name == "tokens" && !inputs.empty();
    if (!own_validation_files && (!windows || options.data.validation_fraction <= 0)) {
      return absl::InvalidArgumentError(
          "--eval-every needs --validation-data, or text data with --validation-fraction above 0");
    }
    PDC_ASSIGN_OR_RETURN(
        plan.validation,
        OpenBatches(options.data, own_validation_files ? options.data.validation_files : options.data.files,
                    own_validation_files ? Split::kAll : Split::kValidation, false, *evaluate));
  }
  PDC_RETURN_IF_ERROR(OpenCheckpoints(options, plan));
  if (!plan.resume_folder.empty()) PDC_RETURN_IF_ERROR(CheckResumed(options, executable, plan));
  plan.seed = plan.resume_folder.empty() ? options.seed : plan.resumed.seed;
  plan.schedule = options.schedule;
  plan.schedule.total_steps = options.steps;
  if (options.scale_learning_rate) {
    plan.schedule.peak = ScaleLearningRate(plan.schedule.peak, program->batch(), options.base_batch);
  }
  return plan;
}

namespace {

// One run of Train().
class TrainingRun {
 public:
  TrainingRun(const Options& options, const TrainingPlan& plan, exec::Session& session,
              const Console& console)
      : options_(options),
        plan_(plan),
        session_(session),
        console_(console),
        folder_(options.checkpoint, options.keep),
        rank_(session.communicator().rank()),
        batch_(plan.training->inputs()[0].batch),
        size_(plan.training->dataset().size()) {}

  absl::StatusOr<TrainingResult> Run() {
    const absl::Status status = RunSteps();
    // Errors of the session name their place themselves.
    if (IsAgreed(status)) return status;
    if (!status.ok() && absl::StrContains(status.message(), absl::StrCat("rank ", rank_))) return status;
    if (!status.ok()) return AtPlace(status, {.rank = rank_, .step = step_});
    return TrainingResult{step_, signal_};
  }

 private:
  bool checkpoints() const { return !options_.checkpoint.empty(); }

  absl::Status Begin() {
    PDC_RETURN_IF_ERROR(InitializeAll(session_, Mode::kTrain, plan_.seed));
    if (!plan_.resume_folder.empty()) {
      PDC_RETURN_IF_ERROR(LoadCheckpoint(plan_.resume_folder, LoadPart::kEverything, session_, Mode::kTrain));
    } else if (!options_.init_from.empty()) {
      PDC_RETURN_IF_ERROR(LoadParameters(options_.init_from, session_, Mode::kTrain));
    }
    if (rank_ == 0) {
      if (checkpoints()) {
        PDC_ASSIGN_OR_RETURN(lock_, folder_.Prepare());
        // Another run may have ended since this one looked.
        PDC_RETURN_IF_ERROR(CheckUnchanged(options_, plan_));
      }
      if (!options_.log.empty()) {
        PDC_ASSIGN_OR_RETURN(log_, MetricsLog::Open(options_.log, plan_.resumed.step));
      }
      const bool tokens = session_.executable().tokens_per_sample() > 0;
      progress_ = std::make_unique<Progress>(console_.out, console_.is_terminal, options_.steps,
                                             tokens ? "tokens" : "samples", &received_signal);
    }
    PDC_ASSIGN_OR_RETURN(const program::Program* program, session_.program(Mode::kTrain));
    PDC_ASSIGN_OR_RETURN(loss_name_, LossName(*program));
    if (!options_.trace.empty()) {
      trace_ = std::make_unique<TraceRecorder>(*program, options_.trace_steps);
    }
    return absl::OkStatus();
  }

  absl::Status RunSteps() {
    step_ = plan_.resumed.step;
    PDC_RETURN_IF_ERROR(AgreeOnStatus(session_.communicator(), session_.deadline(), Begin()));
    const int64_t first = step_ + 1;
    if (step_ >= options_.steps) {
      if (progress_)
        progress_->Note(absl::StrCat("step ", step_, " is done already; --steps is ", options_.steps));
      return absl::OkStatus();
    }
    if (trace_) PDC_RETURN_IF_ERROR(trace_->Start(session_));
    std::unique_ptr<SignalWatch> watch;
    if (checkpoints()) watch = std::make_unique<SignalWatch>();
    Prefetcher prefetcher(
        [this](int64_t step, size_t part, std::byte* destination) {
          return plan_.training->Fill(
              part, [&](int64_t i) { return SampleAt((step - 1) * batch_ + i); }, Padding::kIgnoredLabels, destination);
        },
        plan_.training->bytes(), first);
    while (step_ < options_.steps && signal_ == 0) {
      ++step_;
      PDC_RETURN_IF_ERROR(Step(prefetcher));
      if (trace_ && step_ - first + 1 == options_.trace_steps) trace_->Stop(session_);
      PDC_RETURN_IF_ERROR(AfterStep());
    }
    if (trace_) {
      trace_->Stop(session_);
      PDC_RETURN_IF_ERROR(trace_->Write(options_.trace, session_));
    }
    return absl::OkStatus();
  }

  int64_t SampleAt(int64_t position) const {
    return options_.data.shuffle ? ShuffledSample(position, size_, plan_.seed) : position % size_;
  }

  absl::Status Step(Prefetcher& prefetcher) {
    const auto begin = std::chrono::steady_clock::now();
    record_ = StepRecord();
    record_.step = step_;
    record_.learning_rate = LearningRate(plan_.schedule, step_);
    prefetcher.Next();
    PDC_RETURN_IF_ERROR(SetScalars(
        session_, Mode::kTrain, {.learning_rate = record_.learning_rate, .step = step_, .seed = plan_.seed}));
    PDC_RETURN_IF_ERROR(session_.Run(Mode::kTrain, step_, InputsOf(prefetcher, *plan_.training)));
    record_.metrics = ScalarOutputs(session_, Mode::kTrain);
    record_.loss = record_.metrics[loss_name_];
    record_.metrics.erase(loss_name_);
    record_.step_time_seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    const int64_t tokens = std::max<int64_t>(session_.executable().tokens_per_sample(), 1);
    record_.tokens_per_second = static_cast<double>(batch_ * tokens) / record_.step_time_seconds;
    if (std::isfinite(record_.loss)) return absl::OkStatus();
    // The loss is the same on all ranks, so all come here, and one of them speaks.
    return AgreeOnStatus(
        session_.communicator(), session_.deadline(),
        absl::OutOfRangeError(absl::StrCat("step ", step_, ": the loss is ", record_.loss,
                                           "; try a lower --lr, warm-up or another --seed",
                                           checkpoints() ? " from the last checkpoint" : "")));
  }

  // Validation, logs, checkpoint, and whether to go on.
  absl::Status AfterStep() {
    const bool last = step_ == options_.steps;
    if (plan_.validation && (step_ % options_.eval_every == 0 || last)) {
      PDC_ASSIGN_OR_RETURN(const Evaluation evaluation,
                           Evaluate(session_, *plan_.validation, options_.eval_batches, step_, plan_.seed));
      const auto found = evaluation.averages.find(loss_name_);
      if (found != evaluation.averages.end()) record_.validation_loss = found->second;
    }
    if (progress_) progress_->Show(record_);
    if (log_) PDC_RETURN_IF_ERROR(log_->Write(record_));
    if (!checkpoints()) return absl::OkStatus();
    PDC_ASSIGN_OR_RETURN(const bool stop,
                         OnAnyRank(session_.communicator(), session_.deadline(), received_signal != 0));
    if (const int signal = received_signal; stop) signal_ = signal != 0 ? signal : SIGTERM;
    const bool due = options_.checkpoint_every > 0 && step_ % options_.checkpoint_every == 0;
    if (!due && !last && !stop) return absl::OkStatus();
    const program::Executable& executable = session_.executable();
    PDC_RETURN_IF_ERROR(folder_.Save(session_, Mode::kTrain,
                                     {.step = step_,
                                      .seed = plan_.seed,
                                      .samples_consumed = step_ * batch_,
                                      .dataset_size = size_,
                                      .model = Text(executable.model()),
                                      .compiler_version = Text(executable.compiler_version()),
                                      .optimizer = Text(executable.optimizer())}));
    // Nobody goes on before the checkpoint is whole. Others wait longer for the rank that writes: a slow disk is no
    // stuck peer. That rank comes last, and a peer that it does not find there is stuck.
    const auto grace = rank_ == 0 ? std::chrono::minutes(0) : kCheckpointGrace;
    PDC_RETURN_IF_ERROR(session_.communicator().Barrier(session_.deadline() + grace));
    if (progress_ && stop) {
      progress_->Note(
          absl::StrCat("stopped by signal ", signal_, " after step ", step_, "; continue with --resume"));
    }
    return absl::OkStatus();
  }

  const Options& options_;
  const TrainingPlan& plan_;
  exec::Session& session_;
  Console console_;
  CheckpointFolder folder_;
  std::optional<FolderLock> lock_;  // rank 0
  int rank_;
  int64_t batch_;
  int64_t size_;
  int64_t step_ = 0;
  int signal_ = 0;
  std::string loss_name_;
  StepRecord record_;
  std::unique_ptr<MetricsLog> log_;     // rank 0
  std::unique_ptr<Progress> progress_;  // rank 0
  std::unique_ptr<TraceRecorder> trace_;
};

}  // namespace

absl::StatusOr<TrainingResult> Train(const Options& options, const TrainingPlan& plan, exec::Session& session,
                                     const Console& console) {
  return TrainingRun(options, plan, session, console).Run();
}

}  // namespace pdc::train
