//===- StageRows.cpp - the stages of a pipeline, for the report -----------===//

#include "compiler/plan/StageRows.h"
#include "compiler/cost/InstructionCost.h"
#include "runtime/program/view.h"
#include <algorithm>
#include <map>
#include <set>

using namespace llvm;
using namespace pdc;
using namespace pdc::program;

plan::Stages::Stages(const std::vector<int64_t> &stageRanks, int64_t ranks) {
  for (int64_t count : stageRanks)
    ends.push_back((ends.empty() ? 0 : ends.back()) + count);
  if (ends.empty())
    ends.push_back(ranks);
}

int64_t plan::Stages::of(int64_t rank) const { return std::upper_bound(ends.begin(), ends.end(), rank) - ends.begin(); }

std::vector<json::Array> plan::layersOfStages(const Stages &stages, ArrayRef<const ProgramT *> programs) {
  std::map<std::string, int64_t> home; // of a parameter: its first stage
  for (auto [rank, program] : enumerate(programs))
    for (const auto &buffer : program->buffers)
      if (buffer->kind == BufferKind::kParameter)
        home.try_emplace(buffer->name, stages.of(static_cast<int64_t>(rank)));
  std::vector<json::Array> layers(stages.count()), shared(stages.count());
  std::set<std::tuple<int64_t, bool, std::string>> known;
  for (auto [rank, program] : enumerate(programs))
    for (const auto &buffer : program->buffers) {
      int64_t stage = stages.of(static_cast<int64_t>(rank));
      if (buffer->kind != BufferKind::kParameter)
        continue;
      std::string layer = StringRef(buffer->name).rsplit('.').first.str();
      bool isOwn = home[buffer->name] == stage;
      if (known.insert({stage, isOwn, layer}).second)
        (isOwn ? layers : shared)[stage].push_back(layer);
    }
  // A head that is an embedding, alone on its stage.
  for (auto [own, others] : zip(layers, shared))
    if (own.empty())
      own = std::move(others);
  return layers;
}

json::Array plan::messagesBetweenStages(const Stages &stages, ArrayRef<const ProgramT *> programs,
                                        const machine::Cluster &cluster, const cost::CostModel &costs) {
  struct Total {
    int64_t count = 0;
    double seconds = 0;
  };
  // By the sending and the receiving stage, what is sent, and its bytes.
  std::map<std::tuple<int64_t, int64_t, std::string, int64_t>, Total> totals;
  for (auto [rank, program] : enumerate(programs))
    for (const auto &instruction : program->instructions) {
      int64_t from = stages.of(static_cast<int64_t>(rank)), to = stages.of(instruction->peer);
      if (instruction->opcode != Opcode::kSend || from == to)
        continue;
      int64_t bytes = 0;
      for (const auto &operand : instruction->operands)
        bytes += ElementCount(operand->shape) * ElementBytes(operand->element_type);
      StringRef what = instruction->label;
      if (what == "send")
        what = "unnamed value"; // of an op outside of all layers, such as the loss
      what.consume_back(" send");
      Total &total = totals[{from, to, what.str(), bytes}];
      ++total.count;
      total.seconds += cost::communicationSeconds(*instruction, *program, static_cast<int64_t>(rank), cluster, costs);
    }
  json::Array rows;
  for (const auto &[key, total] : totals) {
    const auto &[from, to, what, bytes] = key;
    rows.push_back(json::Object{{"kind", "send"},
                                {"axes", json::Array{"stage " + std::to_string(from) + " to " + std::to_string(to)}},
                                {"bytes", bytes},
                                {"count", total.count},
                                {"time", total.seconds},
                                {"cause", what},
                                {"why", "stage " + std::to_string(to) + " computes with it"}});
  }
  return rows;
}
