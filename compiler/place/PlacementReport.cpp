//===- PlacementReport.cpp - a placement for people and programs ----------===//

#include "compiler/place/PlacementReport.h"
#include "nlohmann/json.hpp"
#include <cstdio>

using namespace pdc::place;
using nlohmann::ordered_json;

static double gapOf(const Placement &placement) {
  if (placement.exact || placement.lowerBoundSeconds <= 0)
    return 0;
  return placement.bottleneckSeconds / placement.lowerBoundSeconds - 1;
}

std::string pdc::place::toJson(const Placement &placement) {
  ordered_json root;
  root["bottleneck"] = placement.bottleneckSeconds;
  root["stages"] = ordered_json::array();
  for (const PlacedStage &stage : placement.stages) {
    ordered_json object, nodes = ordered_json::array();
    for (const std::string &id : stage.nodes) {
      if (placement.integerIds)
        nodes.push_back(std::stoll(id));
      else
        nodes.push_back(id);
    }
    object["nodes"] = std::move(nodes);
    object["replicas"] = stage.replicas;
    object["time"] = stage.seconds;
    object["transfer_time"] = stage.transferSeconds;
    if (!stage.device.empty())
      object["device"] = stage.device;
    if (stage.tensor) {
      object["tensor"] = stage.tensor;
      object["configurations"] = stage.configurations;
    }
    root["stages"].push_back(std::move(object));
  }
  root["data_parallel"] = nullptr;
  if (placement.dataParallelSeconds)
    root["data_parallel"] = *placement.dataParallelSeconds;
  root["one_device"] = placement.oneDeviceSeconds;
  root["devices"] = placement.devices;
  root["search"] = {{"cuts", placement.cuts},
                    {"exact", placement.exact},
                    {"lower_bound", placement.lowerBoundSeconds},
                    {"gap", gapOf(placement)}};
  return root.dump(2);
}

/// "node1 .. node9, 12 nodes": a stage's nodes in few characters.
static std::string abridged(const std::vector<std::string> &ids) {
  if (ids.size() == 1)
    return ids[0];
  return ids.front() + " .. " + ids.back() + ", " + std::to_string(ids.size()) + " nodes";
}

template <typename... Values> static std::string format(const char *pattern, Values... values) {
  int size = std::snprintf(nullptr, 0, pattern, values...);
  std::string text(size + 1, '\0');
  std::snprintf(text.data(), text.size(), pattern, values...);
  text.resize(size);
  return text;
}

std::string pdc::place::toTable(const Placement &placement) {
  std::string text = format("bottleneck     %12.6f ms\n", 1e3 * placement.bottleneckSeconds);
  if (placement.dataParallelSeconds)
    text += format("data parallel  %12.6f ms\n", 1e3 * *placement.dataParallelSeconds);
  text += format("one device     %12.6f ms\n", 1e3 * placement.oneDeviceSeconds);
  text += format("cuts           %12zu  ", placement.cuts);
  text += placement.exact
              ? "(all: no plan of this cost model is faster)\n"
              : format("(some of them: at most %.2f %% above the best plan)\n", 100 * gapOf(placement));
  text += "\nstage  replicas         time     transfer  nodes\n";
  for (size_t i = 0; i < placement.stages.size(); ++i) {
    const PlacedStage &stage = placement.stages[i];
    text += format("%5zu  %8d  %8.3f ms  %8.3f ms  ", i, stage.replicas, 1e3 * stage.seconds,
                   1e3 * stage.transferSeconds);
    text += abridged(stage.nodes) + (stage.device == "cpu" ? "  (CPU)" : "");
    if (stage.tensor)
      text += "  (tensor " + std::to_string(stage.tensor) + ")";
    text += "\n";
  }
  return text;
}
