//===- AxisTables.h - dense tables over axes, and loops over them -*- C++ -*-===//
#ifndef PDC_COMPILER_PLAN_PROBLEM_AXISTABLES_H
#define PDC_COMPILER_PLAN_PROBLEM_AXISTABLES_H

#include <cstddef>
#include <cstdint>
#include <vector>

// Wider vectors where the processor has them. Addition and minimum give the same bits in all of them.
#if defined(__x86_64__) && defined(__linux__)
#define PDC_VECTOR_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define PDC_VECTOR_CLONES
#endif

namespace pdc::plan {

/// A dense table over some axes (of given extents), the last axis contiguous.
struct AxisTable {
  const double *entries = nullptr;
  std::vector<uint32_t> axes; // ascending
};

/// The number of entries of a table with these axes.
size_t product(const std::vector<uint32_t> &axes, const std::vector<uint32_t> &extents);

/// All axes of two ascending lists, ascending.
std::vector<uint32_t> unite(const std::vector<uint32_t> &a, const std::vector<uint32_t> &b);

/// Strides of a dense table with these axes, for each axis that has an extent; 0 for an axis that the table has not.
std::vector<size_t> stridesOf(const std::vector<uint32_t> &axes, const std::vector<uint32_t> &extents);

/// Runs over all entries of some axes, the last one fastest, and keeps the offsets of tables beside it.
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

/// sum[k] += a[k]
PDC_VECTOR_CLONES void addRow(double *__restrict sum, const double *__restrict a, uint32_t n);

/// target[x] += table[x] for a table whose axes are among `axes`, which need not ascend; the last of `axes` is
/// contiguous in `target`.
void addTable(const AxisTable &table, const std::vector<uint32_t> &extents, const std::vector<uint32_t> &axes,
              std::vector<double> &target);

/// Tables whose sum is so small that adding them up first costs less than adding each in an inner loop over all extents.
std::vector<std::vector<AxisTable>> groupTables(const std::vector<AxisTable> &tables,
                                                const std::vector<uint32_t> &extents);

} // namespace pdc::plan

#endif // PDC_COMPILER_PLAN_PROBLEM_AXISTABLES_H
