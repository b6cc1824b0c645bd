//===- main.cpp - pdc -----------------------------------------------------===//

#include "CLI/CLI.hpp"
#include "compiler/pipeline/Options.h"
#include "tools/pdc/Commands.h"
#include "llvm/Support/Process.h"
#include <cstdio>

using namespace pdc::tool;

int pdc::tool::fail(const std::string &message) {
  std::fprintf(stderr, "pdc: %s\n", message.c_str());
  return 1;
}

int main(int argc, char **argv) {
  // Standard files that are closed would leave their numbers to the files that are written.
  if (std::error_code code = llvm::sys::Process::FixupStandardFileDescriptors())
    return fail("standard input, output or error: " + code.message());
  CLI::App app(
      "Compiles a model, written for one device, to an executable that mpiexec starts on every rank.", "pdc");
  app.footer("Examples:\n"
             "  pdc models/gpt_tiny.mlir -o gpt --batch=16 --ranks=2 --parallel=data\n"
             "  pdc plan gpt\n"
             "  mpiexec -n 2 ./gpt train --data=text.txt --steps=100\n");
  app.set_version_flag("--version", std::string("pdc ") + pdc::pipeline::kCompilerVersion);
  app.require_subcommand(0, 1);
  // "pdc plna EXE" must not be taken for a model's name followed by a stray word.
  app.validate_positionals();

  Action action;
  addCompileCommand(app, action);
  addPlanCommand(app, action);
  addCompareCommand(app, action);
  addProfileCommand(app, action);
  addPlaceCommand(app, action);
  addSimulateCommand(app, action);
  addCommandsToCome(app, action);

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    if (error.get_exit_code() == 0) // --help, --version
      return app.exit(error);
    std::string command = "pdc";
    for (const CLI::App *chosen : app.get_subcommands())
      command += " " + chosen->get_name();
    return fail(std::string(error.what()) + " (" + command + " --help lists the options)");
  }
  if (!action) {
    std::fputs(app.help().c_str(), stderr);
    return 1;
  }
  return action();
}
