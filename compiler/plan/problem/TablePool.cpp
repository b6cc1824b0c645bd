//===- TablePool.cpp - tables known by their contents ---------------------===//

#include "compiler/plan/problem/TablePool.h"
#include <bit>

using namespace pdc::plan;

/// The finalizer of MurmurHash3 over a running state: not cryptographic, equality is checked after it.
static uint64_t mix(uint64_t state, uint64_t word) {
  state = (state ^ word) * 0xff51afd7ed558ccdULL;
  return state ^ (state >> 32);
}

size_t KeyHash::operator()(const std::vector<uint32_t> &key) const {
  uint64_t state = key.size();
  for (uint32_t word : key)
    state = mix(state, word);
  return static_cast<size_t>(mix(state, 0));
}

uint32_t TablePool::intern(std::vector<double> entries) {
  // Four states side by side: a multiplication waits for no other.
  uint64_t states[4] = {entries.size(), 1, 2, 3};
  size_t i = 0;
  for (; i + 4 <= entries.size(); i += 4)
    for (size_t lane = 0; lane < 4; ++lane)
      states[lane] = mix(states[lane], std::bit_cast<uint64_t>(entries[i + lane]));
  for (; i < entries.size(); ++i)
    states[0] = mix(states[0], std::bit_cast<uint64_t>(entries[i]));
  uint64_t hash = mix(mix(mix(states[0], states[1]), states[2]), states[3]);
  auto [begin, end] = byHash.equal_range(hash);
  for (auto it = begin; it != end; ++it)
    if (tables[it->second] == entries)
      return it->second;
  auto number = static_cast<uint32_t>(tables.size());
  entryCount += static_cast<double>(entries.size());
  tables.push_back(std::move(entries));
  byHash.emplace(hash, number);
  return number;
}
