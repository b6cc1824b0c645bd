//===- LayoutTables.h - what the units of a step take -----------*- C++ -*-===//
#ifndef PDC_COMPILER_PLAN_STAGES_LAYOUTTABLES_H
#define PDC_COMPILER_PLAN_STAGES_LAYOUTTABLES_H

#include "compiler/cost/CostModel.h"
#include "compiler/plan/search/SearchSpace.h"
#include "compiler/plan/stages/StepUnits.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include <map>

namespace pdc::plan {

/// The step on ranks that share it by tensor parallelism, in the layouts that take least, with some samples of a
/// micro-batch. Seconds of one rank, bytes of one rank.
struct LayoutTable {
  struct Unit {
    double forward = 0, inputGradients = 0, weightGradients = 0; // of a micro-batch
    double light = 0;       // the part of `forward` that is no product with parameters: what selective recomputation repeats
    double once = 0;        // of parameters alone: casts
    double update = 0;      // after all micro-batches
    int64_t kept = 0;       // that the backward pass of a micro-batch needs of its forward pass
    int64_t heavy = 0;      // what products with parameters make: kept in its place by selective recomputation
    int64_t gradients = 0;  // what the largest op of the backward pass reads and makes of gradients
    int64_t border = 0;     // what other units take of its forward pass
    int64_t inputs = 0;     // of the batch, for a micro-batch's samples
  };
  struct Parameter {
    int64_t bytes = 0, gradientBytes = 0, stateBytes = 0;
  };
  std::vector<Unit> units;
  std::vector<Parameter> parameters;
  std::vector<int64_t> messageBytes;

  /// Layouts are searched for the least w X + Y, X the seconds of a micro-batch and Y of what is done once. What no layouts
  /// can have less of:
  static constexpr double kWeight = 1 << 20; // w: more than micro-batches and ranks of any job
  double boundSeconds = 0; // w X + Y
  double leastOnce = 0;
  std::vector<double> leastForward, leastMicroBatch; // of each unit, each op in its fastest split
  std::vector<Parameter> leastParameters; // of a rank, of what has a gradient; no optimizer state
  /// Where the layouts of two stages meet, a message becomes one of these on its way: bytes of a rank, and the most that the
  /// change of layout could take within one group of ranks.
  struct Arrival {
    int64_t bytes = 0;
    double mostSeconds = 0;
  };
  std::vector<std::vector<Arrival>> arrivals; // per message
};

/// Solves each layout problem once: ranks of tensor parallelism, samples of a micro-batch, the kind of device.
class LayoutTables {
public:
  LayoutTables(nn::StepOp step, const StepUnits &units, const machine::Cluster &cluster,
               const cost::CostModel &costs, int64_t ranks);

  /// Null where the step cannot be split so. `device` is a rank with the device that computes.
  const LayoutTable *find(int64_t tensor, int64_t samples, int64_t device);
  /// A table of at least so many samples that is there already, of the fewest; the one that find() gives where work on
  /// more samples may take longer for a sample. Nothing where there is none, or the step cannot be split so.
  struct Known {
    const LayoutTable *table;
    double share; // of the table's samples
  };
  std::optional<Known> findKnown(int64_t tensor, int64_t samples, int64_t device);
  int64_t getBatch() const { return batch; }
  const StepUnits &getUnits() const { return units; }
  double plansConsidered = 0; // over all problems

private:
  using Key = std::tuple<int64_t, int64_t, int64_t>;
  nn::StepOp stepOf(int64_t samples);
  llvm::DenseMap<mlir::Operation *, mlir::Operation *> wholeOps(nn::StepOp copy) const;
  void fillBounds(LayoutTable &table, nn::StepOp copy, const SearchSpace &space, int64_t tensor) const;
  void fill(LayoutTable &table, nn::StepOp copy, const SearchSpace &space, llvm::ArrayRef<uint32_t> choices) const;
  std::unique_ptr<LayoutTable> solve(int64_t tensor, int64_t samples, int64_t device);

  mutable nn::StepOp step;
  const StepUnits &units;
  const machine::Cluster &cluster;
  const cost::CostModel &costs;
  int64_t ranks, batch = 1;
  bool favoursLarge; // seconds for a sample do not grow with the number of samples
  std::map<int64_t, mlir::OwningOpRef<mlir::ModuleOp>> steps; // by samples
  std::map<Key, std::unique_ptr<LayoutTable>> tables;
};

} // namespace pdc::plan

#endif // PDC_COMPILER_PLAN_STAGES_LAYOUTTABLES_H
