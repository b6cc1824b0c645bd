//===- Communication.cpp - what a plan sends, for its report --------------===//

#include "compiler/pipeline/Communication.h"
#include "compiler/pipeline/Layouts.h"
#include "compiler/machine/ClusterFile.h"
#include "compiler/plan/search/ExplainCommunication.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace pdc;

std::vector<plan::CommunicationRow> pipeline::collectCommunication(ModuleOp module,
                                                                   const CompileOptions &options) {
  machine::Cluster cluster = options.cluster ? *options.cluster : machine::local(options.ranks);
  auto model = cost::makeCostModel(options.costModel, cluster, options.threads);
  if (!model) {
    // The search has said what is wrong with it; a plan that was given needs none.
    llvm::consumeError(model.takeError());
    return {};
  }
  std::vector<plan::CommunicationRow> rows;
  for (auto [step, stages] : firstSteps(module)) {
    auto name = step->getAttrOfType<FlatSymbolRefAttr>(dist::kMeshAttr);
    auto mesh = name ? module.lookupSymbol<dist::MeshOp>(name.getAttr()) : dist::MeshOp();
    if (!mesh)
      return {};
    plan::MeshCosts costs(cluster, **model, mesh);
    std::string where = stages.empty() ? "" : " (if on stage";
    for (size_t i = 0; i < stages.size(); ++i)
      where += (i ? ", " : " ") + std::to_string(stages[i]);
    for (plan::CommunicationRow &row : plan::explainCommunication(step, costs)) {
      row.why += where.empty() ? "" : where + ")";
      rows.push_back(std::move(row));
    }
  }
  return rows;
}
