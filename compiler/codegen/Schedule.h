//===- Schedule.h - how a fused group is looped over ------------*- C++ -*-===//
#ifndef PDC_COMPILER_CODEGEN_SCHEDULE_H
#define PDC_COMPILER_CODEGEN_SCHEDULE_H

#include "dialects/nn/Analysis/IterationSpace.h"
#include "dialects/nn/Analysis/ScalarTraits.h"
#include "mlir/IR/BuiltinTypes.h"

namespace pdc::nn {
class FusionOp;
}

namespace pdc::codegen {

/// A set of axes, as bits.
using AxisSet = uint64_t;

/// One loop of the generated code: adjacent loops of the iteration space that all values and layouts treat
/// alike are collapsed to one axis.
struct Axis {
  int64_t size;
  llvm::SmallVector<int> loops; // of the iteration space, outermost first
};

/// How an operand or result lies in memory.
struct Access {
  unsigned argument;
  mlir::Type elementType;
  llvm::SmallVector<int64_t> strides; // in elements, per axis; 0 along axes that it does not run over
};

/// Two ways to walk the axes:
///
///   Rows: the innermost axis is reduced (softmax), so a unit is one point of the parallel axes.
///
///     for unit in parallel axes            in parallel
///       for phase                          a phase per reduction that needs the one before
///         for reduced axes ...             vectorized along the last
///
///   Columns: the innermost axis is parallel (any elementwise group, column sums), so a unit is a block of
///   it.
///
///     for unit in outer parallel axes x blocks of the vector axis
///       for phase
///         for reduced axes ...             accumulating into a buffer of one block
///           for element of the block       vectorized
///         for element of the block         what does not run over reduced axes
enum class Walk { Rows, Columns };

struct Schedule {
  nn::IterationSpace space;
  Walk walk = Walk::Columns;
  llvm::SmallVector<Axis> axes; // parallel ones, then reduced ones
  unsigned parallelAxes = 0;
  unsigned vectorAxis = 0;
  /// Columns: elements of the vector axis in a unit. Rows: elements that are summed in f32 before the partial
  /// sum is added to an f64 one.
  int64_t block = 1;

  llvm::SmallVector<Access> operands, results;
  llvm::SmallVector<int> donatedOperand; // per result: the operand whose memory it takes, or -1
  /// Phase of a value: how many reductions must be complete before it can be computed.
  llvm::DenseMap<mlir::Value, int> phases;
  int phaseCount = 1;
  llvm::DenseMap<mlir::Value, AxisSet> axesOfValue;
  llvm::DenseMap<mlir::Operation *, nn::ScalarTraits> traits;
  double flops = 0, bytes = 0;

  AxisSet parallelSet() const { return (AxisSet(1) << parallelAxes) - 1; }
  AxisSet reducedSet() const { return ((AxisSet(1) << axes.size()) - 1) & ~parallelSet(); }
  int64_t blocksPerRow() const { return (axes[vectorAxis].size + block - 1) / block; }
  int64_t units() const;
  int64_t reducedExtent() const;
};

/// The schedule of `fusion` with these memory layouts: see KernelLibraryBuilder::add. Emits its errors on the
/// fusion.
mlir::FailureOr<Schedule> makeSchedule(nn::FusionOp fusion, mlir::ArrayRef<mlir::MemRefType> arguments);

} // namespace pdc::codegen

#endif // PDC_COMPILER_CODEGEN_SCHEDULE_H
