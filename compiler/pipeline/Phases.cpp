//===- Phases.cpp - the names of the phases -------------------------------===//

#include "compiler/pipeline/Options.h"

using namespace pdc::pipeline;

const PhaseDescription pdc::pipeline::kPhases[8] = {
    {Phase::Model, "model", "the model as it was read"},
    {Phase::Specialized, "specialized", "the batch bound, blocks expanded, merged projections in parts, compute types chosen"},
    {Phase::Step, "step", "training, evaluation and inference steps with gradients and updates"},
    {Phase::Plan, "plan", "a mesh, and a layout for every value"},
    {Phase::Partitioned, "partitioned", "local shapes and explicit collectives"},
    {Phase::Fused, "fused", "groups of ops that become one kernel each"},
    {Phase::Rt, "rt", "rank programs: instructions on buffers with offsets"},
    {Phase::Program, "program", "what the executable holds: instructions, buffers, sizes"}};

std::optional<Phase> pdc::pipeline::parsePhase(const std::string &name) {
  for (const PhaseDescription &description : kPhases)
    if (name == description.name)
      return description.phase;
  return std::nullopt;
}
