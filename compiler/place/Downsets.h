//===- Downsets.h - where a graph can be cut --------------------*- C++ -*-===//
//
// A pipeline's first stages hold a downward-closed set of nodes (a downset: with a node, all that it depends
// on), so cutting a graph into stages is choosing a chain of downsets. They are kept as bit sets in one flat
// array; a set is known by its number.
//
//===----------------------------------------------------------------------===//
#ifndef PDC_COMPILER_PLACE_DOWNSETS_H
#define PDC_COMPILER_PLACE_DOWNSETS_H

#include "compiler/place/Dag.h"
#include <cstdint>
#include <cstdlib>

namespace pdc::place {

/// One word for each 64 nodes.
using Bits = std::vector<uint64_t>;

class Downsets {
public:
  explicit Downsets(int nodes) : wordCount((nodes + 63) / 64) {}

  int size() const { return count; }
  int words() const { return wordCount; }
  const uint64_t *operator[](int set) const { return flat.data() + static_cast<size_t>(set) * wordCount; }
  Bits bits(int set) const { return Bits((*this)[set], (*this)[set] + wordCount); }
  bool contains(int set, int node) const { return (*this)[set][node / 64] >> (node % 64) & 1; }
  bool isSubset(int inner, int outer) const {
    const uint64_t *a = (*this)[inner], *b = (*this)[outer];
    for (int i = 0; i < wordCount; ++i)
      if (a[i] & ~b[i])
        return false;
    return true;
  }

  void append(const Bits &set);
  /// Appends unless it is here already, among the sets that insert() appended.
  bool insert(const Bits &set);
  void clear();

private:
  void rehash();

  int wordCount, count = 0;
  std::vector<uint64_t> flat;
  std::vector<int> table; // open addressing; -1: free
};

inline bool contains(const Bits &set, int node) { return set[node / 64] >> (node % 64) & 1; }
inline void add(Bits &set, int node) { set[node / 64] |= uint64_t{1} << (node % 64); }
inline void addAll(Bits &set, const Bits &others) {
  for (size_t i = 0; i < set.size(); ++i)
    set[i] |= others[i];
}
/// The nodes of a set in increasing order.
std::vector<int> members(const uint64_t *set, int words);

/// Per node, all nodes that it depends on, itself not included.
std::vector<Bits> ancestors(const Dag &dag);

/// Every downset of the graph, the empty one first and each after all its subsets. False, with what was found
/// till then, when there are more than `limit`.
bool enumerateDownsets(const Dag &dag, size_t limit, Downsets &sets);

/// The prefixes of a topological order, from the empty set to all nodes.
void appendPrefixes(const std::vector<int> &order, Downsets &sets);

} // namespace pdc::place

#endif // PDC_COMPILER_PLACE_DOWNSETS_H
