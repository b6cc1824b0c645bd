//===- DeviceKinds.cpp - devices of several kinds, compared ---------------===//

#include "compiler/cost/DeviceKinds.h"
#include <algorithm>

using namespace pdc;
using namespace pdc::cost;

/// Seconds of a product that is large enough for any device to be at its best.
static double productSeconds(const CostModel &model, int64_t rank) {
  OpWork work;
  work.opClass = machine::OpClass::Matmul;
  work.flops = 1e12;
  return model.opSeconds(work, rank);
}

std::vector<int64_t> cost::ranksOfEachKind(const machine::Cluster &cluster, int64_t first, int64_t count) {
  std::vector<int64_t> ranks;
  int64_t begin = 0, last = 0;
  for (const machine::NodeGroup &group : cluster.nodes) {
    int64_t end = begin + group.count * group.devicesPerNode;
    if (begin < first + count && end > first)
      ranks.push_back(begin);
    last = begin;
    begin = end;
  }
  if (ranks.empty())
    ranks.push_back(last);
  return ranks;
}

int64_t cost::slowestKind(const CostModel &model, const machine::Cluster &cluster, int64_t first, int64_t count) {
  std::vector<int64_t> ranks = ranksOfEachKind(cluster, first, count);
  return *std::max_element(ranks.begin(), ranks.end(), [&](int64_t a, int64_t b) {
    return productSeconds(model, a) < productSeconds(model, b);
  });
}

double cost::slowness(const CostModel &model, int64_t rank) {
  double fast = productSeconds(model, 0);
  return fast > 0 ? productSeconds(model, rank) / fast : 1;
}
