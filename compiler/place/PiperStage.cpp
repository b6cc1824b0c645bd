//===- PiperStage.cpp - what a stage takes in Piper's model ---------------===//

#include "compiler/place/PiperStage.h"
#include <algorithm>
#include <limits>
#include <tuple>

using namespace pdc::place;

double PiperStage::interiorSeconds(const PiperConfiguration &configuration, const PiperModel &model, int data) {
  double reduced = 4.0 * (data - 1) * configuration.parameterBytes / data / model.samples;
  return reduced / model.bytesPerSecond + configuration.seconds / data;
}

PiperStage::PiperStage(const PiperGraph &graph, const PiperModel &model, const std::vector<int> &nodes,
                       const Bits &inside, PiperDegrees degrees)
    : fastest(nodes.size(), 0), memoryBytes(model.memoryBytes) {
  std::map<int, size_t> indexOf;
  for (size_t i = 0; i < nodes.size(); ++i) {
    indexOf[nodes[i]] = i;
    std::vector<Option> &list = options.emplace_back();
    for (const PiperConfiguration &c : graph.nodes[nodes[i]].configurations.at(degrees.tensor))
      list.push_back({interiorSeconds(c, model, degrees.data), c.bytesPerSample, c.fixedBytes});
  }
  // Twice: forward and backward.
  double secondsPerByte = 2.0 / degrees.data / model.bytesPerSecond;
  for (const PiperEdge &edge : graph.edges) {
    bool from = contains(inside, edge.from), to = contains(inside, edge.to);
    if (from == to)
      continue;
    int node = from ? edge.from : edge.to;
    std::vector<Option> &list = options[indexOf[node]];
    const auto &configurations = graph.nodes[node].configurations.at(degrees.tensor);
    for (size_t c = 0; c < list.size(); ++c)
      list[c].seconds += secondsPerByte * (edge.bytes + (from ? configurations[c].bytesTo.at(edge.to)
                                                              : configurations[c].bytesFrom.at(edge.from)));
  }
  for (size_t i = 0; i < options.size(); ++i)
    for (size_t c = 1; c < options[i].size(); ++c)
      if (options[i][c].seconds < options[i][fastest[i]].seconds)
        fastest[i] = static_cast<int>(c);
}

double PiperStage::seconds(int samplesInFlight) const {
  std::vector<int> choice = chosen(samplesInFlight);
  if (choice.empty())
    return std::numeric_limits<double>::infinity();
  double sum = 0;
  for (size_t i = 0; i < options.size(); ++i)
    sum += options[i][choice[i]].seconds;
  return sum;
}

std::vector<int> PiperStage::chosen(int samplesInFlight) const {
  double bytes = 0, least = 0;
  for (size_t i = 0; i < options.size(); ++i) {
    bytes += options[i][fastest[i]].bytes(samplesInFlight);
    double leastOfNode = std::numeric_limits<double>::infinity();
    for (const Option &option : options[i])
      leastOfNode = std::min(leastOfNode, option.bytes(samplesInFlight));
    least += leastOfNode;
  }
  if (bytes <= memoryBytes)
    return fastest;
  if (least > memoryBytes)
    return {};
  return shave(fastest, bytes - memoryBytes, samplesInFlight);
}

/// As published: where every node has at most two configurations, all exchanges in the order of time lost for a byte;
/// else again and again the exchange that is the best one then, bytes beyond the excess not counted.
std::vector<int> PiperStage::shave(std::vector<int> choice, double excessBytes, int samples) const {
  constexpr double kEnough = 1e-9;
  bool isSimple = std::all_of(options.begin(), options.end(), [](const auto &list) { return list.size() <= 2; });
  auto exchanges = [&](bool truncates) {
    std::vector<std::tuple<double, int, int>> result; // seconds a byte, node, configuration
    for (size_t i = 0; i < options.size(); ++i)
      for (size_t c = 0; c < options[i].size(); ++c) {
        const Option &now = options[i][choice[i]], &then = options[i][c];
        double saved = now.bytes(samples) - then.bytes(samples);
        if (saved > kEnough)
          result.emplace_back((then.seconds - now.seconds) / (truncates ? std::min(saved, excessBytes) : saved),
                              static_cast<int>(i), static_cast<int>(c));
      }
    return result;
  };
  auto apply = [&](const std::tuple<double, int, int> &exchange) {
    auto [rate, node, configuration] = exchange;
    excessBytes -= options[node][choice[node]].bytes(samples) - options[node][configuration].bytes(samples);
    choice[node] = configuration;
  };
  if (isSimple) {
    auto list = exchanges(false);
    std::sort(list.begin(), list.end());
    for (size_t i = 0; i < list.size() && excessBytes >= kEnough; ++i)
      apply(list[i]);
    return choice;
  }
  while (excessBytes > kEnough) {
    auto list = exchanges(true);
    if (list.empty())
      return {};
    apply(*std::min_element(list.begin(), list.end()));
  }
  return choice;
}
