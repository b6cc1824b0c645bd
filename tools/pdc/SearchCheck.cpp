//===- SearchCheck.cpp - whether what is asked for is searched ------------===//

#include "tools/pdc/SearchCheck.h"

using namespace pdc;
using namespace pdc::tool;

/// The option whose value only a search of stages finds. --parallel=auto alone is none: it takes one stage where stages are
/// not searched.
static std::string askingOption(const pipeline::CompileOptions &options, llvm::StringRef parallel) {
  if (options.parallel.searchesStages && parallel != "auto")
    return "--parallel=" + parallel.str();
  if (options.searchesMicroBatches)
    return "--micro-batches=auto";
  if (options.searchesPipeline() && !options.schedule.empty() && options.schedule != "accumulation")
    return "--schedule=" + options.schedule;
  return "";
}

/// What leaves no stages to be searched: layouts with rules of their own, the costs of a paper, a search that only tries, and
/// stages that are given one by one or whose layouts alone are to be found.
static std::string preventingOption(const pipeline::CompileOptions &options, llvm::StringRef parallel) {
  if (!options.layoutRules.empty())
    return "--layout";
  if (llvm::StringRef(options.search).split(':').first != "exact")
    return "--search=" + options.search;
  if (options.costModel != "native")
    return "--cost-model=" + options.costModel;
  if (!options.parallel.stages.empty() || (options.parallel.isSearched && !options.parallel.searchesStages))
    return "--parallel=" + parallel.str();
  return "";
}

std::string tool::misplacedSearch(const pipeline::CompileOptions &options, llvm::StringRef parallel) {
  std::string asking = askingOption(options, parallel), preventing = preventingOption(options, parallel);
  if (asking.empty() || preventing.empty())
    return "";
  return asking + " asks for a search of pipelines, which " + preventing +
         " leaves out: give numbers for --parallel and --micro-batches, and a --schedule";
}
