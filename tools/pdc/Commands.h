//===- Commands.h - the commands of pdc -------------------------*- C++ -*-===//
//
// Each command adds its options to the command line and says what to do when it is called. A command returns
// the process's exit status; errors are one line on standard error.
//
//===----------------------------------------------------------------------===//
#ifndef PDC_TOOLS_PDC_COMMANDS_H
#define PDC_TOOLS_PDC_COMMANDS_H

#include "llvm/ADT/StringRef.h"
#include <functional>
#include <string>

namespace CLI {
class App;
} // namespace CLI

namespace pdc::tool {

/// What main() runs after the command line is read.
using Action = std::function<int()>;

/// pdc MODEL -o EXE ...: options of the program itself, not of a subcommand.
void addCompileCommand(CLI::App &app, Action &action);
/// pdc plan EXE
void addPlanCommand(CLI::App &app, Action &action);
/// pdc compare MODEL
void addCompareCommand(CLI::App &app, Action &action);
/// pdc profile, under mpiexec
void addProfileCommand(CLI::App &app, Action &action);
/// pdc place GRAPH --format=...
void addPlaceCommand(CLI::App &app, Action &action);
/// pdc simulate EXE|PLAN --cluster=FILE
void addSimulateCommand(CLI::App &app, Action &action);
/// Commands of the interface that this version answers with "not supported yet".
void addCommandsToCome(CLI::App &app, Action &action);

/// Prints "pdc: MESSAGE" and returns exit status 1.
int fail(const std::string &message);

/// The launcher that executables are copies of, embedded in pdc.
llvm::StringRef embeddedLauncher();

} // namespace pdc::tool

#endif // PDC_TOOLS_PDC_COMMANDS_H
