//===- MinSum.cpp - the inner loops of elimination ------------------------===//

#include "compiler/plan/problem/MinSum.h"
#include <algorithm>
#include <iterator>
#include <limits>

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

/// row[k] = min(row[k], constant + a[k])
PDC_VECTOR_CLONES static void minRow1(double *__restrict row, double constant, const double *__restrict a,
                                      uint32_t n) {
  for (uint32_t k = 0; k < n; ++k) {
    double sum = constant + a[k];
    row[k] = sum < row[k] ? sum : row[k];
  }
}

PDC_VECTOR_CLONES static void minRow2(double *__restrict row, double constant, const double *__restrict a,
                                      const double *__restrict b, uint32_t n) {
  for (uint32_t k = 0; k < n; ++k) {
    double sum = constant + a[k] + b[k];
    row[k] = sum < row[k] ? sum : row[k];
  }
}

PDC_VECTOR_CLONES static void minRow3(double *__restrict row, double constant, const double *__restrict a,
                                      const double *__restrict b, const double *__restrict c, uint32_t n) {
  for (uint32_t k = 0; k < n; ++k) {
    double sum = constant + a[k] + b[k] + c[k];
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
                                                       const Bucket &bucket) {
  std::vector<std::pair<size_t, size_t>> largestFirst; // (-entries, table)
  for (size_t i = 0; i < tables.size(); ++i)
    largestFirst.emplace_back(-product(tables[i].axes, bucket.extents), i);
  std::sort(largestFirst.begin(), largestFirst.end());
  std::vector<std::vector<AxisTable>> groups;
  std::vector<std::vector<uint32_t>> groupAxes;
  for (auto [entries, index] : largestFirst) {
    const AxisTable &table = tables[index];
    size_t into = 0;
    for (; into < groups.size(); ++into) {
      std::vector<uint32_t> both = unite(groupAxes[into], table.axes);
      if (both == groupAxes[into] || 4 * product(both, bucket.extents) <= bucket.entries())
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
static void minRows(double *row, const double *narrow, const std::vector<const double *> &wide,
                    uint32_t choices, uint32_t n, std::vector<double> &scratch) {
  std::fill(row, row + n, std::numeric_limits<double>::infinity());
  for (uint32_t v = 0; v < choices; ++v) {
    double constant = narrow ? narrow[v] : 0.0;
    if (constant == std::numeric_limits<double>::infinity())
      continue; // much is forbidden
    size_t at = size_t{v} * n;
    switch (wide.size()) {
    case 1:
      minRow1(row, constant, wide[0] + at, n);
      break;
    case 2:
      minRow2(row, constant, wide[0] + at, wide[1] + at, n);
      break;
    case 3:
      minRow3(row, constant, wide[0] + at, wide[1] + at, wide[2] + at, n);
      break;
    default:
      std::copy(wide[0] + at, wide[0] + at + n, scratch.begin());
      for (size_t table = 1; table < wide.size(); ++table)
        addRow(scratch.data(), wide[table] + at, n);
      minRow1(row, constant, scratch.data(), n);
    }
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
  for (const std::vector<AxisTable> &group : groupTables(wideTables, bucket)) {
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
    minRows(row, narrow.entries ? narrow.entries + outer.offset(0) : nullptr, rows,
            bucket.extents[bucket.eliminated], n, scratch);
    row += n;
  } while (outer.next());
  return message;
}

//===----------------------------------------------------------------------===//
// Projections
//===----------------------------------------------------------------------===//

PDC_VECTOR_CLONES static void minInto(double *__restrict target, const double *__restrict row, uint32_t n) {
  for (uint32_t k = 0; k < n; ++k)
    target[k] = row[k] < target[k] ? row[k] : target[k];
}

std::vector<std::vector<double>>
pdc::plan::minProjections(const std::vector<uint32_t> &extents, const std::vector<AxisTable> &tables,
                          const std::vector<std::vector<uint32_t>> &targets) {
  auto innermost = static_cast<uint32_t>(extents.size() - 1);
  std::vector<uint32_t> outerAxes;
  for (uint32_t axis = 0; axis < innermost; ++axis)
    outerAxes.push_back(axis);
  Odometer outer(outerAxes, extents);
  std::vector<bool> isWide; // the table or target has the innermost axis
  for (const AxisTable &table : tables) {
    outer.follow(stridesOf(table.axes, extents));
    isWide.push_back(std::count(table.axes.begin(), table.axes.end(), innermost) != 0);
  }
  std::vector<std::vector<double>> projections;
  for (const std::vector<uint32_t> &axes : targets) {
    outer.follow(stridesOf(axes, extents));
    isWide.push_back(std::count(axes.begin(), axes.end(), innermost) != 0);
    projections.emplace_back(product(axes, extents), std::numeric_limits<double>::infinity());
  }
  uint32_t n = extents[innermost];
  std::vector<double> row(n);
  do {
    double constant = 0;
    for (size_t i = 0; i < tables.size(); ++i)
      if (!isWide[i])
        constant += tables[i].entries[outer.offset(i)];
    std::fill(row.begin(), row.end(), constant);
    for (size_t i = 0; i < tables.size(); ++i)
      if (isWide[i])
        addRow(row.data(), tables[i].entries + outer.offset(i), n);
    for (size_t i = 0; i < targets.size(); ++i) {
      double *entry = projections[i].data() + outer.offset(tables.size() + i);
      if (isWide[tables.size() + i])
        minInto(entry, row.data(), n);
      else
        *entry = std::min(*entry, *std::min_element(row.begin(), row.end()));
    }
  } while (outer.next());
  return projections;
}
