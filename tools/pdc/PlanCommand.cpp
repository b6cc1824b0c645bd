//===- PlanCommand.cpp - pdc plan EXE|PLAN --------------------------------===//

#include "CLI/CLI.hpp"
#include "compiler/plan/LayoutPicture.h"
#include "compiler/plan/Report.h"
#include "runtime/base/file_uses.h"
#include "runtime/program/container.h"
#include "tools/pdc/Commands.h"
#include "tools/pdc/ModelFile.h"
#include "tools/pdc/OutputFile.h"
#include "tools/pdc/PlanInput.h"
#include "llvm/Support/raw_ostream.h"

using namespace pdc;
using namespace pdc::tool;

namespace {

struct Arguments {
  std::string input, format = "table", show, output = "-";
};

int showPlan(const Arguments &arguments) {
  if (arguments.format == "trace")
    return fail("--format=trace is not supported: the predicted step depends on the cluster; see pdc simulate EXE --cluster=... "
                "--format=trace");
  if (std::string message = base::FindOverwrite({{"EXE|PLAN", arguments.input}}, {{"-o", arguments.output}});
      !message.empty())
    return fail(message);
  if (!hasAnEnd(arguments.input))
    return 1;
  llvm::Expected<std::string> payload = readPlan(arguments.input);
  if (!payload)
    return fail(llvm::toString(payload.takeError()));
  auto sections = program::ReadPayload(*payload);
  if (!sections.ok())
    return fail(arguments.input + ": " + std::string(sections.status().message()));
  auto section = sections->find(program::kReportSection);
  if (section == sections->end())
    return fail(arguments.input + ": it carries no plan report");
  llvm::StringRef text(section->second.data(), section->second.size());
  llvm::Expected<llvm::json::Value> report = llvm::json::parse(text);
  if (!report || !report->getAsObject()) {
    std::string why = report ? "not a JSON object" : llvm::toString(report.takeError());
    return fail(arguments.input + ": its plan report is damaged: " + why);
  }
  std::string output;
  llvm::raw_string_ostream os(output);
  if (!arguments.show.empty()) {
    llvm::Expected<std::string> drawn = plan::drawLayout(*report->getAsObject(), arguments.show);
    if (!drawn)
      return fail(arguments.input + ": " + llvm::toString(drawn.takeError()));
    os << *drawn;
  } else if (arguments.format == "json") {
    os << text << "\n";
  } else if (arguments.format == "remarks") {
    plan::printRemarks(*report->getAsObject(), os);
  } else if (arguments.format == "html") {
    plan::printHtml(*report->getAsObject(), os);
  } else {
    plan::printTable(*report->getAsObject(), os);
  }
  return writeOutput(arguments.output, output);
}

} // namespace

void pdc::tool::addPlanCommand(CLI::App &app, Action &action) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App *plan = app.add_subcommand("plan", "Shows the plan that an executable carries, or that a file has");
  plan->add_option("EXE|PLAN", arguments->input,
                   "An executable made by pdc, or a plan that --plan-out wrote, which is compiled for its own cluster")
      ->required();
  plan->add_option("--format", arguments->format,
                   "table, json, html (one page), or remarks (a line for each decision and each collective, with "
                   "reasons); for a trace see pdc simulate")
      ->check(CLI::IsMember({"table", "json", "remarks", "html", "trace"}));
  plan->add_option("--show", arguments->show,
                   "Draws how this parameter, state or input lies on the mesh, instead of the plan");
  plan->add_option("-o,--output", arguments->output, "Where to write; standard output if not given");
  plan->footer("Examples:\n"
               "  pdc models/gpt_tiny.mlir -o gpt --batch=16 --ranks=2\n"
               "  pdc plan gpt\n"
               "  pdc plan gpt --format=json -o plan.json\n"
               "  pdc plan gpt --show=wte.weight\n"
               "  pdc models/gpt_tiny.mlir -o gpt --batch=16 --ranks=2 --plan-out=plan.mlir && pdc plan plan.mlir\n");
  plan->callback([arguments, &action] { action = [arguments] { return showPlan(*arguments); }; });
}

void pdc::tool::addCommandsToCome(CLI::App &app, Action &action) {
  for (const auto &[name, description] : {std::pair("import", "Models of other formats")}) {
    CLI::App *command = app.add_subcommand(name, std::string(description) + " (not supported yet)");
    command->allow_extras();
    std::string message = std::string("pdc ") + name + " is not supported yet";
    command->callback([message, &action] { action = [message] { return fail(message); }; });
  }
}
