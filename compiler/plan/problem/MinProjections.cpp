//===- MinProjections.cpp - sums of tables by some of their axes ----------===//

#include "compiler/plan/problem/MinProjections.h"
#include <algorithm>
#include <limits>
#include <list>

using namespace pdc::plan;

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
