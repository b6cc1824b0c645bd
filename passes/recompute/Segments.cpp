//===- Segments.cpp - which values of a forward pass are kept -------------===//

#include "passes/recompute/Segments.h"
#include <algorithm>
#include <limits>
#include <optional>

using namespace pdc::passes;

static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

std::string pdc::passes::checkChain(const ChainProblem &problem) {
  if (problem.ops < 0 || problem.othersInFlight < 0)
    return "a negative number of ops or of micro-batches in flight";
  if (!problem.leftBytes.empty() && static_cast<int64_t>(problem.leftBytes.size()) != problem.ops)
    return "bytes left behind by " + std::to_string(problem.leftBytes.size()) + " of " + std::to_string(problem.ops) + " ops";
  for (const ChainValue &value : problem.values)
    if (value.bytes < 0 || value.made < 0 || value.lastUse < value.made || value.lastUse >= problem.ops)
      return "a value of " + std::to_string(value.bytes) + " bytes from op " + std::to_string(value.made) + " to op " +
             std::to_string(value.lastUse) + " of " + std::to_string(problem.ops);
  for (size_t i = 0; i < problem.candidates.size(); ++i)
    if (problem.candidates[i] <= (i ? problem.candidates[i - 1] : 0) || problem.candidates[i] >= problem.ops)
      return "a border before op " + std::to_string(problem.candidates[i]) + ", expected ascending ones from 1 to " +
             std::to_string(problem.ops - 1);
  return "";
}

static bool isAliveAt(const ChainValue &value, int64_t border) { return value.made < border && border <= value.lastUse; }

int64_t pdc::passes::peakOf(const ChainProblem &problem, const std::vector<int64_t> &borders) {
  auto keptUpTo = [&](size_t count) { // the first so many borders
    int64_t bytes = 0;
    for (const ChainValue &value : problem.values)
      if (std::any_of(borders.begin(), borders.begin() + static_cast<int64_t>(count),
                      [&](int64_t border) { return isAliveAt(value, border); }))
        bytes += value.bytes;
    return bytes;
  };
  int64_t most = 0;
  for (size_t segment = 0; segment <= borders.size(); ++segment) {
    int64_t begin = segment == 0 ? 0 : borders[segment - 1];
    int64_t end = segment == borders.size() ? problem.ops : borders[segment];
    int64_t bytes = keptUpTo(segment);
    for (const ChainValue &value : problem.values)
      if (value.isNeeded && value.made >= begin && value.made < end)
        bytes += value.bytes;
    for (int64_t op = begin; op < static_cast<int64_t>(problem.leftBytes.size()); ++op)
      bytes += problem.leftBytes[op];
    most = std::max(most, bytes);
  }
  return problem.othersInFlight * keptUpTo(borders.size()) + most;
}

namespace {

class SegmentSolver {
public:
  explicit SegmentSolver(const ChainProblem &problem) : problem(problem), points{0} {
    points.insert(points.end(), problem.candidates.begin(), problem.candidates.end());
    points.push_back(problem.ops);
    sumNeeded();
    kept = findNew(false);
    keptNeeded = findNew(true);
  }

  SegmentPlan run() {
    SegmentPlan best;
    best.peakBytes = kNever;
    int64_t below = kNever; // what the segments may need, exclusive
    while (std::optional<Cut> cut = cutBelow(below)) {
      int64_t peak = problem.othersInFlight * cut->keptBytes + cut->mostBytes;
      // Later cuts keep no less, and leave out no less.
      if (peak < best.peakBytes)
        best = {cut->borders, peak};
      if (problem.othersInFlight * cut->keptBytes >= best.peakBytes)
        break;
      below = cut->mostBytes;
    }
    return best;
  }

private:
  struct Cut {
    std::vector<int64_t> borders;
    int64_t keptBytes = 0, mostBytes = 0; // at the borders; that one segment needs, with what was kept before it
  };

  size_t last() const { return points.size() - 1; }

  void sumNeeded() {
    std::vector<int64_t> neededBefore(problem.ops + 1, 0), leftFrom(problem.ops + 1, 0);
    for (const ChainValue &value : problem.values)
      if (value.isNeeded)
        neededBefore[value.made + 1] += value.bytes;
    for (int64_t op = 0; op < problem.ops; ++op)
      neededBefore[op + 1] += neededBefore[op];
    for (int64_t op = static_cast<int64_t>(problem.leftBytes.size()) - 1; op >= 0; --op)
      leftFrom[op] = leftFrom[op + 1] + problem.leftBytes[op];
    for (int64_t point : points) {
      needed.push_back(neededBefore[point]);
      left.push_back(leftFrom[point]);
    }
  }

  /// Of each pair of points i and j, at i * count + j, the bytes that are alive at the second and not at the first.
  std::vector<int64_t> findNew(bool onlyNeeded) const {
    size_t count = points.size();
    // By the first point behind the making, and the last one that a value reaches.
    std::vector<std::vector<std::pair<size_t, int64_t>>> reaching(count);
    for (const ChainValue &value : problem.values) {
      size_t from = std::upper_bound(points.begin(), points.end(), value.made) - points.begin();
      size_t to = std::upper_bound(points.begin(), points.end(), value.lastUse) - points.begin();
      if (from < to && (value.isNeeded || !onlyNeeded)) // alive at points from to to - 1
        reaching[from].emplace_back(to - 1, value.bytes);
    }
    auto addFrom = [&](size_t point, std::vector<int64_t> &bytesAt) {
      for (auto [to, bytes] : reaching[point])
        for (size_t j = point; j <= to; ++j)
          bytesAt[j] += bytes;
    };
    std::vector<int64_t> alive(count, 0), old(count, 0), found(count * count, 0);
    for (size_t point = 0; point < count; ++point)
      addFrom(point, alive);
    for (size_t i = 0; i < count; ++i) {
      addFrom(i, old);
      for (size_t j = i + 1; j < count; ++j)
        found[i * count + j] = alive[j] - old[j];
    }
    return found;
  }

  /// The cut that keeps least of those whose segments all need less than `below`.
  std::optional<Cut> cutBelow(int64_t below) const {
    size_t count = points.size();
    struct Best {
      int64_t keptBytes = kNever, againBytes = 0; // at the borders up to a point; in the segments up to it
      size_t before = 0;
      auto key() const { return std::pair(keptBytes, againBytes); }
    };
    std::vector<Best> best(count);
    best[0].keptBytes = 0;
    for (size_t i = 0; i < last(); ++i) {
      if (best[i].keptBytes == kNever)
        continue;
      for (size_t j = i + 1; j < count; ++j) {
        if (bytesOf(i, j, best[i].keptBytes) >= below)
          break; // longer segments need no less
        Best found{best[i].keptBytes + (j == last() ? 0 : kept[i * count + j]), best[i].againBytes + againOf(i, j), i};
        if (found.key() < best[j].key())
          best[j] = found;
      }
    }
    if (best[last()].keptBytes == kNever)
      return std::nullopt;
    Cut cut;
    cut.keptBytes = best[last()].keptBytes;
    for (size_t j = last(); j > 0; j = best[j].before) {
      size_t i = best[j].before;
      cut.mostBytes = std::max(cut.mostBytes, bytesOf(i, j, best[i].keptBytes));
      if (i > 0)
        cut.borders.push_back(points[i]);
    }
    std::reverse(cut.borders.begin(), cut.borders.end());
    return cut;
  }

  /// What is there when the backward pass is at the segment from point i to j, `keptBytes` of it at borders.
  int64_t bytesOf(size_t i, size_t j, int64_t keptBytes) const { return keptBytes + needed[j] - needed[i] + left[i]; }

  /// What is computed again of the segment from point i to j: what is needed and not kept at its end.
  int64_t againOf(size_t i, size_t j) const {
    if (j == last() && problem.isLastKept)
      return 0;
    return needed[j] - needed[i] - (j == last() ? 0 : keptNeeded[i * points.size() + j]);
  }

  const ChainProblem &problem;
  std::vector<int64_t> points; // the beginning, the candidates, the end
  std::vector<int64_t> needed; // per point, by the backward pass, of the values made before it
  std::vector<int64_t> left;   // per point, by the ops from it on
  std::vector<int64_t> kept, keptNeeded; // see findNew
};

} // namespace

SegmentPlan pdc::passes::chooseSegments(const ChainProblem &problem) {
  if (problem.ops == 0)
    return {};
  return SegmentSolver(problem).run();
}
