//===- StageAssignment.h - which stage does what ----------------*- C++ -*-===//
#ifndef PDC_PASSES_PIPELINE_STAGEASSIGNMENT_H
#define PDC_PASSES_PIPELINE_STAGEASSIGNMENT_H

#include "passes/pipeline/StepClasses.h"
#include "passes/pipeline/TaskOrder.h"
#include <map>
#include <optional>
#include <set>
#include <string>

namespace pdc::passes {

/// Which chunks keep a parameter (and its optimizer state) or a model state, by its name: those that compute with it. A
/// parameter of two chunks, an embedding that is also the head, is on the stages of both, which update it alike. The first
/// step that is assigned decides; where another one needs a parameter elsewhere, too, it is kept there as well, since all
/// steps of an executable share what persists.
using Residence = std::map<std::string, std::set<int64_t>>;

/// Whether an argument is a parameter, its optimizer state, or a state of the model.
bool persists(nn::StepOp step, unsigned argument);

/// Which chunk each Work op belongs to, and on which stages the ops after all micro-batches run.
///
/// Forward ops of the deciding step belong to the chunks that a plan has given them (dist.chunk); without a plan they are
/// cut evenly in their order (cutEvenly). Those of other steps go where their parameters are. A backward op runs where the
/// forward values that it needs are, never behind the gradients that it needs; one that needs none where fewest bytes are sent
/// then. What is done after all micro-batches runs
/// where its result is needed, except that sums of all elements (norms) are computed once and sent.
class StageAssignment {
public:
  /// `slownessOfStage`: how many times as long as on the devices of the first work takes on those of each stage.
  StageAssignment(const StepClasses &classes, const TaskOrder &order, Residence &residence,
                  std::vector<double> slownessOfStage)
      : classes(classes), order(order), residence(residence), step(classes.step),
        slownessOfStage(std::move(slownessOfStage)) {}

  /// Gives Work ops their chunks, and parameters theirs. Error: fewer layers with parameters than chunks.
  mlir::LogicalResult assign();
  /// Predicted, of one micro-batch on the ranks of a stage. After assign().
  std::vector<ChunkSeconds> secondsOfChunks() const;
  /// The rest, once all steps that share parameters are assigned. Error: a stream whose updates need what other stages
  /// compute.
  mlir::LogicalResult finish();

  int64_t chunkOf(mlir::Operation *op) const { return chunks.lookup(op); }
  /// Where a Work op runs for a micro-batch, and for any of them.
  int64_t stageOf(mlir::Operation *op, int64_t microBatch) const { return order.stageFor(chunkOf(op), microBatch); }
  std::vector<int64_t> stagesOfWork(mlir::Operation *op) const { return order.stagesOf(chunkOf(op)); }
  /// The kind of task that runs a Work op, where the backward pass has two halves.
  char kindOf(mlir::Operation *op) const {
    return classes.isForward(op) ? 'F' : inputGradients.contains(op) ? 'I' : 'W';
  }
  /// The stages that run an After op, and those that need a value which is there after all micro-batches.
  const std::set<int64_t> &stagesOf(mlir::Operation *op) const;
  const std::set<int64_t> &stagesThatNeed(mlir::Value value) const;
  /// The stage that computes a Work value (in the first copy of the model), or that sends what an After op computes to those
  /// that need it and do not compute it.
  int64_t homeOf(mlir::Value value) const;
  bool keeps(int64_t stage, mlir::BlockArgument argument) const;
  bool returns(int64_t stage, unsigned result) const;
  /// A loss or a metric.
  bool isReported(unsigned result) const;

  /// The new value of what persists; null for other arguments. And back.
  mlir::Value resultOf(mlir::BlockArgument argument) const { return newValues.lookup(argument); }
  mlir::BlockArgument argumentOf(unsigned result) const;
  /// Of a stream: the version of a parameter with which a mini-batch goes forward and backward, on all of its stages that
  /// of the first. And the least of those parameters that a part of a gradient goes into; none for what is only told.
  int64_t versionOf(mlir::BlockArgument argument, int64_t miniBatch) const;
  std::optional<int64_t> versionAfter(mlir::Value summand, int64_t miniBatch) const;

private:
  using Chunks = std::set<int64_t>;
  const std::set<unsigned> &parametersOf(mlir::Value value);
  std::string nameOf(unsigned argument) const;
  llvm::SmallVector<mlir::Operation *> forwardOps() const;
  mlir::LogicalResult cutForward();
  double slownessOf(int64_t chunk) const;
  mlir::LogicalResult takePlannedChunks(llvm::ArrayRef<mlir::Operation *> ops);
  void followParameters();
  void assignBackward();
  void findInputGradients();
  std::vector<Chunks> chunksOfForward(mlir::Operation *op);
  int64_t chunkOfBackward(mlir::Operation *op);
  bool passesGradientsOn(mlir::Operation *op);
  int64_t chunkOfFewestBytes(mlir::Operation *op);
  int64_t chunkOfGradient(mlir::Operation *op);
  void keepParameters(bool forward);
  void findHomes();
  int64_t homeOfAfter(mlir::Operation *op);
  void findNeeds();
  void findNewValues();
  void findUpdates();
  mlir::LogicalResult checkUpdates();
  int64_t versionOf(llvm::StringRef name, int64_t miniBatch) const;
  std::set<int64_t> stagesOfName(llvm::StringRef name) const;
  std::set<int64_t> withReplicas(int64_t stage) const;

  const StepClasses &classes;
  const TaskOrder &order;
  Residence &residence;
  mutable nn::StepOp step;
  std::vector<double> slownessOfStage;
  bool decides = false;
  llvm::DenseMap<mlir::Operation *, int64_t> chunks;
  llvm::DenseSet<mlir::Operation *> inputGradients; // of the backward pass: what another chunk waits for
  llvm::DenseMap<mlir::Operation *, int64_t> homes;
  llvm::DenseMap<mlir::Operation *, std::set<int64_t>> runs;
  llvm::DenseMap<mlir::Value, std::set<int64_t>> needs;
  llvm::DenseMap<mlir::Value, std::set<unsigned>> parameters;
  std::vector<std::set<int64_t>> returned; // per result, by which stages
  llvm::DenseMap<mlir::Value, mlir::Value> newValues;
  llvm::DenseMap<mlir::Value, std::set<std::string>> updates; // what persists that a value goes into, after the backward
};

} // namespace pdc::passes

#endif // PDC_PASSES_PIPELINE_STAGEASSIGNMENT_H
