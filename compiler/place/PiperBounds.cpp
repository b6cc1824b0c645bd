//===- PiperBounds.cpp - what stages take at least ------------------------===//

#include "compiler/place/PiperBounds.h"
#include <algorithm>
#include <cmath>
#include <limits>

using namespace pdc::place;

static constexpr double kNever = std::numeric_limits<double>::infinity();

PiperBounds::PiperBounds(const PiperCosts &costs, const Downsets &sets, int mostSamples)
    : costs(costs), sets(sets), tensors(costs.tensorDegrees().size()), mostSamples(mostSamples),
      sums(sets.size() * tensors), secondsOf(sets.size()), nodesOf(sets.size()), crossing(sets.size()) {
  sumUpNodes();
  sumUpEdges();
  sumUpBytes();
}

void PiperBounds::sumUpNodes() {
  std::vector<Sums> ofNode(tensors * costs.size());
  std::vector<double> leastDeviceSeconds(costs.size(), kNever);
  for (size_t tensor = 0; tensor < tensors; ++tensor)
    for (int node = 0; node < costs.size(); ++node) {
      Sums &least = ofNode[tensor * costs.size() + node];
      const PiperCosts::Choice *choices = costs.firstChoice(tensor, node);
      size_t count = costs.choices(tensor, node);
      if (count == 0) {
        least.unable = 1;
        continue;
      }
      const PiperCosts::Choice *fastest = choices;
      least.parameterBytes = least.leastBytesPerSample = least.leastFixedBytes = kNever;
      for (const PiperCosts::Choice *c = choices; c < choices + count; ++c) {
        if (c->seconds < fastest->seconds)
          fastest = c;
        least.parameterBytes = std::min(least.parameterBytes, c->parameterBytes);
        least.leastBytesPerSample = std::min(least.leastBytesPerSample, c->bytesPerSample);
        least.leastFixedBytes = std::min(least.leastFixedBytes, c->fixedBytes);
        isExact &= c->parameterBytes == choices->parameterBytes;
      }
      least.seconds = fastest->seconds;
      least.bytesPerSample = fastest->bytesPerSample;
      least.fixedBytes = fastest->fixedBytes;
      leastDeviceSeconds[node] =
          std::min(leastDeviceSeconds[node], costs.tensorDegrees()[tensor] * least.seconds);
    }
  for (int set = 0; set < sets.size(); ++set)
    for (int node : members(sets[set], sets.words())) {
      ++nodesOf[set];
      secondsOf[set] += leastDeviceSeconds[node];
      for (size_t tensor = 0; tensor < tensors; ++tensor) {
        Sums &sum = sums[set * tensors + tensor];
        const Sums &least = ofNode[tensor * costs.size() + node];
        sum.seconds += least.seconds;
        sum.parameterBytes += least.parameterBytes;
        sum.bytesPerSample += least.bytesPerSample;
        sum.fixedBytes += least.fixedBytes;
        sum.leastBytesPerSample += least.leastBytesPerSample;
        sum.leastFixedBytes += least.leastFixedBytes;
        sum.unable += least.unable;
      }
    }
}

void PiperBounds::sumUpEdges() {
  auto leastOf = [&](const PiperCosts::Link &link, size_t tensor, int node) {
    const double *bytes = costs.bytes(link);
    size_t count = costs.choices(tensor, node);
    isExact &= std::all_of(bytes, bytes + count, [&](double b) { return b == bytes[0]; });
    return *std::min_element(bytes, bytes + count);
  };
  for (const PiperCosts::Edge &edge : costs.edges()) {
    Edge &bound = edges.emplace_back(
        Edge{edge.from, edge.to, std::vector<double>(tensors), std::vector<double>(tensors)});
    for (size_t tensor = 0; tensor < tensors; ++tensor) {
      if (costs.choices(tensor, edge.from))
        bound.out[tensor] = leastOf(costs.firstLink(tensor, edge.from)[edge.linkOfFrom], tensor, edge.from);
      if (costs.choices(tensor, edge.to))
        bound.in[tensor] = leastOf(costs.firstLink(tensor, edge.to)[edge.linkOfTo], tensor, edge.to);
    }
  }
  for (int set = 0; set < sets.size(); ++set)
    for (size_t i = 0; i < edges.size(); ++i)
      if (sets.contains(set, edges[i].from) && !sets.contains(set, edges[i].to)) {
        crossing[set].push_back(static_cast<int>(i));
        for (size_t tensor = 0; tensor < tensors; ++tensor) {
          sums[set * tensors + tensor].bytesIn += edges[i].in[tensor];
          sums[set * tensors + tensor].bytesOut += edges[i].out[tensor];
        }
      }
}

/// Which choice needs the least memory depends on the samples in flight.
void PiperBounds::sumUpBytes() {
  size_t columns = mostSamples + 1;
  constexpr size_t kMostEntries = 4'000'000;
  if (sets.size() * tensors * columns > kMostEntries)
    return;
  bytesOf.resize(sets.size() * tensors * columns);
  std::vector<double> ofNode(costs.size() * columns);
  for (size_t tensor = 0; tensor < tensors; ++tensor) {
    for (int node = 0; node < costs.size(); ++node)
      for (size_t samples = 0; samples < columns; ++samples) {
        const PiperCosts::Choice *choices = costs.firstChoice(tensor, node);
        double least = costs.choices(tensor, node) ? kNever : 0;
        for (size_t c = 0; c < costs.choices(tensor, node); ++c)
          least = std::min(least, choices[c].bytesPerSample * samples + choices[c].fixedBytes);
        ofNode[node * columns + samples] = least;
      }
    for (int set = 0; set < sets.size(); ++set) {
      double *sum = bytesOf.data() + (set * tensors + tensor) * columns;
      for (int node : members(sets[set], sets.words()))
        for (size_t samples = 0; samples < columns; ++samples)
          sum[samples] += ofNode[node * columns + samples];
    }
  }
}

PiperBounds::Stage PiperBounds::stage(int from, int to, size_t tensor) const {
  const Sums &a = sums[from * tensors + tensor], &b = sums[to * tensors + tensor];
  // Edges that begin before the stage and end after it cross both cuts, but are not its own.
  double bytes = a.bytesIn + b.bytesOut;
  for (int i : crossing[from])
    if (!sets.contains(to, edges[i].to))
      bytes -= edges[i].in[tensor] + edges[i].out[tensor];
  Stage stage;
  stage.seconds = b.seconds - a.seconds + 2 * std::max(0.0, bytes) / costs.model.bytesPerSecond;
  stage.reduceSeconds =
      4 * (b.parameterBytes - a.parameterBytes) / costs.model.samples / costs.model.bytesPerSecond;
  stage.bytesPerSample = b.bytesPerSample - a.bytesPerSample;
  stage.fixedBytes = b.fixedBytes - a.fixedBytes;
  return stage;
}

int PiperBounds::Stage::fewestReplicas(double limit, int most) const {
  if (seconds <= limit)
    return 1;
  // It falls from `seconds` towards `reduceSeconds`, or rises.
  if (reduceSeconds >= limit)
    return most + 1;
  double least = std::ceil((seconds - reduceSeconds) / (limit - reduceSeconds) * (1 - kRounding));
  return least > most ? most + 1 : static_cast<int>(least);
}

double PiperBounds::leastBytes(int from, int to, size_t tensor, int samples) const {
  size_t a = from * tensors + tensor, b = to * tensors + tensor, columns = mostSamples + 1;
  // Differences of sums, which may be much larger: what their rounding can be is taken off.
  constexpr double kOfSum = 1e-12;
  if (!bytesOf.empty())
    return bytesOf[b * columns + samples] * (1 - kOfSum) - bytesOf[a * columns + samples];
  return (sums[b].leastBytesPerSample * (1 - kOfSum) - sums[a].leastBytesPerSample) * samples +
         sums[b].leastFixedBytes * (1 - kOfSum) - sums[a].leastFixedBytes;
}
