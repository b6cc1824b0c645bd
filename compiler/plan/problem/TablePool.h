//===- TablePool.h - tables known by their contents -------------*- C++ -*-===//
#ifndef PDC_COMPILER_PLAN_PROBLEM_TABLEPOOL_H
#define PDC_COMPILER_PLAN_PROBLEM_TABLEPOOL_H

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace pdc::plan {

/// Hashes a list of numbers; the same on every machine.
struct KeyHash {
  size_t operator()(const std::vector<uint32_t> &key) const;
};

/// Numbers lists in the order of their first appearance.
class KeyNumbering {
public:
  uint32_t operator()(const std::vector<uint32_t> &key) {
    return numbers.try_emplace(key, static_cast<uint32_t>(numbers.size())).first->second;
  }
  size_t size() const { return numbers.size(); }

private:
  std::unordered_map<std::vector<uint32_t>, uint32_t, KeyHash> numbers;
};

/// Equal tables have equal numbers, so that what was computed from one is known for all.
class TablePool {
public:
  uint32_t intern(std::vector<double> entries);
  const std::vector<double> &operator[](uint32_t table) const { return tables[table]; }
  size_t size() const { return tables.size(); }
  double totalEntries() const { return entryCount; }

private:
  std::vector<std::vector<double>> tables;
  std::unordered_multimap<uint64_t, uint32_t> byHash;
  double entryCount = 0;
};

} // namespace pdc::plan

#endif // PDC_COMPILER_PLAN_PROBLEM_TABLEPOOL_H
