#include "runtime/train/bench.h"

#include <time.h>

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "nlohmann/json.hpp"
#include "runtime/base/status.h"
#include "runtime/program/reader.h"
#include "runtime/program/view.h"
#include "runtime/train/metrics.h"
#include "runtime/train/program_io.h"
#include "runtime/train/trace.h"

namespace pdc::train {
namespace {

absl::Status RunStep(exec::Session& session, program::Mode mode, const BatchBuilder& batches, int64_t step,
                     uint64_t seed) {
  const int64_t batch = batches.inputs()[0].batch, size = batches.dataset().size();
  // A small rate, so that the numbers stay in the range of a real run.
  PDC_RETURN_IF_ERROR(SetScalars(session, mode, {.learning_rate = 1e-4, .step = step, .seed = seed}));
  return session.Run(mode, step,
                     InputsOf(batches, [&](int64_t i) { return ((step - 1) * batch + i) % size; },
                              Padding::kIgnoredLabels));
}

double ProcessorSeconds() {
  timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// What one run of the program computes on this rank, as its instructions state it.
double FlopsOf(const program::Program& program) {
  double flops = 0;
  for (uint32_t i = 0; i < program::Size(program.instructions()); ++i) {
    flops += program.instructions()->Get(i)->flops();
  }
  return flops;
}

}  // namespace

double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

absl::StatusOr<BenchResult> Bench(exec::Session& session, program::Mode mode, const BatchBuilder& batches,
                                  const BenchOptions& options) {
  BenchResult result;
  std::vector<double> processor_seconds;
  PDC_ASSIGN_OR_RETURN(const program::Program* program, session.program(mode));
  TraceRecorder trace(*program, options.steps);
  for (int64_t step = 1; step <= options.warmup + options.steps; ++step) {
    if (!options.trace.empty() && step == options.warmup + 1) PDC_RETURN_IF_ERROR(trace.Start(session));
    // All ranks begin a step together, so that rank 0's time is that of the slowest.
    PDC_RETURN_IF_ERROR(session.communicator().Barrier(session.deadline()));
    const auto begin = std::chrono::steady_clock::now();
    const double processor_begin = ProcessorSeconds();
    PDC_RETURN_IF_ERROR(RunStep(session, mode, batches, step, options.seed));
    const auto end = std::chrono::steady_clock::now();
    if (step <= options.warmup) continue;
    processor_seconds.push_back(ProcessorSeconds() - processor_begin);
    result.step_times_seconds.push_back(std::chrono::duration<double>(end - begin).count());
  }
  if (!options.trace.empty()) {
    trace.Stop(session);
    PDC_RETURN_IF_ERROR(trace.Write(options.trace, session));
  }
  const double batch = static_cast<double>(batches.inputs()[0].batch);
  result.median_seconds = Median(result.step_times_seconds);
  result.processor_seconds = Median(std::move(processor_seconds));
  result.samples_per_second = batch / result.median_seconds;
  result.tokens_per_second =
      result.samples_per_second * static_cast<double>(session.executable().tokens_per_sample());
  for (int rank = 0; rank < session.executable().ranks(); ++rank) {
    result.peak_memory_bytes.push_back(ArenaBytes(session.executable(), rank, mode));
    if (const program::Program* of_rank = program::FindProgram(session.executable(), rank, mode))
      result.flops_per_step += FlopsOf(*of_rank);
  }
  return result;
}

std::string ToJson(const BenchResult& result, const std::string& report) {
  nlohmann::ordered_json json = {
      {"step_time", result.median_seconds},         {"step_times", result.step_times_seconds},
      {"processor_time", result.processor_seconds}, {"samples_per_second", result.samples_per_second},
      {"peak_memory", result.peak_memory_bytes},    {"flops_per_step", result.flops_per_step}};
  if (result.tokens_per_second > 0) json["tokens_per_second"] = result.tokens_per_second;
  const nlohmann::json plan = nlohmann::json::parse(report, nullptr, /*allow_exceptions=*/false);
  if (plan.is_object() && plan.contains("predicted") && plan["predicted"].is_object()) {
    const nlohmann::json& predicted = plan["predicted"];
    if (predicted.contains("step_time")) json["predicted_step_time"] = predicted["step_time"];
    if (predicted.contains("peak_memory")) json["predicted_peak_memory"] = predicted["peak_memory"];
  }
  return json.dump(1) + "\n";
}

std::string ToText(const BenchResult& result) {
  std::string text =
      absl::StrFormat("median step %.6f s of %d  %s samples/s", result.median_seconds,
                      result.step_times_seconds.size(), ShortNumber(result.samples_per_second));
  if (result.tokens_per_second > 0) {
    absl::StrAppend(&text, "  ", ShortNumber(result.tokens_per_second), " tokens/s");
  }
  absl::StrAppend(&text, "  peak memory per rank");
  for (uint64_t bytes : result.peak_memory_bytes) {
    absl::StrAppendFormat(&text, " %.1f MiB", static_cast<double>(bytes) / (1 << 20));
  }
  return text;
}

}  // namespace pdc::train
