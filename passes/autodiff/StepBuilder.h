//===- StepBuilder.h - one step of a model ----------------------*- C++ -*-===//
#ifndef PDC_PASSES_AUTODIFF_STEPBUILDER_H
#define PDC_PASSES_AUTODIFF_STEPBUILDER_H

#include "dialects/nn/IR/NN.h"
#include "passes/autodiff/optimizers/Optimizer.h"

namespace pdc::passes {

enum class StepMode { Train, Gradient, Evaluate, Infer };

/// How parameters move in training.
struct TrainingOptions {
  Optimizer optimizer;
  double clipNorm = 0; // largest global norm of the gradients; 0: not clipped
  bool pairs = false;  // state with dist.alike which value is the gradient of which
};

/// "train", "gradient", "evaluate", "infer".
llvm::StringRef getModeName(StepMode mode);

/// Builds an nn.step from a model whose ops are already those of the mode (decomposed, its states assigned in
/// training only), and takes the model's ops. The model is a scratch copy: it is left empty.
class StepBuilder {
public:
  StepBuilder(pdc::nn::ModelOp model, StepMode mode, const TrainingOptions &options);

  /// Creates the step at `builder`. `warnUnused`: whether parameters without influence get a warning.
  mlir::FailureOr<pdc::nn::StepOp> build(mlir::OpBuilder &builder, bool warnUnused);

private:
  /// An nn.param or nn.state, once it is an argument.
  struct Variable {
    mlir::Operation *declaration;
    mlir::Value argument;
    mlir::Value gradient;                 // parameters only
    llvm::SmallVector<mlir::Value> slots; // parameters, in training only
    mlir::Value update;                   // the new value, in training only
    llvm::SmallVector<mlir::Value> slotUpdates;
    llvm::StringRef getName() const;
    /// The shape that the model states.
    llvm::SmallVector<int64_t> getModelShape() const;
  };

  mlir::Value addArgument(mlir::Type type, mlir::Location loc, llvm::StringRef role, llvm::StringRef name,
                          mlir::ArrayRef<mlir::NamedAttribute> more = {});
  void addResult(mlir::Value value, llvm::StringRef role, llvm::StringRef name, llvm::StringRef slot = {});

  mlir::LogicalResult addVariables();
  llvm::SmallVector<mlir::NamedAttribute> shapeAttributes(mlir::Operation *declaration);
  void addVariable(mlir::Operation *declaration, llvm::StringRef role, Variable &variable);
  mlir::LogicalResult checkTrainable(const Variable &parameter);
  void addOptimizerState();
  void addInputs();
  void takeBody();
  mlir::LogicalResult takeAssignments();

  mlir::LogicalResult addGradients(bool warnUnused);
  void addUpdates();
  llvm::SmallVector<mlir::Value> clipGradients();

  void addModelResults();
  void addTrainingResults();
  void finish(pdc::nn::StepOp step);
  void statePairs();
  void dropUselessPairs();

  pdc::nn::ModelOp model;
  StepMode mode;
  const TrainingOptions &options;
  mlir::OpBuilder builder;
  mlir::Block *body = nullptr;
  llvm::SmallVector<mlir::DictionaryAttr> argumentAttributes;
  llvm::SmallVector<mlir::Value> results;
  llvm::SmallVector<mlir::DictionaryAttr> resultAttributes;
  llvm::SmallVector<Variable> parameters;
  llvm::SmallVector<Variable> states;
  llvm::SmallVector<std::pair<mlir::Value, mlir::Value>> pairs; // values and their gradients
  mlir::Value learningRate;
  mlir::Value step;
  mlir::Value gradientNorm;
  mlir::Operation *modelReturn = nullptr;
};

} // namespace pdc::passes

#endif // PDC_PASSES_AUTODIFF_STEPBUILDER_H
