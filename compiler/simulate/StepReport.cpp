//===- StepReport.cpp - a simulated step, told ----------------------------===//

#include "compiler/simulate/StepReport.h"
#include "nlohmann/json.hpp"
#include <algorithm>
#include <cstdio>

using namespace pdc::simulate;
using nlohmann::ordered_json;

/// The rank that ends last: what it does is what the step takes.
static const RankTimes &slowest(const RankSimulation &simulation) {
  return *std::max_element(simulation.ranks.begin(), simulation.ranks.end(),
                           [](const RankTimes &a, const RankTimes &b) { return a.endSeconds < b.endSeconds; });
}

std::string pdc::simulate::toJson(const RankSimulation &simulation, const StepTitle &title) {
  ordered_json root;
  root["model"] = title.model;
  root["mode"] = title.mode;
  root["cluster"] = title.cluster;
  root["ranks"] = simulation.ranks.size();
  root["batch"] = title.batch;
  root["predicted"] = {{"step_time", simulation.seconds},
                       {"compute_time", slowest(simulation).busySeconds},
                       {"exposed_comm_time", slowest(simulation).exposedSeconds},
                       {"bubble_fraction", simulation.bubbleFraction()}};
  root["per_rank"] = ordered_json::array();
  for (size_t rank = 0; rank < simulation.ranks.size(); ++rank) {
    const RankTimes &times = simulation.ranks[rank];
    root["per_rank"].push_back({{"rank", rank},
                                {"compute_time", times.busySeconds},
                                {"exposed_comm_time", times.exposedSeconds},
                                {"bubble_time", times.bubbleSeconds},
                                {"end_time", times.endSeconds}});
  }
  root["transfers"] = simulation.transfers.size();
  return root.dump(2) + "\n";
}

template <typename... Values> static std::string format(const char *pattern, Values... values) {
  std::string text(static_cast<size_t>(std::snprintf(nullptr, 0, pattern, values...)), '\0');
  std::snprintf(text.data(), text.size() + 1, pattern, values...);
  return text;
}

std::string pdc::simulate::toTable(const RankSimulation &simulation, const StepTitle &title) {
  std::string text = title.model + ", " + title.mode + ", batch " + std::to_string(title.batch) + ", " +
                     std::to_string(simulation.ranks.size()) + " ranks on " + title.cluster + "\n";
  text += format("predicted step time  %.6f s\n", simulation.seconds);
  text += format("bubble               %.2f %% of all ranks' time\n\n", 100 * simulation.bubbleFraction());
  text += "rank    compute s    exposed s     bubble s        end s\n";
  for (size_t rank = 0; rank < simulation.ranks.size(); ++rank) {
    const RankTimes &times = simulation.ranks[rank];
    text += format("%4zu %12.6f %12.6f %12.6f %12.6f\n", rank, times.busySeconds, times.exposedSeconds,
                   times.bubbleSeconds, times.endSeconds);
  }
  text += "\ncompute: in kernels and library calls; exposed: waiting for transfers that are under way, or making them;\n"
          "bubble: waiting for ranks that have not come to a transfer yet, and for the end of the step\n";
  return text;
}
