// The trace of a run: some steps of every rank in one Chrome trace file (see
// runtime/base/trace.h).
#ifndef PDC_RUNTIME_TRAIN_TRACE_H_
#define PDC_RUNTIME_TRAIN_TRACE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "runtime/base/trace.h"
#include "runtime/exec/session.h"
#include "runtime/program/program_generated.h"

namespace pdc::train {

class TraceRecorder {
 public:
  // Records `steps` steps of `program`, from Start() on, which outlives the recorder.
  TraceRecorder(const program::Program& program, int64_t steps) : program_(program), steps_(steps) {}

  // Collective: ranks take their time origin at the same moment, since their clocks may differ.
  absl::Status Start(exec::Session& session);
  void Stop(exec::Session& session) { session.set_trace(nullptr); }

  // Collective: rank 0 writes the events of all ranks to `path`.
  absl::Status Write(const std::string& path, exec::Session& session) const;

 private:
  void Add(const exec::InstructionEvent& event);

  const program::Program& program_;
  int64_t steps_;
  std::unique_ptr<Trace> trace_;
};

}  // namespace pdc::train

#endif  // PDC_RUNTIME_TRAIN_TRACE_H_
