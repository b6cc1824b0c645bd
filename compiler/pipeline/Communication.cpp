//===- Communication.cpp - what a plan sends, for its report --------------===//

#include "compiler/pipeline/Communication.h"
#include "compiler/machine/ClusterFile.h"
#include "compiler/plan/search/ExplainCommunication.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace pdc;

std::vector<plan::CommunicationRow> pipeline::collectCommunication(ModuleOp module,
                                                                   const CompileOptions &options) {
  auto steps = module.getOps<nn::StepOp>();
  auto meshes = module.getOps<dist::MeshOp>();
  if (steps.empty() || meshes.empty())
    return {};
  machine::Cluster cluster = options.cluster ? *options.cluster : machine::local(options.ranks);
  auto model = cost::makeCostModel(options.costModel, cluster, options.threads);
  if (!model) {
    // The search has said what is wrong with it; a plan that was given needs none.
    llvm::consumeError(model.takeError());
    return {};
  }
  plan::MeshCosts costs(cluster, **model, *meshes.begin());
  return plan::explainCommunication(*steps.begin(), costs);
}
