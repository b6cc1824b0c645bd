// The command line of an executable: train, eval, infer, bench, verify.
#ifndef PDC_RUNTIME_TRAIN_COMMAND_LINE_H_
#define PDC_RUNTIME_TRAIN_COMMAND_LINE_H_

#include <cstdio>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "runtime/comm/communicator.h"
#include "runtime/exec/session.h"
#include "runtime/train/options.h"

namespace pdc::train {

// What the commands stand on; main() gives the real things, tests their own.
struct Environment {
  const program::Executable* executable = nullptr;  // read and checked
  std::string report;                               // the plan report as JSON; may be empty
  // Meets the other ranks.
  std::function<absl::StatusOr<std::unique_ptr<comm::Communicator>>(const RuntimeOptions&)> connect;
  // Makes this rank ready to run steps. Called by all ranks, after the data has been checked.
  std::function<absl::StatusOr<std::unique_ptr<exec::Session>>(comm::Communicator&, const RuntimeOptions&)>
      open;
  std::FILE* out = stdout;
  std::FILE* err = stderr;
  bool out_is_terminal = false;
  // Whether this process speaks for the job before ranks have met (every rank reads the same command line).
  bool speaks = true;
};

// Runs the command that `argv` names; returns the exit code: 0, 1 for an error, 2 for a command line that
// cannot be understood, 128 + the signal for a run that a signal ended. An error after ranks have met names
// the rank and the step, and ends the job on all ranks.
int RunCommandLine(int argc, const char* const* argv, const Environment& environment);

}  // namespace pdc::train

#endif  // PDC_RUNTIME_TRAIN_COMMAND_LINE_H_
