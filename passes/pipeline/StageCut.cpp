//===- StageCut.cpp - where a chain of ops is cut into stages -------------===//

#include "passes/pipeline/StageCut.h"
#include <algorithm>
#include <limits>

using namespace llvm;

std::vector<int64_t> pdc::passes::cutEvenly(ArrayRef<double> secondsOfOp, ArrayRef<double> secondsOfCut,
                                            int64_t parts) {
  struct Best {
    double slowest = std::numeric_limits<double>::infinity(), squares = slowest;
    int64_t begin = -1; // of the last part
    auto key() const { return std::pair(slowest, squares); }
  };
  auto count = static_cast<int64_t>(secondsOfOp.size());
  std::vector<double> before(count + 1, 0);
  for (int64_t i = 0; i < count; ++i)
    before[i + 1] = before[i] + secondsOfOp[i];
  auto border = [&](int64_t i) { return i == 0 || i == count ? 0.0 : secondsOfCut[i]; };
  // best[p][i]: of the first i ops in p parts.
  std::vector<std::vector<Best>> best(parts + 1, std::vector<Best>(count + 1));
  best[0][0] = {0, 0, -1};
  for (int64_t part = 1; part <= parts; ++part)
    for (int64_t end = part; end <= count - (parts - part); ++end)
      for (int64_t begin = part - 1; begin < end; ++begin) {
        const Best &rest = best[part - 1][begin];
        double seconds = before[end] - before[begin] + border(begin) + border(end);
        Best found{std::max(rest.slowest, seconds), rest.squares + seconds * seconds, begin};
        if (found.key() < best[part][end].key())
          best[part][end] = found;
      }
  std::vector<int64_t> begins(parts);
  for (int64_t part = parts, end = count; part > 0; --part)
    end = begins[part - 1] = best[part][end].begin;
  return begins;
}
