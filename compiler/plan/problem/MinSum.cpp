//===- MinSum.cpp - the inner loops of elimination ------------------------===//

#include "compiler/plan/problem/MinSum.h"
#include <algorithm>
#include <cstring>
#include <iterator>
#include <limits>
#include <list>

using namespace pdc::plan;

// Wider vectors where the processor has them. Addition and minimum give the same bits in all of them.
#if defined(__x86_64__) && defined(__linux__)
#define PDC_VECTOR_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define PDC_VECTOR_CLONES
#endif

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

/// sum[k] += a[k]
PDC_VECTOR_CLONES static void addRow(double *__restrict sum, const double *__restrict a, uint32_t n) {
  for (uint32_t k = 0; k < n; ++k)
    sum[k] += a[k];
}

//===----------------------------------------------------------------------===//
// Laying tables out
//===----------------------------------------------------------------------===//

/// Strides of a dense table with these axes, per axis of the bucket; 0 for an axis that it has not.
static std::vector<size_t> stridesOf(const std::vector<uint32_t> &axes,
                                     const std::vector<uint32_t> &extents) {
  std::vector<size_t> strides(extents.size(), 0);
  size_t stride = 1;
  for (size_t i = axes.size(); i-- > 0;) {
    strides[axes[i]] = stride;
    stride *= extents[axes[i]];
  }
  return strides;
}

/// Runs over all entries of some axes, the last one fastest, and keeps the offsets of tables beside it.
namespace {
class Odometer {
public:
  Odometer(std::vector<uint32_t> axes, const std::vector<uint32_t> &extents)
      : axes(std::move(axes)), extents(extents), digits(this->axes.size(), 0) {}

  void follow(std::vector<size_t> strides) {
    tableStrides.push_back(std::move(strides));
    offsets.push_back(0);
  }
  size_t offset(size_t table) const { return offsets[table]; }

  /// False after the last entry.
  bool next() {
    for (size_t i = axes.size(); i-- > 0;) {
      uint32_t axis = axes[i];
      for (size_t table = 0; table < offsets.size(); ++table)
        offsets[table] += tableStrides[table][axis];
      if (++digits[i] < extents[axis])
        return true;
      digits[i] = 0;
      for (size_t table = 0; table < offsets.size(); ++table)
        offsets[table] -= tableStrides[table][axis] * extents[axis];
    }
    return false;
  }

private:
  std::vector<uint32_t> axes;
  const std::vector<uint32_t> &extents;
  std::vector<uint32_t> digits;
  std::vector<std::vector<size_t>> tableStrides;
  std::vector<size_t> offsets;
};
} // namespace

void pdc::plan::addTable(const AxisTable &table, const std::vector<uint32_t> &extents,
                         const std::vector<uint32_t> &axes, std::vector<double> &target) {
  std::vector<size_t> strides = stridesOf(table.axes, extents);
  if (axes.empty()) {
    target[0] += table.entries[0];
    return;
  }
  uint32_t innermost = axes.back(), n = extents[innermost];
  size_t stride = strides[innermost];
  Odometer outer({axes.begin(), axes.end() - 1}, extents);
  outer.follow(strides);
  double *row = target.data();
  do {
    const double *source = table.entries + outer.offset(0);
    if (stride == 1)
      addRow(row, source, n);
    else
      for (uint32_t k = 0; k < n; ++k)
        row[k] += source[k * stride];
    row += n;
  } while (outer.next());
}

namespace {
/// A table, or a sum of tables, in the order of axes in which the inner loops read it.
struct LaidOutTable {
  std::vector<uint32_t> axes; // the eliminated axis and then the innermost one last
  std::vector<double> sum;    // unless it lies so already
  const double *entries = nullptr;
};
} // namespace

static size_t product(const std::vector<uint32_t> &axes, const std::vector<uint32_t> &extents) {
  size_t entries = 1;
  for (uint32_t axis : axes)
    entries *= extents[axis];
  return entries;
}

static std::vector<uint32_t> unite(const std::vector<uint32_t> &a, const std::vector<uint32_t> &b) {
  std::vector<uint32_t> both;
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  return both;
}

/// Tables whose sum is so small that adding them up first costs less than adding each in the inner loop.
static std::vector<std::vector<AxisTable>> groupTables(const std::vector<AxisTable> &tables,
                                                       const std::vector<uint32_t> &extents) {
  size_t all = 1;
  for (uint32_t extent : extents)
    all *= extent;
  std::vector<std::pair<size_t, size_t>> largestFirst; // (-entries, table)
  for (size_t i = 0; i < tables.size(); ++i)
    largestFirst.emplace_back(-product(tables[i].axes, extents), i);
  std::sort(largestFirst.begin(), largestFirst.end());
  std::vector<std::vector<AxisTable>> groups;
  std::vector<std::vector<uint32_t>> groupAxes;
  for (auto [entries, index] : largestFirst) {
    const AxisTable &table = tables[index];
    size_t into = 0;
    for (; into < groups.size(); ++into) {
      std::vector<uint32_t> both = unite(groupAxes[into], table.axes);
      if (both == groupAxes[into] || 4 * product(both, extents) <= all)
        break;
    }
    if (into == groups.size()) {
      groups.emplace_back();
      groupAxes.emplace_back();
    }
    groupAxes[into] = unite(groupAxes[into], table.axes);
    groups[into].push_back(table);
  }
  return groups;
}

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

//===----------------------------------------------------------------------===//
// Projections
//===----------------------------------------------------------------------===//

/// Tables that are added up before the loops, and are then one each, on ascending axes. `sums` holds what was made.
static std::vector<AxisTable> addGroups(const std::vector<AxisTable> &tables, const std::vector<uint32_t> &extents,
                                        std::list<std::vector<double>> &sums) {
  std::vector<AxisTable> added;
  for (const std::vector<AxisTable> &group : groupTables(tables, extents)) {
    if (group.size() == 1) {
      added.push_back(group.front());
      continue;
    }
    AxisTable sum;
    for (const AxisTable &table : group)
      sum.axes = unite(sum.axes, table.axes);
    std::vector<double> &entries = sums.emplace_back(product(sum.axes, extents), 0.0);
    for (const AxisTable &table : group)
      addTable(table, extents, sum.axes, entries);
    sum.entries = entries.data();
    added.push_back(std::move(sum));
  }
  return added;
}

namespace {
/// Where a table, or a target, lies beside a block of entries: rows of the second innermost axis, columns of the innermost.
struct Strip {
  size_t rowStride;
  bool isWide; // it has the innermost axis
};
/// The tables and targets of a projection. A block is many entries, so that what surrounds it takes little time.
struct Block {
  std::vector<Strip> tables, targets;
  std::vector<const double *> tablesAt; // of the block's first entry
  std::vector<double *> targetsAt;
  uint32_t rows = 1, columns = 1;
  std::vector<double> sum; // of one row
};
} // namespace

PDC_VECTOR_CLONES static void projectBlock(Block &block) {
  const uint32_t n = block.columns;
  double *__restrict sum = block.sum.data();
  for (uint32_t row = 0; row < block.rows; ++row) {
    double constant = 0;
    for (size_t i = 0; i < block.tables.size(); ++i)
      if (!block.tables[i].isWide)
        constant += block.tablesAt[i][row * block.tables[i].rowStride];
    if (constant == std::numeric_limits<double>::infinity())
      continue; // much is forbidden
    for (uint32_t k = 0; k < n; ++k)
      sum[k] = constant;
    for (size_t i = 0; i < block.tables.size(); ++i) {
      if (!block.tables[i].isWide)
        continue;
      const double *__restrict entries = block.tablesAt[i] + row * block.tables[i].rowStride;
      for (uint32_t k = 0; k < n; ++k)
        sum[k] += entries[k];
    }
    for (size_t i = 0; i < block.targets.size(); ++i) {
      double *__restrict target = block.targetsAt[i] + row * block.targets[i].rowStride;
      if (block.targets[i].isWide) {
        for (uint32_t k = 0; k < n; ++k)
          target[k] = sum[k] < target[k] ? sum[k] : target[k];
      } else {
        double least = *target;
        for (uint32_t k = 0; k < n; ++k)
          least = sum[k] < least ? sum[k] : least;
        *target = least;
      }
    }
  }
}

/// Each target from all entries.
static std::vector<std::vector<double>> projectAll(const std::vector<uint32_t> &extents,
                                                   const std::vector<AxisTable> &all,
                                                   const std::vector<std::vector<uint32_t>> &targets) {
  std::list<std::vector<double>> sums;
  std::vector<AxisTable> tables = addGroups(all, extents, sums);
  auto innermost = static_cast<uint32_t>(extents.size() - 1);
  std::vector<uint32_t> outerAxes;
  for (uint32_t axis = 0; axis + 1 < innermost; ++axis)
    outerAxes.push_back(axis);
  Odometer outer(outerAxes, extents);
  Block block;
  block.columns = extents[innermost];
  block.rows = innermost > 0 ? extents[innermost - 1] : 1;
  block.sum.resize(block.columns);
  auto stripOf = [&](const std::vector<uint32_t> &axes) {
    std::vector<size_t> strides = stridesOf(axes, extents);
    outer.follow(strides);
    return Strip{innermost > 0 ? strides[innermost - 1] : 0, strides[innermost] != 0};
  };
  for (const AxisTable &table : tables)
    block.tables.push_back(stripOf(table.axes));
  std::vector<std::vector<double>> projections;
  for (const std::vector<uint32_t> &axes : targets) {
    block.targets.push_back(stripOf(axes));
    projections.emplace_back(product(axes, extents), std::numeric_limits<double>::infinity());
  }
  block.tablesAt.resize(tables.size());
  block.targetsAt.resize(targets.size());
  do {
    for (size_t i = 0; i < tables.size(); ++i)
      block.tablesAt[i] = tables[i].entries + outer.offset(i);
    for (size_t i = 0; i < targets.size(); ++i)
      block.targetsAt[i] = projections[i].data() + outer.offset(tables.size() + i);
    projectBlock(block);
  } while (outer.next());
  return projections;
}

/// The projection of a table onto some of its axes, both ascending.
static std::vector<double> project(const std::vector<double> &entries, const std::vector<uint32_t> &axes,
                                   const std::vector<uint32_t> &onto, const std::vector<uint32_t> &extents) {
  std::vector<uint32_t> ownExtents, own, target;
  for (uint32_t axis : axes) {
    if (std::binary_search(onto.begin(), onto.end(), axis))
      target.push_back(static_cast<uint32_t>(own.size()));
    own.push_back(static_cast<uint32_t>(own.size()));
    ownExtents.push_back(extents[axis]);
  }
  return std::move(projectAll(ownExtents, {{entries.data(), own}}, {target}).front());
}

std::vector<std::vector<double>>
pdc::plan::minProjections(const std::vector<uint32_t> &extents, const std::vector<AxisTable> &tables,
                          const std::vector<std::vector<uint32_t>> &targets) {
  // Where another target has all axes of one, and more, it is projected further.
  std::vector<std::pair<size_t, size_t>> largestFirst; // (-axes, target)
  for (size_t i = 0; i < targets.size(); ++i)
    largestFirst.emplace_back(-targets[i].size(), i);
  std::sort(largestFirst.begin(), largestFirst.end());
  std::vector<size_t> direct, holderOf(targets.size());
  for (auto [axes, target] : largestFirst) {
    auto holder = std::find_if(direct.begin(), direct.end(), [&, &own = targets[target]](size_t other) {
      return std::includes(targets[other].begin(), targets[other].end(), own.begin(), own.end());
    });
    holderOf[target] = holder == direct.end() ? target : *holder;
    if (holder == direct.end())
      direct.push_back(target);
  }
  std::vector<std::vector<uint32_t>> directTargets;
  for (size_t target : direct)
    directTargets.push_back(targets[target]);
  std::vector<std::vector<double>> found = projectAll(extents, tables, directTargets), projections(targets.size());
  for (size_t i = 0; i < direct.size(); ++i)
    projections[direct[i]] = std::move(found[i]);
  for (size_t target = 0; target < targets.size(); ++target)
    if (size_t holder = holderOf[target]; holder != target)
      projections[target] = targets[holder] == targets[target]
                                ? projections[holder]
                                : project(projections[holder], targets[holder], targets[target], extents);
  return projections;
}
