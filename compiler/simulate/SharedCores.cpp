//===- SharedCores.cpp - ranks that take turns on cores -------------------===//

#include "compiler/simulate/SharedCores.h"
#include <algorithm>
#include <limits>

using namespace pdc::simulate;

static auto leastOf(const std::map<int, double> &remaining) {
  return std::min_element(remaining.begin(), remaining.end(),
                          [](const auto &a, const auto &b) { return a.second < b.second; });
}

void SharedCores::advance(double now) {
  if (!remaining.empty()) {
    double done = (now - last) * speed(static_cast<int>(remaining.size()));
    for (auto &[rank, seconds] : remaining)
      seconds = std::max(0.0, seconds - done);
  }
  last = now;
}

void SharedCores::start(int rank, double seconds, double now) {
  advance(now);
  remaining[rank] = seconds;
}

double SharedCores::nextEnd() const {
  if (remaining.empty())
    return std::numeric_limits<double>::infinity();
  return last + leastOf(remaining)->second / speed(static_cast<int>(remaining.size()));
}

int SharedCores::finish() {
  int rank = leastOf(remaining)->first;
  advance(nextEnd());
  remaining.erase(rank);
  return rank;
}
