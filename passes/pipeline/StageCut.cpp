//===- StageCut.cpp - where a chain of ops is cut into stages -------------===//

#include "passes/pipeline/StageCut.h"
#include <algorithm>
#include <limits>

using namespace llvm;

namespace {

struct Cut {
  double cost = std::numeric_limits<double>::infinity();
  int64_t begin = -1; // of the last part
};

/// best[p][i]: of the first i ops in p parts. `join` gives the cost of what is before a part together with the part's.
template <typename Join>
std::vector<std::vector<Cut>> findCuts(ArrayRef<double> secondsOfOp, ArrayRef<double> secondsOfCut,
                                       ArrayRef<double> slownessOfPart, Join join) {
  auto count = static_cast<int64_t>(secondsOfOp.size()), parts = static_cast<int64_t>(slownessOfPart.size());
  std::vector<double> before(count + 1, 0);
  for (int64_t i = 0; i < count; ++i)
    before[i + 1] = before[i] + secondsOfOp[i];
  auto border = [&](int64_t i) { return i == 0 || i == count ? 0.0 : secondsOfCut[i]; };
  std::vector<std::vector<Cut>> best(parts + 1, std::vector<Cut>(count + 1));
  best[0][0] = {0, -1};
  for (int64_t part = 1; part <= parts; ++part)
    for (int64_t end = part; end <= count - (parts - part); ++end)
      for (int64_t begin = part - 1; begin < end; ++begin) {
        double seconds = slownessOfPart[part - 1] * (before[end] - before[begin]) + border(begin) + border(end);
        Cut found{join(best[part - 1][begin].cost, seconds), begin};
        if (found.cost < best[part][end].cost)
          best[part][end] = found;
      }
  return best;
}

} // namespace

std::vector<int64_t> pdc::passes::cutEvenly(ArrayRef<double> secondsOfOp, ArrayRef<double> secondsOfCut,
                                            ArrayRef<double> slownessOfPart) {
  auto count = static_cast<int64_t>(secondsOfOp.size()), parts = static_cast<int64_t>(slownessOfPart.size());
  double slowest = findCuts(secondsOfOp, secondsOfCut, slownessOfPart, [](double cost, double seconds) {
                     return std::max(cost, seconds);
                   })[parts][count].cost;
  // How even the rest is decides among all cuts whose slowest part is no slower, also those that begin with a part which is
  // slower than it need be.
  auto best = findCuts(secondsOfOp, secondsOfCut, slownessOfPart, [&](double cost, double seconds) {
    return seconds <= slowest ? cost + seconds * seconds : std::numeric_limits<double>::infinity();
  });
  std::vector<int64_t> begins(parts);
  for (int64_t part = parts, end = count; part > 0; --part)
    end = begins[part - 1] = best[part][end].begin;
  return begins;
}
