//===- Downsets.cpp - where a graph can be cut ----------------------------===//

#include "compiler/place/Downsets.h"
#include <algorithm>
#include <bit>

using namespace pdc::place;

static uint64_t hashOf(const uint64_t *set, int words) {
  uint64_t hash = 0x9e3779b97f4a7c15;
  for (int i = 0; i < words; ++i) {
    hash = (hash ^ set[i]) * 0xff51afd7ed558ccd;
    hash ^= hash >> 32;
  }
  return hash;
}

void Downsets::append(const Bits &set) {
  flat.insert(flat.end(), set.begin(), set.end());
  ++count;
}

bool Downsets::insert(const Bits &set) {
  if (2 * (static_cast<size_t>(count) + 1) > table.size())
    rehash();
  size_t mask = table.size() - 1, slot = hashOf(set.data(), wordCount) & mask;
  for (; table[slot] >= 0; slot = (slot + 1) & mask)
    if (std::equal(set.begin(), set.end(), (*this)[table[slot]]))
      return false;
  table[slot] = count;
  append(set);
  return true;
}

void Downsets::clear() {
  count = 0;
  flat.clear();
  table.clear();
}

void Downsets::rehash() {
  table.assign(std::max<size_t>(1024, 2 * table.size()), -1);
  for (int set = 0; set < count; ++set) {
    size_t mask = table.size() - 1, slot = hashOf((*this)[set], wordCount) & mask;
    while (table[slot] >= 0)
      slot = (slot + 1) & mask;
    table[slot] = set;
  }
}

std::vector<int> pdc::place::members(const uint64_t *set, int words) {
  std::vector<int> nodes;
  for (int i = 0; i < words; ++i)
    for (uint64_t rest = set[i]; rest; rest &= rest - 1)
      nodes.push_back(64 * i + std::countr_zero(rest));
  return nodes;
}

std::vector<Bits> pdc::place::ancestors(const Dag &dag) {
  std::vector<Bits> result(dag.size(), Bits((dag.size() + 63) / 64));
  for (int node : dag.smallestFirstOrder())
    for (int from : dag.predecessors(node)) {
      addAll(result[node], result[from]);
      add(result[node], from);
    }
  return result;
}

bool pdc::place::enumerateDownsets(const Dag &dag, size_t limit, Downsets &sets) {
  // Sorted by a topological order, a downset is a sequence all of whose prefixes are downsets: adding only
  // nodes after the last one reaches each of them exactly once, and nothing has to be looked up.
  std::vector<int> order = dag.depthFirstOrder();
  std::vector<int> next{0}; // per set, the position after its last node
  sets.append(Bits(sets.words()));
  for (int set = 0; set < sets.size(); ++set) {
    Bits bits = sets.bits(set);
    for (int position = next[set]; position < dag.size(); ++position) {
      int node = order[position];
      const std::vector<int> &from = dag.predecessors(node);
      if (!std::all_of(from.begin(), from.end(), [&](int p) { return contains(bits, p); }))
        continue;
      if (static_cast<size_t>(sets.size()) >= limit)
        return false;
      Bits larger = bits;
      add(larger, node);
      sets.append(larger);
      next.push_back(position + 1);
    }
  }
  return true;
}

void pdc::place::appendPrefixes(const std::vector<int> &order, Downsets &sets) {
  Bits prefix(sets.words());
  sets.insert(prefix);
  for (int node : order) {
    add(prefix, node);
    sets.insert(prefix);
  }
}
