//===- PlaceCommand.cpp - pdc place GRAPH ---------------------------------===//

#include "CLI/CLI.hpp"
#include "compiler/place/DnnPartitioningGraph.h"
#include "compiler/place/PipeDreamProfile.h"
#include "compiler/place/PiperGraph.h"
#include "compiler/place/PlacementReport.h"
#include "runtime/base/number_checks.h"
#include "tools/pdc/Commands.h"
#include "tools/pdc/ModelFile.h"
#include "tools/pdc/OutputFile.h"
#include "llvm/Support/MemoryBuffer.h"
#include <cmath>

using namespace pdc;
using namespace pdc::tool;

namespace {

struct Arguments {
  std::string graph, format, costModel, output = "-";
  bool table = false;
  place::PlaceOptions options;
};

place::Placement plan(const std::string &text, const Arguments &arguments) {
  if (arguments.format == "pipedream")
    return place::placePipeDream(place::parsePipeDreamProfile(text), arguments.options);
  if (arguments.format == "piper")
    return place::placePiper(place::parsePiperGraph(text), arguments.options);
  return place::placeDnnPartitioning(place::parseDnnPartitioningGraph(text), arguments.options);
}

int placeGraph(const Arguments &arguments) {
  if (!arguments.costModel.empty() && arguments.costModel != arguments.format)
    return fail("--cost-model=" + arguments.costModel + " needs what a graph of --format=" +
                arguments.format + " does not have; its own model is " + arguments.format);
  if (arguments.format != "pipedream") {
    if (arguments.options.bytesPerSecond && arguments.format != "piper")
      return fail("--bandwidth is of no use with --format=" + arguments.format +
                  ": the graph itself says how long transfers take");
    if (arguments.options.fewerDevices)
      return fail(
          "--fewer-devices is for --format=pipedream: in the other models devices may always stay idle");
  }
  if (!hasAnEnd(arguments.graph))
    return 1;
  auto file = llvm::MemoryBuffer::getFileOrSTDIN(arguments.graph);
  if (!file)
    return fail(arguments.graph + ": " + file.getError().message());
  std::string text;
  try {
    place::Placement placement = plan((*file)->getBuffer().str(), arguments);
    text = arguments.table ? place::toTable(placement) : place::toJson(placement) + "\n";
  } catch (const place::PlaceError &error) {
    return fail(arguments.graph + ": " + error.what());
  }
  return writeOutput(arguments.output, text);
}

/// "1.5e9", and "16gb" as the options of other commands take it.
CLI::Validator numberOrSize() {
  return CLI::Validator(
      [](std::string &text) {
        double number = 0;
        return llvm::StringRef(text).getAsDouble(number) ? CLI::AsSizeValue(false)(text) : std::string();
      },
      "");
}

} // namespace

void pdc::tool::addPlaceCommand(CLI::App &app, Action &action) {
  auto arguments = std::make_shared<Arguments>();
  Arguments &a = *arguments;
  CLI::App *place =
      app.add_subcommand("place", "Plans a published profile graph under its published cost model");
  place->add_option("GRAPH", a.graph, "The graph; - is standard input")->required();
  place->add_option("--format", a.format, "What the graph is: pipedream (text), dnn-partitioning (JSON), piper (JSON)")
      ->required()
      ->check(CLI::IsMember({"pipedream", "dnn-partitioning", "piper"}));
  place
      ->add_option("--devices", a.options.devices,
                   "Devices; dnn-partitioning (accelerators) and piper: as the graph says")
      ->check(base::Between(1, 4096));
  place
      ->add_option("--bandwidth", a.options.bytesPerSecond,
                   "Bytes a second of a device's link (pipedream: 1e9; piper: as the graph says)")
      ->check([](const std::string &text) {
        double value = std::strtod(text.c_str(), nullptr);
        return value > 0 && std::isfinite(value)
                   ? ""
                   : "'" + text + "' is not a positive number of bytes a second";
      });
  place
      ->add_option("--memory-limit", a.options.memoryBytes,
                   "Bytes of a device; with a suffix, kb and kib are 1024 bytes, and so on")
      ->transform(numberOrSize())
      ->check(base::Between(0.0, 1e18).description(""));
  place
      ->add_option("--effort", a.options.effort,
                   "How far a search goes before it is given up with a bound of what is left; 1 is about a second. The same "
                   "number always gives the same plan")
      ->check(base::Between(1e-3, 1e6).description(""))
      ->capture_default_str();
  place->add_option("--cost-model", a.costModel, "The model of that format, the default")
      ->check(CLI::IsMember({"pipedream", "dnn-partitioning", "piper"}));
  place->add_flag("--fewer-devices", a.options.fewerDevices, "A plan may leave devices idle (pipedream)");
  place
      ->add_option(
          "--max-cuts", a.options.maxCuts,
          "Graphs that can be cut at more places are planned over some of them, with a bound of the loss")
      ->check(base::Between<size_t>(1, 10'000'000))
      ->capture_default_str();
  place->add_flag("--table", a.table, "A table for people instead of JSON");
  place->add_option("-o,--output", a.output, "Where to write; standard output if not given");
  place->footer("Examples:\n"
                "  pdc place vgg16.txt --format=pipedream --devices=16 --bandwidth=3.125e9 --table\n"
                "  pdc place bert24_training.json --format=dnn-partitioning -o plan.json\n");
  place->callback([arguments, &action] { action = [arguments] { return placeGraph(*arguments); }; });
}
