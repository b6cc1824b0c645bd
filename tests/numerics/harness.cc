#include "tests/numerics/harness.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <memory>
#include <mutex>
#include <thread>

#include "compiler/pipeline/Compiler.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "runtime/comm/inprocess/world.h"
#include "runtime/device/cpu/cpu_device.h"
#include "runtime/exec/session.h"
#include "runtime/kernels/library.h"
#include "runtime/train/buffers.h"
#include "runtime/train/initialize.h"
#include "xxhash.h"

namespace pdc::numerics {
namespace {

using program::BufferKind;
using program::ElementType;
using program::Mode;

Compilation CompileJob(const Job& job) {
  pipeline::CompileOptions options = job.options;
  options.batch = job.batch;
  options.ranks = job.ranks;
  options.parallel = llvm::cantFail(plan::parseParallelSpec(job.parallel, job.ranks));
  options.workspaceBytes = [](const program::InstructionT& instruction, int threads) -> llvm::Expected<int64_t> {
    auto bytes = kernels::WorkspaceBytes(instruction, threads);
    if (bytes.ok()) return *bytes;
    return llvm::createStringError(llvm::inconvertibleErrorCode(), std::string(bytes.status().message()).c_str());
  };

  mlir::DialectRegistry registry;
  pipeline::registerDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  Compilation result;
  mlir::ScopedDiagnosticHandler collect(&context, [&](mlir::Diagnostic& diagnostic) {
    if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error) result.error += diagnostic.str() + "\n";
    return mlir::success();
  });
  auto module = job.model.find('\n') == std::string::npos
                    ? mlir::parseSourceFile<mlir::ModuleOp>(job.model, &context)
                    : mlir::parseSourceString<mlir::ModuleOp>(job.model, &context);
  if (!module) return result;
  mlir::FailureOr<pipeline::Compiled> compiled = mlir::failure();
  if (!job.plan) {
    compiled = pipeline::compile(*module, options);
  } else if (mlir::succeeded(pipeline::runPhases(*module, options, pipeline::Phase::Step))) {
    std::string problem = job.plan(*module);
    if (problem.empty()) compiled = pipeline::compileFrom(*module, options, pipeline::Phase::Plan);
    result.error += problem;
  }
  if (mlir::succeeded(compiled)) result.payload = std::move(compiled->payload);
  if (result.payload.empty() && result.error.empty()) result.error = "compilation failed without a diagnostic";
  return result;
}

Tensor AsDoubles(const exec::BufferView& view) {
  Tensor values(train::ElementCount(train::LocalShape(*view.description)));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = train::ElementAsDouble(view.description->element_type(), view.data, static_cast<int64_t>(i));
  return values;
}

// The stream's values for this rank's part of the field, as floats in [0, 1) or normal.
std::vector<float> StreamPart(const program::Buffer& buffer, const std::string& name, bool normal, const Job& job) {
  train::Distribution distribution;
  distribution.kind = normal ? program::InitializerKind::kNormal : program::InitializerKind::kUniform;
  distribution.b = 1;
  train::Shape local = train::LocalShape(buffer), global = train::GlobalShape(buffer), start = train::LocalStart(buffer);
  if (job.whole_batch > 0) {
    global[0] = job.whole_batch;
    start[0] += job.first_row;
  }
  std::vector<float> values(train::ElementCount(local));
  auto status = train::FillInitialValues(distribution, job.data_seed, name, global, start, local, ElementType::kF32,
                                         reinterpret_cast<std::byte*>(values.data()));
  return status.ok() ? values : std::vector<float>();
}

void FillField(const Job& job, int step, const exec::BufferView& view) {
  std::string name = train::NameOf(*view.description);
  auto found = job.fields.find(name);
  Field field = found == job.fields.end() ? Field() : found->second;
  std::string suffix = "." + std::to_string(step);
  std::vector<float> values =
      StreamPart(*view.description, "golden." + name + suffix, field.kind == Field::Kind::kNormal, job);
  if (field.kind == Field::Kind::kNormal) {
    std::memcpy(view.data, values.data(), values.size() * sizeof(float));
    return;
  }
  std::vector<float> masked;
  if (field.masked_below >= 0) masked = StreamPart(*view.description, "golden.masked" + suffix, false, job);
  auto* ids = reinterpret_cast<int32_t*>(view.data);
  for (size_t i = 0; i < values.size(); ++i) {
    ids[i] = static_cast<int32_t>(std::floor(static_cast<double>(values[i]) * static_cast<double>(field.count)));
    if (!masked.empty() && !(masked[i] < static_cast<float>(field.masked_below))) ids[i] = -100;
  }
}

void FillScalars(const Job& job, int step, exec::Session& session, Mode mode) {
  for (const exec::BufferView& view : session.buffers(mode, BufferKind::kScalarInput)) {
    std::string name = train::NameOf(*view.description);
    float value = name == "learning_rate" ? static_cast<float>(job.learning_rate) : static_cast<float>(step);
    int64_t seed = 1000 + step;
    if (name == "seed")
      std::memcpy(view.data, &seed, sizeof(seed));
    else
      std::memcpy(view.data, &value, sizeof(value));
  }
}

absl::Status RunMode(const Job& job, int step, exec::Session& session, Mode mode) {
  const std::vector<exec::BufferView> inputs = session.buffers(mode, BufferKind::kInput);
  FillScalars(job, step, session, mode);
  return session.Run(mode, step, [&](size_t input, std::byte*) {
    FillField(job, step, inputs[input]);
    return absl::OkStatus();
  });
}

double Loss(exec::Session& session, Mode mode) {
  for (const exec::BufferView& view : session.buffers(mode, BufferKind::kOutput))
    if (train::NameOf(*view.description) == "loss") return AsDoubles(view)[0];
  return std::nan("");
}

absl::Status RunRank(const Job& job, exec::Session& session, Result& result) {
  for (BufferKind kind : {BufferKind::kParameter, BufferKind::kOptimizerState, BufferKind::kState})
    for (const exec::BufferView& view : session.buffers(Mode::kTrain, kind)) {
      absl::Status status = train::InitializeBuffer(*view.description, job.parameter_seed, view.data);
      if (!status.ok()) return status;
    }
  for (int step = 1; step <= job.steps; ++step) {
    if (job.gradients) {
      absl::Status status = RunMode(job, step, session, Mode::kGradient);
      if (!status.ok()) return status;
      auto& gradients = result.gradients.emplace_back();
      for (const exec::BufferView& view : session.buffers(Mode::kGradient, BufferKind::kOutput))
        if (view.description->parameter()) gradients[train::NameOf(*view.description)] = AsDoubles(view);
    }
    absl::Status status = RunMode(job, step, session, Mode::kTrain);
    if (!status.ok()) return status;
    result.losses.push_back(Loss(session, Mode::kTrain));
  }
  XXH64_state_t* hash = XXH64_createState();
  XXH64_reset(hash, 0);
  for (BufferKind kind : {BufferKind::kParameter, BufferKind::kOptimizerState, BufferKind::kState})
    for (const exec::BufferView& view : session.buffers(Mode::kTrain, kind)) {
      XXH64_update(hash, view.data, view.description->bytes());
      if (kind == BufferKind::kParameter) result.parameters[train::NameOf(*view.description)] = AsDoubles(view);
      if (kind == BufferKind::kState) result.state[train::NameOf(*view.description)] = AsDoubles(view);
    }
  result.bits = XXH64_digest(hash);
  XXH64_freeState(hash);
  for (const exec::BufferView& view : session.buffers(Mode::kTrain, BufferKind::kInput))
    result.samples[train::NameOf(*view.description)] += train::LocalShape(*view.description)[0];
  auto program = session.program(Mode::kTrain);
  if (program.ok())
    result.arena_bytes = static_cast<int64_t>((*program)->private_bytes() + (*program)->shared_bytes());
  return absl::OkStatus();
}

// What rank 0 has, and of the ranks of other stages what it has not.
void Join(std::vector<Result> of_ranks, Result& result) {
  std::string error = std::move(result.error);
  result = of_ranks.front();
  result.error = std::move(error);
  for (const Result& of_rank : of_ranks) {
    result.parameters.insert(of_rank.parameters.begin(), of_rank.parameters.end());
    result.state.insert(of_rank.state.begin(), of_rank.state.end());
    for (size_t i = 0; i < result.gradients.size() && i < of_rank.gradients.size(); ++i)
      result.gradients[i].insert(of_rank.gradients[i].begin(), of_rank.gradients[i].end());
    result.losses_of_ranks.push_back(of_rank.losses);
    result.arena_bytes_of_ranks.push_back(of_rank.arena_bytes);
    result.samples_of_ranks.push_back(of_rank.samples);
    std::set<std::string>& names = result.parameters_of_ranks.emplace_back();
    for (const auto& [name, value] : of_rank.parameters) names.insert(name);
  }
}

}  // namespace

Compilation Compile(const Job& job) { return CompileJob(job); }

Result RunJob(const Job& job) {
  Result result;
  Compilation compiled = Compile(job);
  if (compiled.payload.empty()) {
    result.error = compiled.error;
    return result;
  }
  auto world = comm::CreateInProcessWorld(job.ranks);
  if (!world.ok()) {
    result.error = std::string(world.status().message());
    return result;
  }
  std::mutex mutex;
  std::vector<Result> of_ranks(job.ranks);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < job.ranks; ++rank)
    threads.emplace_back([&, rank] {
      comm::Communicator& communicator = *(*world)[rank];
      auto device = device::CreateCpuDevice(job.options.threads);
      auto session = exec::Session::Create(compiled.payload, *device, communicator, exec::SessionOptions());
      absl::Status status = session.ok() ? RunRank(job, **session, of_ranks[rank]) : session.status();
      if (status.ok()) return;
      communicator.Abort(status);
      std::lock_guard<std::mutex> lock(mutex);
      result.error += "rank " + std::to_string(rank) + ": " + std::string(status.message()) + "\n";
    });
  for (std::thread& thread : threads) thread.join();
  Join(std::move(of_ranks), result);
  return result;
}

struct GradientStep::Impl {
  std::string payload;
  std::vector<std::unique_ptr<comm::Communicator>> world;
  std::unique_ptr<device::Device> device;
  std::unique_ptr<exec::Session> session;

  absl::Status Open() {
    auto made = comm::CreateInProcessWorld(1);
    if (!made.ok()) return made.status();
    world = std::move(*made);
    device = device::CreateCpuDevice(1);
    auto opened = exec::Session::Create(payload, *device, *world[0], exec::SessionOptions());
    if (!opened.ok()) return opened.status();
    session = std::move(*opened);
    for (const exec::BufferView& view : session->buffers(Mode::kTrain, BufferKind::kState)) {
      absl::Status status = train::InitializeBuffer(*view.description, 0, view.data);
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }
  std::vector<exec::BufferView> parameters() { return session->buffers(Mode::kTrain, BufferKind::kParameter); }
};

GradientStep::GradientStep(const Job& job) : job_(job), impl_(std::make_unique<Impl>()) {
  Compilation compiled = Compile(job);
  error_ = compiled.error;
  impl_->payload = std::move(compiled.payload);
  if (!impl_->payload.empty()) error_ = std::string(impl_->Open().message());
}

GradientStep::~GradientStep() = default;

std::map<std::string, Tensor> GradientStep::InitialParameters() {
  std::map<std::string, Tensor> parameters;
  for (const exec::BufferView& view : impl_->parameters()) {
    absl::Status status = train::InitializeBuffer(*view.description, job_.parameter_seed, view.data);
    if (!status.ok()) error_ = std::string(status.message());
    parameters[train::NameOf(*view.description)] = AsDoubles(view);
  }
  return parameters;
}

size_t GradientStep::RankOf(const std::string& parameter) {
  for (const exec::BufferView& view : impl_->parameters())
    if (train::NameOf(*view.description) == parameter) return train::DeclaredShape(*view.description).size();
  return 0;
}

GradientStep::Outcome GradientStep::Run(const std::map<std::string, Tensor>& parameters, int step, int64_t first_row) {
  for (const exec::BufferView& view : impl_->parameters()) {
    const Tensor& values = parameters.at(train::NameOf(*view.description));
    for (size_t i = 0; i < values.size(); ++i) reinterpret_cast<float*>(view.data)[i] = static_cast<float>(values[i]);
  }
  job_.first_row = first_row;
  absl::Status status = RunMode(job_, step, *impl_->session, Mode::kGradient);
  if (!status.ok()) error_ = std::string(status.message());
  Outcome outcome{Loss(*impl_->session, Mode::kGradient), {}};
  for (const exec::BufferView& view : impl_->session->buffers(Mode::kGradient, BufferKind::kOutput))
    if (view.description->parameter()) outcome.gradients[train::NameOf(*view.description)] = AsDoubles(view);
  return outcome;
}

double RelativeDifference(const Tensor& a, const Tensor& b) {
  if (a.size() != b.size()) return std::numeric_limits<double>::infinity();
  double difference = 0, largest = 1e-30;
  for (size_t i = 0; i < a.size(); ++i) {
    difference = std::max(difference, std::isfinite(a[i]) ? std::abs(a[i] - b[i])
                                                         : std::numeric_limits<double>::infinity());
    largest = std::max(largest, std::abs(b[i]));
  }
  return difference / largest;
}

}  // namespace pdc::numerics
