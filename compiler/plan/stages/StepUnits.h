//===- StepUnits.h - the pieces that stages are made of ---------*- C++ -*-===//
#ifndef PDC_COMPILER_PLAN_STAGES_STEPUNITS_H
#define PDC_COMPILER_PLAN_STAGES_STEPUNITS_H

#include "compiler/place/Downsets.h"
#include "dialects/nn/IR/NN.h"
#include "passes/pipeline/StageAssignment.h"
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace pdc::plan {

/// A parameter and its optimizer state.
struct UnitParameter {
  std::string name;
  std::vector<int> units; // that compute with it; of a tied one several
  std::vector<mlir::Value> resident; // itself, its gradient, its optimizer state
  mlir::Value value, gradient; // the gradient is null where the step has none
};

/// A value of each micro-batch that one unit makes and others use.
struct UnitMessage {
  mlir::Value value;
  int from;
  std::vector<int> to;
  bool isForward = false;
  bool isKept = false; // the backward pass uses it, too
};

/// The forward pass of a step in units: a condensed graph, which is cut between units only. A unit ends at an op of which
/// few values alone leave all that the op depends on; a cut there sends little. So residual layers stay whole, and branches
/// that are long enough to have such ops themselves can be on different stages.
class StepUnits {
public:
  /// Nothing where the step cannot run in micro-batches. With fewer than `wanted` units, more values may leave a unit.
  static std::unique_ptr<StepUnits> make(nn::StepOp step, int wanted);

  int size() const { return count; }
  /// Of what runs in micro-batches, and of what is done once for it; -1 where no unit is asked (work on inputs alone).
  int unitOf(mlir::Operation *op) const {
    auto found = units.find(op);
    return found == units.end() ? -1 : found->second;
  }
  const passes::StepClasses &getClasses() const { return *classes; }
  /// The kind of task that an op of a micro-batch belongs to: F, I or W.
  char kindOf(mlir::Operation *op) const { return assignment->kindOf(op); }
  const std::vector<UnitParameter> &getParameters() const { return parameters; }
  const std::vector<UnitMessage> &getMessages() const { return messages; }
  /// Sets of units that a pipeline's first stages can hold, each after all its subsets; of a graph with too many the
  /// prefixes of an order.
  const place::Downsets &getCuts() const { return cuts; }

private:
  explicit StepUnits(nn::StepOp step) : step(step), cuts(0) {}
  bool build(int wanted);
  void findUnits(int mostValues);
  int unitOfParameter(mlir::BlockArgument argument) const;
  void assignRest();
  void collectParameters(const passes::Residence &residence);
  void collectMessages();
  void enumerateCuts();

  nn::StepOp step;
  std::unique_ptr<passes::StepClasses> classes;
  passes::TaskOrder order;
  passes::Residence residence;
  std::unique_ptr<passes::StageAssignment> assignment;
  std::vector<mlir::Operation *> forward; // in order
  llvm::DenseMap<mlir::Operation *, int> units;
  int count = 0;
  std::vector<UnitParameter> parameters;
  std::vector<UnitMessage> messages;
  place::Downsets cuts;
};

} // namespace pdc::plan

#endif // PDC_COMPILER_PLAN_STAGES_STEPUNITS_H
