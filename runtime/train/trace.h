// Traces: what each rank ran when, as one Chrome trace file, which Perfetto and chrome://tracing open.
#ifndef PDC_RUNTIME_TRAIN_TRACE_H_
#define PDC_RUNTIME_TRAIN_TRACE_H_

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "runtime/exec/session.h"
#include "runtime/program/program_generated.h"

namespace pdc::train {

// The instructions of one rank from Start() on. Nothing is allocated while a step runs.
class TraceRecorder {
 public:
  // Records the first `steps` steps of `program`, which outlives the recorder.
  TraceRecorder(const program::Program& program, int rank, int64_t steps);
  // Collective: ranks take their time origin at the same moment, since their clocks may differ.
  absl::Status Start(exec::Session& session);
  void Stop(exec::Session& session) { session.set_trace(nullptr); }

  // Events in the trace event format, separated by commas: pid is the rank, times are microseconds.
  std::string Events() const;

 private:
  const program::Program& program_;
  int rank_;
  std::chrono::steady_clock::time_point origin_;
  std::vector<exec::InstructionEvent> events_;
};

// Collective: rank 0 writes the events of all ranks to `path`.
absl::Status WriteTrace(const std::string& path, exec::Session& session, const TraceRecorder& recorder);

}  // namespace pdc::train

#endif  // PDC_RUNTIME_TRAIN_TRACE_H_
