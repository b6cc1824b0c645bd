// From a command line to Options.
#ifndef PDC_RUNTIME_TRAIN_PARSE_OPTIONS_H_
#define PDC_RUNTIME_TRAIN_PARSE_OPTIONS_H_

#include <string>

#include "runtime/program/program_generated.h"
#include "runtime/train/options.h"

namespace pdc::train {

struct ParsedCommandLine {
  bool run = false;     // whether `options` is a command to run
  int exit_code = 0;    // otherwise
  std::string message;  // for standard output when exit_code is 0, else one line for standard error
  Options options;
};

// `executable` gives the texts of --help and --version.
ParsedCommandLine ParseCommandLine(int argc, const char* const* argv, const program::Executable& executable);

}  // namespace pdc::train

#endif  // PDC_RUNTIME_TRAIN_PARSE_OPTIONS_H_
