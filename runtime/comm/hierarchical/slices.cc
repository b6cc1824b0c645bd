#include "runtime/comm/hierarchical/slices.h"

#include <algorithm>

namespace pdc::comm {

namespace {

constexpr size_t kCacheLineBytes = 64;

size_t RailCount(const Placement& placement) {
  size_t rails = 0;
  for (const std::vector<int>& node : placement.nodes) rails = std::max(rails, node.size());
  return rails;
}

// `count` slices of equal size, as far as there are bytes.
void Cut(size_t bytes, size_t count, std::vector<Slice>* slices) {
  const size_t lines = (bytes + kCacheLineBytes - 1) / kCacheLineBytes;
  const size_t size = (lines + count - 1) / count * kCacheLineBytes;
  slices->clear();
  for (size_t i = 0; i < count; ++i) {
    const size_t begin = std::min(bytes, i * size);
    slices->push_back({begin, std::min(bytes, begin + size) - begin, -1, 0});
  }
}

}  // namespace

Placement PlacementOf(const std::vector<int>& nodes) {
  Placement placement;
  std::vector<int> order;  // the numbers of nodes as they appear
  for (size_t member = 0; member < nodes.size(); ++member) {
    const auto found = std::find(order.begin(), order.end(), nodes[member]);
    const auto node = static_cast<size_t>(found - order.begin());
    if (found == order.end()) {
      order.push_back(nodes[member]);
      placement.nodes.emplace_back();
    }
    placement.node_of.push_back(static_cast<int>(node));
    placement.place_of.push_back(static_cast<int>(placement.nodes[node].size()));
    placement.nodes[node].push_back(static_cast<int>(member));
  }
  return placement;
}

void RailSlices(const Placement& placement, size_t bytes, std::vector<Slice>* slices) {
  const size_t rails = RailCount(placement);
  Cut(bytes, rails, slices);
  for (size_t i = 0; i < rails; ++i) (*slices)[i].rail = static_cast<int>(i);
}

void EvenSlices(const Placement& placement, size_t bytes, std::vector<Slice>* slices) {
  const size_t rails = RailCount(placement);
  Cut(bytes, rails * placement.nodes.size(), slices);
  for (size_t i = 0; i < slices->size(); ++i) {
    (*slices)[i].rail = static_cast<int>(i % rails);
    (*slices)[i].home = placement.Speaker(static_cast<int>(i / rails), (*slices)[i].rail);
  }
}

void CountedSlices(const Placement& placement, const std::vector<int64_t>& counts, size_t element_bytes,
                   std::vector<Slice>* slices) {
  slices->clear();
  size_t begin = 0;
  for (int member = 0; member < placement.members(); ++member) {
    const size_t bytes = static_cast<size_t>(counts[member]) * element_bytes;
    slices->push_back({begin, bytes, member, placement.place_of[member]});
    begin += bytes;
  }
}

}  // namespace pdc::comm
