//===- Prediction.cpp - what a planned step takes, before it is compiled --===//

#include "compiler/pipeline/Prediction.h"
#include "compiler/machine/ClusterFile.h"
#include "compiler/pipeline/Compiler.h"
#include "compiler/pipeline/KernelOperations.h"
#include "compiler/simulate/ClusterCosts.h"
#include "dialects/nn/IR/NN.h"
#include "dialects/rt/IR/Rt.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace pdc;
using namespace pdc::pipeline;

/// Leaves the steps that train, one for each mesh of a pipeline's stages; else those of the first kind.
static void keepMainStep(ModuleOp module) {
  auto steps = llvm::to_vector(module.getOps<nn::StepOp>());
  auto main = llvm::find_if(steps, [](nn::StepOp step) { return step.getKind() == "train"; });
  if (main == steps.end())
    main = steps.begin();
  std::string kind = main->getKind().str();
  for (nn::StepOp step : steps)
    if (step.getKind() != kind)
      step.erase();
}

llvm::FailureOr<plan::StepPrediction> pipeline::predictStep(ModuleOp module, const CompileOptions &options) {
  keepMainStep(module);
  if (failed(runPhasesAfterPlan(module, options)))
    return failure();
  codegen::RankProgramsOptions programOptions;
  for (auto define : module.getOps<rt::DefineOp>())
    programOptions.kernels[define.getSymName().str()] = {define.getSymName().str()};
  program::ExecutableT executable;
  if (failed(codegen::writeRankPrograms(module, programOptions, executable)))
    return failure();
  machine::Cluster cluster = options.cluster ? *options.cluster : machine::local(options.ranks);
  auto costs = llvm::cantFail(cost::makeCostModel("native", cluster, options.threads));
  cost::KernelOperations kernels = countKernelOperations(module, programOptions.kernels);
  auto programs = simulate::programsOf(executable, executable.programs.front()->mode);
  plan::StepPrediction prediction;
  prediction.seconds =
      simulate::simulateRanks(programs, simulate::costsOnCluster(cluster, *costs, kernels, options.threads)).seconds;
  for (const program::ProgramT *program : programs)
    prediction.arenaBytes =
        std::max(prediction.arenaBytes, static_cast<int64_t>(program->private_bytes + program->shared_bytes));
  return prediction;
}
