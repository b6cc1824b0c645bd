//===- MinSum.cpp - the inner loops of elimination ------------------------===//

#include "compiler/plan/problem/MinSum.h"
#include <algorithm>
#include <cstring>
#include <limits>

using namespace pdc::plan;

size_t Bucket::entries() const {
  size_t product = 1;
  for (uint32_t extent : extents)
    product *= extent;
  return product;
}

size_t Bucket::messageEntries() const { return entries() / extents[eliminated]; }

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

#define PDC_INLINE inline __attribute__((always_inline))

/// Eight entries; in narrower registers several of them.
using Entries = double __attribute__((vector_size(64)));

/// A part of a row of a message, kept in registers: row[k] = min over v of narrow[v] + sum over tables of table[v * n + k].
template <typename Part, size_t parts, size_t tables>
PDC_INLINE static void minTile(double *row, const double *narrow, const double *const (&wide)[tables], uint32_t choices,
                               uint32_t n) {
  constexpr double infinite = std::numeric_limits<double>::infinity();
  constexpr size_t length = sizeof(Part) / sizeof(double);
  Part least[parts];
#pragma clang loop unroll(full)
  for (size_t part = 0; part < parts; ++part)
    least[part] = Part{} + infinite;
  for (uint32_t v = 0; v < choices; ++v) {
    double constant = narrow ? narrow[v] : 0.0;
    if (constant == infinite)
      continue; // much is forbidden
#pragma clang loop unroll(full)
    for (size_t part = 0; part < parts; ++part) {
      Part sum = Part{} + constant;
      for (const double *table : wide) {
        Part entries;
        std::memcpy(&entries, table + size_t{v} * n + part * length, sizeof(Part)); // aligned as doubles are
        sum += entries;
      }
      least[part] = sum < least[part] ? sum : least[part];
    }
  }
  std::memcpy(row, least, sizeof(least));
}

template <size_t tables>
PDC_INLINE static void minTiles(double *row, const double *narrow, const double *const *wide, uint32_t choices, uint32_t n) {
  const double *at[tables];
  std::copy(wide, wide + tables, at);
  auto advance = [&](uint32_t count) __attribute__((always_inline)) {
    row += count;
    for (const double *&entries : at)
      entries += count;
    return count;
  };
  uint32_t k = 0;
  for (; k + 32 <= n; k += advance(32))
    minTile<Entries, 4>(row, narrow, at, choices, n);
  for (; k + 8 <= n; k += advance(8))
    minTile<Entries, 1>(row, narrow, at, choices, n);
  for (; k < n; k += advance(1))
    minTile<double, 1>(row, narrow, at, choices, n);
}

PDC_VECTOR_CLONES static void minRow1(double *row, const double *narrow, const double *const *wide, uint32_t choices,
                                      uint32_t n) {
  minTiles<1>(row, narrow, wide, choices, n);
}
PDC_VECTOR_CLONES static void minRow2(double *row, const double *narrow, const double *const *wide, uint32_t choices,
                                      uint32_t n) {
  minTiles<2>(row, narrow, wide, choices, n);
}
PDC_VECTOR_CLONES static void minRow3(double *row, const double *narrow, const double *const *wide, uint32_t choices,
                                      uint32_t n) {
  minTiles<3>(row, narrow, wide, choices, n);
}

/// row[k] = min(row[k], constant + a[k])
PDC_VECTOR_CLONES static void minWith(double *__restrict row, double constant, const double *__restrict a, uint32_t n) {
  for (uint32_t k = 0; k < n; ++k) {
    double sum = constant + a[k];
    row[k] = sum < row[k] ? sum : row[k];
  }
}

//===----------------------------------------------------------------------===//
// Laying tables out
//===----------------------------------------------------------------------===//

namespace {
/// A table, or a sum of tables, in the order of axes in which the inner loops read it.
struct LaidOutTable {
  std::vector<uint32_t> axes; // the eliminated axis and then the innermost one last
  std::vector<double> sum;    // unless it lies so already
  const double *entries = nullptr;
};
} // namespace

static LaidOutTable layOut(const std::vector<AxisTable> &group, const Bucket &bucket, int64_t innermost) {
  LaidOutTable result;
  for (const AxisTable &table : group)
    result.axes = unite(result.axes, table.axes);
  auto isLate = [&](uint32_t axis) { return axis == bucket.eliminated || axis == innermost; };
  std::erase_if(result.axes, isLate);
  result.axes.push_back(bucket.eliminated);
  if (innermost >= 0)
    result.axes.push_back(static_cast<uint32_t>(innermost));
  if (group.size() == 1 && group[0].axes == result.axes) {
    result.entries = group[0].entries;
    return result;
  }
  result.sum.assign(product(result.axes, bucket.extents), 0.0);
  for (const AxisTable &table : group)
    addTable(table, bucket.extents, result.axes, result.sum);
  result.entries = result.sum.data();
  return result;
}

//===----------------------------------------------------------------------===//
// The least sum
//===----------------------------------------------------------------------===//

/// One row of the message: the least over the eliminated axis, whose entries are `n` apart in `wide` tables.
static void minRow(double *row, const double *narrow, const std::vector<const double *> &wide, uint32_t choices,
                   uint32_t n, std::vector<double> &scratch) {
  switch (wide.size()) {
  case 1:
    return minRow1(row, narrow, wide.data(), choices, n);
  case 2:
    return minRow2(row, narrow, wide.data(), choices, n);
  case 3:
    return minRow3(row, narrow, wide.data(), choices, n);
  default:
    break;
  }
  std::fill(row, row + n, std::numeric_limits<double>::infinity());
  for (uint32_t v = 0; v < choices; ++v) {
    double constant = narrow ? narrow[v] : 0.0;
    if (constant == std::numeric_limits<double>::infinity())
      continue;
    size_t at = size_t{v} * n;
    std::copy(wide[0] + at, wide[0] + at + n, scratch.begin());
    for (size_t table = 1; table < wide.size(); ++table)
      addRow(scratch.data(), wide[table] + at, n);
    minWith(row, constant, scratch.data(), n);
  }
}

/// The bucket has no axis but the eliminated one.
static double minOfAll(const Bucket &bucket) {
  double least = std::numeric_limits<double>::infinity();
  for (uint32_t v = 0; v < bucket.extents[bucket.eliminated]; ++v) {
    double sum = 0;
    for (const AxisTable &table : bucket.tables)
      sum += table.entries[v];
    least = std::min(least, sum);
  }
  return least;
}

std::vector<double> pdc::plan::minSum(const Bucket &bucket) {
  std::vector<uint32_t> outerAxes;
  for (uint32_t axis = 0; axis < bucket.extents.size(); ++axis)
    if (axis != bucket.eliminated)
      outerAxes.push_back(axis);
  if (outerAxes.empty())
    return {minOfAll(bucket)};
  uint32_t innermost = outerAxes.back();
  outerAxes.pop_back();

  std::vector<AxisTable> narrowTables, wideTables;
  for (const AxisTable &table : bucket.tables)
    (std::count(table.axes.begin(), table.axes.end(), innermost) ? wideTables : narrowTables)
        .push_back(table);
  Odometer outer(outerAxes, bucket.extents);
  // All narrow ones together have at most one innermost extent'th of the bucket's entries.
  LaidOutTable narrow;
  if (!narrowTables.empty()) {
    narrow = layOut(narrowTables, bucket, -1);
    outer.follow(stridesOf(narrow.axes, bucket.extents));
  }
  size_t firstWide = narrowTables.empty() ? 0 : 1;
  std::vector<LaidOutTable> wide;
  for (const std::vector<AxisTable> &group : groupTables(wideTables, bucket.extents)) {
    wide.push_back(layOut(group, bucket, innermost));
    outer.follow(stridesOf(wide.back().axes, bucket.extents));
  }

  uint32_t n = bucket.extents[innermost];
  std::vector<double> message(bucket.messageEntries()), scratch(n);
  std::vector<const double *> rows(wide.size());
  double *row = message.data();
  do {
    for (size_t i = 0; i < wide.size(); ++i)
      rows[i] = wide[i].entries + outer.offset(firstWide + i);
    minRow(row, narrow.entries ? narrow.entries + outer.offset(0) : nullptr, rows,
           bucket.extents[bucket.eliminated], n, scratch);
    row += n;
  } while (outer.next());
  return message;
}
