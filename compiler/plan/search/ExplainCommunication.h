//===- ExplainCommunication.h - why a plan communicates ---------*- C++ -*-===//
#ifndef PDC_COMPILER_PLAN_SEARCH_EXPLAINCOMMUNICATION_H
#define PDC_COMPILER_PLAN_SEARCH_EXPLAINCOMMUNICATION_H

#include "compiler/plan/CommunicationRow.h"
#include "compiler/plan/search/MeshCosts.h"
#include "dialects/nn/IR/NN.h"

namespace pdc::plan {

/// "[-, tensor]", "whole", "[data, -] partial over tensor".
std::string describeLayout(dist::LayoutAttr layout);

/// What a planned step asks ranks to send each other, in its order: for each layout that changes, each op that is
/// split by its parts and each split of windows. `partition` may share and combine what is equal.
std::vector<CommunicationRow> explainCommunication(nn::StepOp step, MeshCosts &costs);

} // namespace pdc::plan

#endif // PDC_COMPILER_PLAN_SEARCH_EXPLAINCOMMUNICATION_H
