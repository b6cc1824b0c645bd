//===- ParetoElimination.cpp - time and memory together -------------------===//

#include "compiler/plan/problem/ParetoElimination.h"
#include <algorithm>
#include <cmath>

using namespace pdc::plan;

namespace {
/// What some eliminated variables cost. `excess` is by how much the priced cost is above the message's entry.
struct Point {
  double seconds = 0; // quanta
  double bytes = 0;   // quanta
  double excess = 0;  // priced quanta
};
using Front = std::vector<Point>;

/// Keeps the points that no other one beats in both, by seconds.
void keepFront(Front &points) {
  std::sort(points.begin(), points.end(), [](const Point &a, const Point &b) {
    return a.seconds != b.seconds ? a.seconds < b.seconds : a.bytes < b.bytes;
  });
  double least = std::numeric_limits<double>::infinity();
  std::erase_if(points, [&](const Point &point) {
    if (point.bytes >= least)
      return true;
    least = point.bytes;
    return false;
  });
}

/// One input of a step: how to find its entry.
struct InputAccess {
  const Factor *seconds = nullptr; // unless it is a message
  const Factor *bytes = nullptr;
  size_t message = 0;          // step that it comes from
  std::vector<size_t> strides; // per variable of the step's scope
  size_t ownStride = 0;
};

class ParetoSearch {
public:
  ParetoSearch(const PricedNetworks &networks, const EliminationOrder &order, const Elimination &priced,
               const Marginals &marginals, double pricedLeast, const ParetoLimits &limits,
               const SearchLimits &searchLimits)
      : networks(networks), order(order), priced(priced), marginals(marginals),
        useful(limits.pricedQuanta - pricedLeast), pricedLeast(pricedLeast), limits(limits),
        maxWork(searchLimits.frontPoints), fronts(order.steps.size()) {}

  ParetoResult run() {
    for (size_t step = 0; step < order.steps.size(); ++step) {
      eliminate(step);
      if (work > maxWork) {
        result.isAborted = true;
        return std::move(result);
      }
    }
    finish();
    return std::move(result);
  }

private:
  std::vector<InputAccess> accessOf(const EliminationStep &step) const {
    std::vector<InputAccess> accesses;
    const std::vector<uint32_t> &extents = networks.priced.extents;
    for (uint32_t input : step.inputs) {
      InputAccess &access = accesses.emplace_back();
      if (input < networks.priced.factors.size()) {
        access.seconds = &networks.seconds.factors[input];
        access.bytes = &networks.bytes.factors[input];
      } else {
        access.message = input - networks.priced.factors.size();
      }
      const std::vector<uint32_t> &scope = priced.scopeOf(input);
      access.strides.assign(step.scope.size(), 0);
      size_t stride = 1;
      for (size_t axis = scope.size(); axis-- > 0;) {
        auto position =
            std::lower_bound(step.scope.begin(), step.scope.end(), scope[axis]) - step.scope.begin();
        (scope[axis] == step.variable ? access.ownStride : access.strides[static_cast<size_t>(position)]) =
            stride;
        stride *= extents[scope[axis]];
      }
    }
    return accesses;
  }

  void eliminate(size_t index) {
    const EliminationStep &step = order.steps[index];
    const std::vector<uint32_t> &extents = networks.priced.extents;
    std::vector<InputAccess> accesses = accessOf(step);
    const std::vector<double> &message = networks.priced.pool[priced.tableOf(messageInput(index))];
    const std::vector<double> &outside = marginals.outside(index);
    std::vector<uint32_t> choices(extents.size(), 0);
    for (size_t entry = 0; entry < message.size(); ++entry) {
      double above = message[entry] + outside[entry];
      if (above < useful && work <= maxWork) {
        setScope(step, entry, choices);
        Front front = combine(index, accesses, choices, above);
        thin(front, above);
        if (!front.empty())
          fronts[index].emplace(entry, std::move(front));
      }
    }
  }

  uint32_t messageInput(size_t step) const {
    return static_cast<uint32_t>(networks.priced.factors.size() + step);
  }

  void setScope(const EliminationStep &step, size_t entry, std::vector<uint32_t> &choices) const {
    for (size_t axis = step.scope.size(); axis-- > 0;) {
      uint32_t variable = step.scope[axis];
      choices[variable] = static_cast<uint32_t>(entry % networks.priced.extents[variable]);
      entry /= networks.priced.extents[variable];
    }
  }

  static size_t offsetOf(const InputAccess &access, const EliminationStep &step,
                         const std::vector<uint32_t> &choices, uint32_t own) {
    size_t offset = access.ownStride * own;
    for (size_t axis = 0; axis < step.scope.size(); ++axis)
      offset += access.strides[axis] * choices[step.scope[axis]];
    return offset;
  }

  /// The factors alone, and the fronts that are to be added; false if one of them is empty.
  bool partsOf(const EliminationStep &step, const std::vector<InputAccess> &accesses,
               const std::vector<uint32_t> &choices, uint32_t own, Point &base,
               std::vector<const Front *> &parts) const {
    parts.clear();
    for (const InputAccess &access : accesses) {
      size_t offset = offsetOf(access, step, choices, own);
      if (access.seconds) {
        base.seconds += networks.seconds.pool[access.seconds->table][offset];
        base.bytes += networks.bytes.pool[access.bytes->table][offset];
        continue;
      }
      auto it = fronts[access.message].find(offset);
      if (it == fronts[access.message].end())
        return false;
      parts.push_back(&it->second);
    }
    return true;
  }

  /// All points of one entry, below what is useful and not beaten.
  Front combine(size_t index, const std::vector<InputAccess> &accesses, const std::vector<uint32_t> &choices,
                double above) {
    const EliminationStep &step = order.steps[index];
    std::vector<double> sums(networks.priced.extents[step.variable], 0.0);
    priced.addInputs(step, choices, sums);
    double message = priced.messageAt(index, choices);
    Front all;
    std::vector<const Front *> parts;
    for (uint32_t own = 0; own < sums.size(); ++own) {
      Point base{0, 0, sums[own] - message};
      if (!(base.excess + above < useful) || !partsOf(step, accesses, choices, own, base, parts))
        continue;
      Front points{base};
      for (const Front *part : parts)
        points = add(points, *part, above);
      all.insert(all.end(), points.begin(), points.end());
    }
    keepFront(all);
    return all;
  }

  Front add(const Front &a, const Front &b, double above) {
    Front sums;
    for (const Point &p : a)
      for (const Point &q : b) {
        Point sum{p.seconds + q.seconds, p.bytes + q.bytes, p.excess + q.excess};
        if (sum.excess + above < useful && sum.bytes <= limits.bytes)
          sums.push_back(sum);
      }
    work += static_cast<double>(1 + a.size() * b.size());
    keepFront(sums);
    return sums;
  }

  /// Keeps the points of the least bounds; of equal ones, which identical layers make, some of all sizes.
  void thin(Front &front, double above) {
    if (front.size() <= limits.frontSize)
      return;
    std::vector<double> excesses;
    for (const Point &point : front)
      excesses.push_back(point.excess);
    std::nth_element(excesses.begin(), excesses.begin() + limits.frontSize, excesses.end());
    double last = excesses[limits.frontSize];
    result.droppedBound = std::min(result.droppedBound, pricedLeast + above + last);
    size_t below = 0, equal = 0;
    for (const Point &point : front) {
      below += point.excess < last;
      equal += point.excess == last;
    }
    size_t room = limits.frontSize - below, seen = 0;
    std::erase_if(front, [&](const Point &point) {
      if (point.excess != last)
        return point.excess > last;
      ++seen;
      return seen * room / equal == (seen - 1) * room / equal;
    });
  }

  //===--------------------------------------------------------------------===//
  // The fastest plan and its choices
  //===--------------------------------------------------------------------===//

  /// Adds up the parts of the graph that have nothing to do with each other, then goes back.
  void finish() {
    std::vector<size_t> roots;
    for (size_t step = 0; step < order.steps.size(); ++step)
      if (order.steps[step].scope.empty())
        roots.push_back(step);
    std::vector<Front> sums{{Point{networks.seconds.constant, networks.bytes.constant, 0}}};
    for (size_t root : roots) {
      auto it = fronts[root].find(0);
      if (it == fronts[root].end())
        return;
      sums.push_back(add(sums.back(), it->second, 0));
      thin(sums.back(), 0);
    }
    // By seconds, so the first that fits.
    for (const Point &point : sums.back())
      if (point.bytes <= limits.bytes) {
        result.choices.assign(networks.priced.extents.size(), 0);
        goBack(roots, sums, point);
        return;
      }
  }

  void goBack(const std::vector<size_t> &roots, const std::vector<Front> &sums, Point target) {
    std::vector<std::pair<size_t, Point>> targets; // of steps
    for (size_t i = roots.size(); i-- > 0;) {
      const Front &front = fronts[roots[i]].at(0);
      auto [rest, own] = splitSum(sums[i], front, target);
      targets.emplace_back(roots[i], own);
      target = rest;
    }
    std::vector<Point> targetOf(order.steps.size());
    for (auto [step, point] : targets)
      targetOf[step] = point;
    for (size_t step = order.steps.size(); step-- > 0;)
      chooseFor(step, targetOf);
  }

  /// A point of each front whose sum is the target. Sums of whole numbers are exact.
  static std::pair<Point, Point> splitSum(const Front &a, const Front &b, const Point &target) {
    for (const Point &p : a)
      for (const Point &q : b)
        if (p.seconds + q.seconds == target.seconds && p.bytes + q.bytes == target.bytes)
          return {p, q};
    return {};
  }

  /// The choice of a step's variable that its target comes from, and the targets of its messages.
  void chooseFor(size_t index, std::vector<Point> &targetOf) {
    const EliminationStep &step = order.steps[index];
    std::vector<InputAccess> accesses = accessOf(step);
    std::vector<const Front *> parts;
    for (uint32_t own = 0; own < networks.priced.extents[step.variable]; ++own) {
      Point base;
      if (!partsOf(step, accesses, result.choices, own, base, parts))
        continue;
      std::vector<Point> found;
      if (!findSum(parts, 0, base, targetOf[index], found))
        continue;
      result.choices[step.variable] = own;
      size_t next = 0;
      for (const InputAccess &access : accesses)
        if (!access.seconds)
          targetOf[access.message] = found[next++];
      return;
    }
  }

  static bool findSum(const std::vector<const Front *> &parts, size_t next, const Point &sum,
                      const Point &target, std::vector<Point> &found) {
    if (next == parts.size())
      return sum.seconds == target.seconds && sum.bytes == target.bytes;
    for (const Point &point : *parts[next]) {
      Point more{sum.seconds + point.seconds, sum.bytes + point.bytes, 0};
      if (more.seconds > target.seconds || more.bytes > target.bytes)
        continue;
      found.push_back(point);
      if (findSum(parts, next + 1, more, target, found))
        return true;
      found.pop_back();
    }
    return false;
  }

  const PricedNetworks &networks;
  const EliminationOrder &order;
  const Elimination &priced;
  const Marginals &marginals;
  const double useful; // quanta above the least priced cost below which a plan is of use
  const double pricedLeast;
  const ParetoLimits &limits;
  const double maxWork;
  double work = 0;
  std::vector<std::unordered_map<size_t, Front>> fronts; // of each step, by entry of its message
  ParetoResult result;
};
} // namespace

ParetoResult pdc::plan::eliminatePareto(const PricedNetworks &networks, const EliminationOrder &order,
                                        const Elimination &priced, const Marginals &marginals,
                                        double pricedLeast, const ParetoLimits &limits,
                                        const SearchLimits &searchLimits) {
  return ParetoSearch(networks, order, priced, marginals, pricedLeast, limits, searchLimits).run();
}
