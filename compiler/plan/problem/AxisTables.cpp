//===- AxisTables.cpp - dense tables over axes, and loops over them -------===//

#include "compiler/plan/problem/AxisTables.h"
#include <algorithm>
#include <iterator>

using namespace pdc::plan;

size_t pdc::plan::product(const std::vector<uint32_t> &axes, const std::vector<uint32_t> &extents) {
  size_t entries = 1;
  for (uint32_t axis : axes)
    entries *= extents[axis];
  return entries;
}

std::vector<uint32_t> pdc::plan::unite(const std::vector<uint32_t> &a, const std::vector<uint32_t> &b) {
  std::vector<uint32_t> both;
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  return both;
}

std::vector<size_t> pdc::plan::stridesOf(const std::vector<uint32_t> &axes,
                                     const std::vector<uint32_t> &extents) {
  std::vector<size_t> strides(extents.size(), 0);
  size_t stride = 1;
  for (size_t i = axes.size(); i-- > 0;) {
    strides[axes[i]] = stride;
    stride *= extents[axes[i]];
  }
  return strides;
}

PDC_VECTOR_CLONES void pdc::plan::addRow(double *__restrict sum, const double *__restrict a, uint32_t n) {
  for (uint32_t k = 0; k < n; ++k)
    sum[k] += a[k];
}

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

std::vector<std::vector<AxisTable>> pdc::plan::groupTables(const std::vector<AxisTable> &tables,
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
