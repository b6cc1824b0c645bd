//===- LayoutRules.h - what is decided before a search ----------*- C++ -*-===//
#ifndef PDC_COMPILER_PLAN_SEARCH_LAYOUTRULES_H
#define PDC_COMPILER_PLAN_SEARCH_LAYOUTRULES_H

#include "compiler/plan/ParallelSpec.h"
#include "compiler/plan/search/LayoutRule.h"
#include "dialects/dist/IR/Dist.h"
#include "dialects/nn/IR/NN.h"
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace pdc::plan {

/// A mesh that a search tries: names and sizes of axes, the last the fastest.
struct MeshShape {
  std::vector<std::string> names;
  std::vector<int64_t> sizes;
  bool operator==(const MeshShape &) const = default;
};

/// What --parallel leaves open: one shape for a list ("data=2,tensor=4"), for `auto` every way to write the ranks
/// as a product of two axes. At least one axis, also for one rank.
std::vector<MeshShape> candidateMeshes(const ParallelSpec &spec, int64_t ranks);

/// For `auto`, a mesh of three axes, in which values can be split more ways than over two, and change between those of
/// several factorizations: nodes first if there are several, the smallest prime factor last. None where the ranks have no
/// three factors.
std::optional<MeshShape> threeAxisMesh(const ParallelSpec &spec, int64_t ranks, int64_t ranksPerNode);

/// One of the ways to write `ranks` as a product of one to three axes ("x", "y", "z").
MeshShape randomMesh(int64_t ranks, uint64_t seed);

/// Says which layouts the arguments, gradients and updates of a step may have:
///
/// - for a list, axis "data" splits the first dimension of inputs; of parameters, gradients and optimizer state
///   it splits those that ZeRO's stage says and no others; axis "tensor" splits no input and no other value
///   along the samples of the batch;
/// - where `rules` name a dimension of a value, it is split over the rule's axis, which splits no other
///   dimension of values with named dimensions;
/// - what an earlier step of the model has decided, other steps take (`fix`).
class LayoutRules {
public:
  LayoutRules(const ParallelSpec &spec, llvm::ArrayRef<LayoutRule> rules) : spec(spec), rules(rules) {}

  /// Fails where a rule names a dimension or an axis that is not there, or splits two dimensions of one value over one
  /// axis.
  mlir::LogicalResult check(nn::StepOp step, llvm::ArrayRef<MeshShape> meshes) const;

  /// Prepares for a step; to be called before `allows`.
  void enter(nn::StepOp step, dist::MeshOp mesh);
  bool allows(mlir::Value value, dist::LayoutAttr layout) const;
  /// Each of the things that `allows` asks for, with what it says of `value` in words.
  struct Reason {
    std::string text;
    std::function<bool(mlir::Value value, dist::LayoutAttr layout)> allows;
  };
  std::vector<Reason> reasonsFor(mlir::Value value) const;

  /// The layouts of the step's parameters, states and inputs hold for all steps.
  void fix(nn::StepOp step);

private:
  bool isFixed(mlir::Value value, dist::LayoutAttr &layout) const;
  bool keepsDecision(mlir::Value value, dist::LayoutAttr layout) const;
  bool keepsNames(mlir::Value value, dist::LayoutAttr layout) const;
  bool keepsAxes(mlir::Value value, dist::LayoutAttr layout) const;
  bool keepsSamples(mlir::Value value, dist::LayoutAttr layout) const;
  bool allowsAxes(llvm::StringRef role, mlir::Value value, dist::LayoutAttr layout) const;
  void findBatched();
  bool allowsNames(mlir::Value value, mlir::ArrayAttr names, dist::LayoutAttr layout) const;

  const ParallelSpec &spec;
  llvm::ArrayRef<LayoutRule> rules;
  nn::StepOp step;
  dist::MeshOp mesh;
  llvm::DenseMap<mlir::Value, unsigned> gradientOf; // gradient -> argument
  llvm::DenseSet<mlir::Value> batched;              // values whose first dimension is that of the batch
  llvm::StringMap<dist::LayoutAttr> fixed;          // "role/slot/name"
};

} // namespace pdc::plan

#endif // PDC_COMPILER_PLAN_SEARCH_LAYOUTRULES_H
