//===- PiperStage.cpp - what a stage takes in Piper's model ---------------===//

#include "compiler/place/PiperStage.h"
#include <algorithm>
#include <bit>
#include <limits>
#include <set>
#include <tuple>

using namespace pdc::place;

static constexpr double kNever = std::numeric_limits<double>::infinity();

PiperCosts::PiperCosts(const PiperGraph &graph, const PiperModel &model, const std::vector<int> &nodes)
    : model(model), count(static_cast<int>(nodes.size())) {
  std::set<int> all;
  for (int node : nodes)
    for (const auto &[degree, list] : graph.nodes[node].configurations)
      if (!list.empty() && degree <= model.devices)
        all.insert(degree);
  degrees.assign(all.begin(), all.end());
  std::vector<int> numberOf(graph.nodes.size(), -1);
  for (int i = 0; i < count; ++i)
    numberOf[nodes[i]] = i;
  std::vector<std::vector<const PiperEdge *>> edgesOf(count);
  for (const PiperEdge &edge : graph.edges)
    if (int from = numberOf[edge.from], to = numberOf[edge.to]; from >= 0 && to >= 0) {
      allEdges.push_back({from, to, edgesOf[from].size(), edgesOf[to].size()});
      edgesOf[from].push_back(&edge);
      edgesOf[to].push_back(&edge);
    }
  places.resize(degrees.size() * count);
  for (size_t tensor = 0; tensor < degrees.size(); ++tensor)
    for (int node = 0; node < count; ++node) {
      Place &place = places[tensor * count + node];
      place.firstChoice = allChoices.size();
      place.firstLink = allLinks.size();
      auto found = graph.nodes[nodes[node]].configurations.find(degrees[tensor]);
      if (found == graph.nodes[nodes[node]].configurations.end())
        continue;
      place.choices = found->second.size();
      for (const PiperConfiguration &c : found->second)
        allChoices.push_back({c.seconds, c.parameterBytes, c.bytesPerSample, c.fixedBytes});
      for (const PiperEdge *edge : edgesOf[node]) {
        bool leaves = edge->from == nodes[node];
        int other = leaves ? edge->to : edge->from;
        allLinks.push_back({numberOf[other], allBytes.size()});
        for (const PiperConfiguration &c : found->second)
          allBytes.push_back(edge->bytes + (leaves ? c.bytesTo : c.bytesFrom).at(other));
      }
      place.links = allLinks.size() - place.firstLink;
    }
}

int PiperCosts::tensorIndex(int degree) const {
  auto found = std::lower_bound(degrees.begin(), degrees.end(), degree);
  return found == degrees.end() || *found != degree ? -1 : static_cast<int>(found - degrees.begin());
}

void PiperStage::become(int from, int to, int tensor, int data) {
  options.clear();
  firstOf.clear();
  fastest.clear();
  leastSeconds = 0;
  const uint64_t *lower = sets[from], *upper = sets[to];
  auto isInside = [&](int node) { return (upper[node / 64] & ~lower[node / 64]) >> (node % 64) & 1; };
  // Twice: forward and backward.
  double secondsPerByte = 2.0 / data / costs.model.bytesPerSecond;
  double reduceSecondsPerByte = 4.0 * (data - 1) / data / costs.model.samples / costs.model.bytesPerSecond;
  for (int word = 0; word < sets.words(); ++word)
    for (uint64_t rest = upper[word] & ~lower[word]; rest; rest &= rest - 1) {
      int node = 64 * word + std::countr_zero(rest);
      size_t first = options.size();
      firstOf.push_back(first);
      const PiperCosts::Choice *choices = costs.firstChoice(tensor, node);
      for (size_t c = 0; c < costs.choices(tensor, node); ++c)
        options.push_back({choices[c].seconds / data + choices[c].parameterBytes * reduceSecondsPerByte,
                           choices[c].bytesPerSample, choices[c].fixedBytes});
      const PiperCosts::Link *links = costs.firstLink(tensor, node);
      for (size_t i = 0; i < costs.links(tensor, node); ++i)
        if (!isInside(links[i].other))
          for (size_t c = first; c < options.size(); ++c)
            options[c].seconds += secondsPerByte * costs.bytes(links[i])[c - first];
      size_t best = first;
      for (size_t c = first + 1; c < options.size(); ++c)
        if (options[c].seconds < options[best].seconds)
          best = c;
      fastest.push_back(static_cast<int>(best - first));
      leastSeconds += options[best].seconds;
    }
  firstOf.push_back(options.size());
}

double PiperStage::seconds(int samplesInFlight) const {
  double bytes = 0;
  for (size_t i = 0; i < nodes(); ++i)
    bytes += option(i, fastest[i]).bytes(samplesInFlight);
  if (bytes <= costs.model.memoryBytes)
    return leastSeconds;
  std::vector<int> choice = chosen(samplesInFlight);
  if (choice.empty())
    return kNever;
  double sum = 0;
  for (size_t i = 0; i < nodes(); ++i)
    sum += option(i, choice[i]).seconds;
  return sum;
}

std::vector<int> PiperStage::chosen(int samplesInFlight) const {
  double bytes = 0, least = 0;
  for (size_t i = 0; i < nodes(); ++i) {
    bytes += option(i, fastest[i]).bytes(samplesInFlight);
    double leastOfNode = kNever;
    for (size_t c = firstOf[i]; c < firstOf[i + 1]; ++c)
      leastOfNode = std::min(leastOfNode, options[c].bytes(samplesInFlight));
    least += leastOfNode;
  }
  if (bytes <= costs.model.memoryBytes)
    return fastest;
  if (least > costs.model.memoryBytes)
    return {};
  return shave(fastest, bytes - costs.model.memoryBytes, samplesInFlight);
}

/// As published: where every node has at most two configurations, all exchanges in the order of time lost for a byte;
/// else again and again the exchange that is the best one then, bytes beyond the excess not counted.
std::vector<int> PiperStage::shave(std::vector<int> choice, double excessBytes, int samples) const {
  constexpr double kEnough = 1e-9;
  bool isSimple = true;
  for (size_t i = 0; i < nodes(); ++i)
    isSimple &= count(i) <= 2;
  auto exchanges = [&](bool truncates) {
    std::vector<std::tuple<double, int, int>> result; // seconds a byte, node, configuration
    for (size_t i = 0; i < nodes(); ++i)
      for (size_t c = 0; c < count(i); ++c) {
        const Option &now = option(i, choice[i]), &then = options[firstOf[i] + c];
        double saved = now.bytes(samples) - then.bytes(samples);
        if (saved > kEnough)
          result.emplace_back((then.seconds - now.seconds) /
                                  (truncates ? std::min(saved, excessBytes) : saved),
                              static_cast<int>(i), static_cast<int>(c));
      }
    return result;
  };
  auto apply = [&](const std::tuple<double, int, int> &exchange) {
    auto [rate, node, configuration] = exchange;
    excessBytes -= option(node, choice[node]).bytes(samples) - option(node, configuration).bytes(samples);
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
