//===- SearchSpace.h - the decisions of a step, as a Problem ----*- C++ -*-===//
#ifndef PDC_COMPILER_PLAN_SEARCH_SEARCHSPACE_H
#define PDC_COMPILER_PLAN_SEARCH_SEARCHSPACE_H

#include "compiler/plan/problem/Problem.h"
#include "compiler/plan/search/LayoutClasses.h"
#include "compiler/plan/search/MeshCosts.h"
#include "passes/layouts/BatchSplit.h"
#include "passes/layouts/OpSplits.h"
#include <map>
#include <memory>

namespace pdc::plan {

/// Which layouts somebody has decided on: asked for each value of a class, and must hold for all of them.
using LayoutFilter = llvm::function_ref<bool(mlir::Value value, dist::LayoutAttr layout)>;

/// The layouts of a class, one entry per choice of its node.
using Domain = llvm::SmallVector<dist::LayoutAttr>;

/// The choices of a step on one mesh. Nodes are the classes of values (their choices are layouts) and the ops (their
/// choices are splits); edges are the reshards between the layout of a value and the one that an op's split
/// wants of its operand or gives its result. So every value may be resharded before each use, and backward ops
/// need not be split as their forward ops.
///
/// Where several ops use a value in one pass, forward or backward, a node between says in which layout they find it:
/// it is gathered once a pass for all of them (the input of query, key and value; a gradient that two products take).
///
/// Partial sums that are added to each other are added up once: where both operands of an addition can be left
/// partial, so can its result.
///
/// Memory counts what lives from the forward to the backward pass, and what persists: parameters, gradients,
/// optimizer state, states, inputs, and the values that backward ops use. Results of reshards come and go, and
/// are not counted.
class SearchSpace {
public:
  /// `microBatches`: what has the batch, where the step runs in parts of it; each part gives every rank something. Null: it
  /// runs as a whole.
  SearchSpace(nn::StepOp step, MeshCosts &costs, LayoutFilter filter, const passes::BatchSplit *microBatches = nullptr);

  const Problem &getProblem() const { return problem; }
  Problem &getProblem() { return problem; }
  const LayoutClasses &getClasses() const { return classes; }
  /// A value for which no layout is left, if there is one.
  mlir::Value getImpossible() const { return impossible; }

  uint32_t nodeOfClass(size_t index) const { return classNodes[index]; }
  llvm::ArrayRef<dist::LayoutAttr> domainOfClass(size_t index) const { return *domains[index]; }
  dist::LayoutAttr layoutOf(mlir::Value value, llvm::ArrayRef<uint32_t> choices) const {
    size_t index = classes.classOf(value);
    return (*domains[index])[choices[classNodes[index]]];
  }
  const passes::OpSplit &splitOf(mlir::Operation *op, llvm::ArrayRef<uint32_t> choices) const {
    const OpNode &node = ops.find(op)->second;
    return (*node.splits)[choices[node.node]];
  }
  uint32_t nodeOfOp(mlir::Operation *op) const { return ops.find(op)->second.node; }
  /// The layout in which the op finds an operand, before it is made what its split wants: that of the value, or one
  /// that several ops share.
  dist::LayoutAttr layoutOfUse(mlir::OpOperand &use, llvm::ArrayRef<uint32_t> choices) const;
  llvm::ArrayRef<passes::OpSplit> splitsOf(mlir::Operation *op) const { return *ops.find(op)->second.splits; }
  dist::MeshOp getMesh() const { return costs.getMesh(); }
  const MeshCosts &getCosts() const { return costs; }
  /// What the ops take, without communication.
  double computeSeconds(llvm::ArrayRef<uint32_t> choices) const;
  /// What each op takes with what it communicates and the reshards that it needs: of its operands, and of its results to
  /// the layouts of their values. The sum is that of the plan, but for inputs.
  llvm::DenseMap<mlir::Operation *, double> secondsOfOps(llvm::ArrayRef<uint32_t> choices) const;
  /// The problem in which each op, with its reshards, counts as often as it weighs, and inputs take no time.
  Problem weighted(llvm::function_ref<double(mlir::Operation *)> weightOf) const;
  /// In whatever split takes least, without communication.
  double leastSecondsOf(mlir::Operation *op) const;
  /// What a value can become: a layout that is no partial sum, and the most that it can take to make it of another such one.
  struct Arrival {
    dist::LayoutAttr layout;
    double mostSeconds = 0;
  };
  std::vector<Arrival> arrivalsOf(mlir::Value value) const;
  /// Bytes of the value's largest part where it is there when memory is fullest, else 0.
  int64_t residentBytes(mlir::Value value, llvm::ArrayRef<uint32_t> choices) const;
  /// Ops that are no decision: the terminator, hints.
  bool hasSplit(mlir::Operation *op) const { return ops.contains(op); }

private:
  using Splits = llvm::SmallVector<passes::OpSplit>;
  struct OpNode {
    uint32_t node;
    const Splits *splits;
    size_t signature; // ops of equal signature have the same splits
  };

  void enumerateOps();
  void measureStep();
  void findSums();
  void findSharedUses();
  void enumerateDomains(LayoutFilter filter);
  void addNodes();
  void addOp(mlir::Operation *op);
  uint32_t nodeOfUse(mlir::OpOperand &use);
  uint32_t reshardTable(size_t from, size_t to, mlir::RankedTensorType type);
  void addClass(size_t index);
  void addEdge(uint32_t first, uint32_t second, uint32_t table, mlir::Operation *owner);
  void addTerminator();

  size_t signatureOf(mlir::Operation *op);
  bool fitsMicroBatches(mlir::Value value, dist::LayoutAttr layout) const {
    return !microBatches || microBatches->partsFit(value, layout, costs.getMesh());
  }
  bool fitsMicroBatches(mlir::Operation *op, const passes::OpSplit &split) const;
  uint32_t operandTable(const OpNode &op, unsigned operand, mlir::Value value);
  uint32_t resultTable(const OpNode &op, unsigned result, mlir::Value value);
  uint32_t internUnary(UnaryTable table);
  uint32_t internPair(PairTable table);
  int64_t residentElementBytes(mlir::Value value) const;

  nn::StepOp step;
  MeshCosts &costs;
  const passes::BatchSplit *microBatches;
  LayoutClasses classes;
  KernelTraffic traffic;
  llvm::DenseSet<mlir::Value> gradients; // of parameters
  Problem problem;
  std::vector<mlir::Operation *> edgeOwners; // per edge, the op that needs the reshard
  mlir::Value impossible;
  mlir::Operation *lastForward = nullptr; // the op that makes the loss

  std::map<std::vector<const void *>, size_t> signatures;
  std::vector<std::unique_ptr<Splits>> splitsOfSignature;
  std::map<std::vector<const void *>, std::unique_ptr<Domain>> domainPool;
  llvm::MapVector<mlir::Operation *, OpNode> ops;
  llvm::DenseSet<mlir::Operation *> sums; // additions whose operands can all be left partial
  /// A layout that uses of one value share.
  struct SharedLayout {
    uint32_t node;
    llvm::SmallVector<mlir::Operation *, 2> makers; // per pass in which it is made of the value's, its first user
  };
  std::vector<SharedLayout> shared;
  llvm::DenseMap<mlir::OpOperand *, size_t> sharedUses; // into `shared`
  std::vector<const Domain *> domains; // per class
  std::vector<uint32_t> classNodes;
  std::map<std::vector<uint64_t>, uint32_t> tableKeys;
  std::vector<std::vector<double>> communication; // per signature: what each split communicates
  std::map<std::vector<double>, uint32_t> unaryPool, pairPool;
};

} // namespace pdc::plan

#endif // PDC_COMPILER_PLAN_SEARCH_SEARCHSPACE_H
