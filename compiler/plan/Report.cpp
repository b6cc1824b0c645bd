//===- Report.cpp - the plan of an executable, as JSON --------------------===//

#include "compiler/plan/Report.h"
#include "compiler/plan/DeviceMemory.h"
#include "compiler/plan/StageRows.h"
#include "compiler/simulate/ClusterCosts.h"
#include "runtime/program/view.h"
#include <algorithm>
#include <limits>
#include <map>
#include <set>

using namespace llvm;
using namespace pdc;
using namespace pdc::program;

namespace {

constexpr StringLiteral kCollectives[] = {"all_reduce", "all_gather", "reduce_scatter", "all_to_all"};

/// The program whose plan is told: training where there is one.
const ProgramT &mainProgram(const ExecutableT &executable, const RankProgramsT &rank) {
  const ProgramT *found = nullptr;
  for (uint32_t index : rank.programs) {
    const ProgramT &program = *executable.programs[index];
    if (!found || program.mode == Mode::kTrain ||
        (found->mode != Mode::kTrain && program.mode == Mode::kInfer))
      found = &program;
  }
  return *found;
}

StringRef memoryKind(const BufferT &buffer) {
  switch (buffer.kind) {
  case BufferKind::kParameter:
    return "parameters";
  case BufferKind::kOptimizerState:
    return "optimizer_state";
  case BufferKind::kState:
    return "state";
  case BufferKind::kGradient:
    return "gradients";
  case BufferKind::kTemporary:
    return "temporaries";
  case BufferKind::kInput:
  case BufferKind::kScalarInput:
  case BufferKind::kOutput:
  case BufferKind::kConstant:
    return "inputs_and_outputs";
  case BufferKind::kActivation:
    return "activations";
  }
  return "activations";
}

constexpr StringLiteral kMemoryKinds[] = {"parameters",        "optimizer_state", "state",
                                          "gradients",         "activations",     "temporaries",
                                          "inputs_and_outputs"};

bool isLive(const BufferT &buffer, int32_t instruction) {
  if (IsPersistent(buffer.kind) || buffer.kind == BufferKind::kConstant)
    return true;
  bool begun = buffer.first_use < 0 || buffer.first_use <= instruction ||
               buffer.kind == BufferKind::kScalarInput;
  bool ended = buffer.last_use >= 0 && buffer.last_use < instruction && buffer.kind != BufferKind::kOutput;
  return begun && !ended;
}

/// What lies in the arenas at the instruction at which most is in use. `unused` is what no buffer holds then,
/// so that the kinds and it add up to the arenas exactly.
json::Object memoryOf(const ProgramT &program) {
  int32_t count = static_cast<int32_t>(program.instructions.size());
  // Bytes that come and go at each instruction; persistent buffers come at 0 and stay.
  std::vector<int64_t> change(count + 2, 0);
  for (const auto &buffer : program.buffers) {
    int32_t begin = count, end = -1;
    if (isLive(*buffer, 0))
      begin = 0;
    else if (buffer->first_use >= 0)
      begin = buffer->first_use;
    end = IsPersistent(buffer->kind) || buffer->kind == BufferKind::kConstant ||
                  buffer->kind == BufferKind::kOutput || buffer->last_use < 0
              ? count
              : buffer->last_use;
    if (begin > end)
      continue;
    change[begin] += static_cast<int64_t>(buffer->bytes);
    change[end + 1] -= static_cast<int64_t>(buffer->bytes);
  }
  int64_t live = 0, most = -1;
  int32_t peak = 0;
  for (int32_t i = 0; i < count; ++i) {
    live += change[i];
    if (live > most) {
      most = live;
      peak = i;
    }
  }
  std::map<std::string, int64_t> byKind;
  for (const auto &buffer : program.buffers)
    if (isLive(*buffer, peak))
      byKind[memoryKind(*buffer).str()] += static_cast<int64_t>(buffer->bytes);

  json::Object memory;
  int64_t total = static_cast<int64_t>(program.private_bytes + program.shared_bytes), used = 0;
  for (StringRef kind : kMemoryKinds) {
    memory[kind] = byKind[kind.str()];
    used += byKind[kind.str()];
  }
  memory["unused"] = total - used;
  memory["total"] = total;
  memory["private_arena"] = static_cast<int64_t>(program.private_bytes);
  memory["shared_arena"] = static_cast<int64_t>(program.shared_bytes);
  if (count > 0)
    memory["peak_at"] = program.instructions[peak]->label;
  return memory;
}

json::Array collectivesOf(const ProgramT &program, int64_t rank, const machine::Cluster &cluster,
                          const cost::CostModel &costs) {
  json::Array rows;
  for (const auto &instruction : program.instructions) {
    bool isSend = instruction->opcode == Opcode::kSend, isReceive = instruction->opcode == Opcode::kReceive;
    bool isMessage = isSend || isReceive;
    if (!isMessage && instruction->opcode != Opcode::kCollectiveStart)
      continue;
    int64_t bytes = 0;
    for (const auto &operand : instruction->operands)
      bytes += ElementCount(operand->shape) * ElementBytes(operand->element_type);
    json::Object row{{"kind", isSend ? "send" : isReceive ? "receive" : instruction->target},
                     {"label", instruction->label},
                     {"bytes", bytes},
                     {"time", cost::communicationSeconds(*instruction, program, rank, cluster, costs)},
                     {"ranks", isMessage ? 2 : static_cast<int64_t>(program.groups[instruction->group]->ranks.size())}};
    if (isMessage)
      row["peer"] = instruction->peer;
    rows.push_back(std::move(row));
  }
  return rows;
}

/// Of a step of one rank, by kind: bytes of operands.
json::Object commBytesOf(const ProgramT &program) {
  std::map<std::string, int64_t> bytes;
  for (const auto &instruction : program.instructions) {
    bool isMessage = instruction->opcode == Opcode::kSend || instruction->opcode == Opcode::kReceive;
    if (isMessage || instruction->opcode == Opcode::kCollectiveStart)
      for (const auto &operand : instruction->operands)
        bytes[isMessage ? "p2p" : instruction->target] +=
            ElementCount(operand->shape) * ElementBytes(operand->element_type);
  }
  json::Object result;
  for (StringRef kind : kCollectives)
    result[kind] = bytes[kind.str()];
  result["p2p"] = bytes["p2p"];
  return result;
}

json::Array layoutsOf(const std::vector<plan::LayoutRow> &layouts) {
  json::Array rows;
  for (const plan::LayoutRow &layout : layouts) {
    json::Array axes;
    for (const auto &perDimension : layout.axes)
      axes.push_back(json::Array(perDimension));
    json::Object row{{"value", layout.value},
                     {"shape", json::Array(layout.shape)},
                     {"dims", json::Array(layout.dimensionNames)},
                     {"axes", std::move(axes)},
                     {"blocks", json::Array(layout.blocks)},
                     {"partial", json::Array(layout.partialAxes)}};
    if (!layout.declaredShape.empty())
      row["declared_shape"] = json::Array(layout.declaredShape);
    if (!layout.stages.empty())
      row["stages"] = json::Array(layout.stages);
    rows.push_back(std::move(row));
  }
  return rows;
}

json::Array communicationOf(const std::vector<plan::CommunicationRow> &communication) {
  json::Array rows;
  for (const plan::CommunicationRow &row : communication)
    rows.push_back(json::Object{{"kind", row.kind},
                                {"axes", json::Array(row.axes)},
                                {"bytes", row.bytes},
                                {"time", row.seconds},
                                {"cause", row.cause},
                                {"why", row.why}});
  return rows;
}

/// JSON has no infinity: a space larger than any number is said to be as large as the largest.
double asFinite(double value) { return std::min(value, std::numeric_limits<double>::max()); }

json::Object searchOf(const std::optional<plan::SearchOutcome> &search) {
  // A plan that was given leaves nothing to be optimal over, hence no bound and no gap.
  if (!search)
    return json::Object{{"method", "given"},
                        {"time", 0.0},
                        {"plans_considered", 1},
                        {"lower_bound", nullptr},
                        {"gap", nullptr}};
  json::Array simulated;
  for (const plan::SimulatedPlan &plan : search->simulated)
    simulated.push_back(json::Object{{"plan", plan.name},
                                     {"cost", plan.costSeconds},
                                     {"step_time", plan.predicted.seconds},
                                     {"memory", plan.predicted.arenaBytes},
                                     {"chosen", plan.isChosen}});
  return json::Object{{"method", search->solver},
                      {"time", search->seconds},
                      {"plans_considered", asFinite(search->plansConsidered)},
                      {"cost", search->leastSeconds},
                      {"lower_bound", search->lowerBoundSeconds},
                      {"gap", search->gap},
                      {"chosen_cost", search->stepSeconds},
                      {"simulated", std::move(simulated)}};
}

/// Null where there was no choice.
json::Value exchangeOf(const std::optional<plan::Exchange> &exchange) {
  if (!exchange)
    return nullptr;
  auto seconds = [](const std::optional<double> &value) { return value ? json::Value(*value) : json::Value(nullptr); };
  return json::Object{{"chosen", exchange->takesTurns ? "round-robin" : "split"},
                      {"step_time", json::Object{{"split", seconds(exchange->splitSeconds)},
                                                 {"round-robin", seconds(exchange->turnsSeconds)}}}};
}

/// One stage of a pipeline: ranks that follow each other.
struct StageRow {
  json::Array ranks;
  double seconds = 0;                // that its slowest rank computes
  int64_t bytes = 0;                 // of the rank that needs most
};

json::Array axesOf(const std::vector<std::string> &names, const std::vector<int64_t> &sizes) {
  json::Array axes;
  for (auto [name, size] : zip(names, sizes))
    axes.push_back(json::Object{{"axis", name}, {"size", size}});
  return axes;
}

json::Array rowsOf(std::vector<StageRow> stages, std::vector<json::Array> layers, const plan::ReportInput &input) {
  json::Array rows;
  for (auto [index, stage] : enumerate(stages)) {
    json::Object row{{"ranks", std::move(stage.ranks)},
                     {"layers", stages.size() > 1 ? std::move(layers[index]) : json::Array{"all"}},
                     {"time", stage.seconds},
                     {"memory", stage.bytes}};
    if (index < input.stageMeshes.size())
      row["mesh"] = axesOf(input.stageMeshes[index].axes, input.stageMeshes[index].sizes);
    rows.push_back(std::move(row));
  }
  return rows;
}

/// Layouts of what a stage's ranks hold.
std::vector<plan::LayoutRow> heldLayouts(const std::vector<plan::LayoutRow> &layouts, const plan::Stages &stages,
                                         ArrayRef<const ProgramT *> programs) {
  std::set<std::pair<std::string, int64_t>> held;
  for (auto [rank, program] : enumerate(programs))
    for (const auto &buffer : program->buffers) {
      std::string slot = buffer->optimizer_slot.empty() ? "" : "optimizer." + buffer->optimizer_slot + ".";
      held.insert({slot + buffer->name, stages.of(static_cast<int64_t>(rank))});
    }
  std::vector<plan::LayoutRow> rows;
  for (plan::LayoutRow row : layouts) {
    bool isOfSome = !row.stages.empty();
    erase_if(row.stages, [&](int64_t stage) { return !held.count({row.value, stage}); });
    if (!isOfSome || !row.stages.empty())
      rows.push_back(std::move(row));
  }
  return rows;
}

} // namespace

static json::Array excessOf(const machine::Cluster &cluster, ArrayRef<int64_t> arenaBytes) {
  json::Array rows;
  for (const plan::MemoryExcess &excess : plan::findExcess(cluster, arenaBytes))
    rows.push_back(json::Object{{"rank", excess.rank},
                                {"device", excess.device},
                                {"needed", static_cast<int64_t>(excess.neededBytes)},
                                {"available", static_cast<int64_t>(excess.availableBytes)}});
  return rows;
}

json::Object plan::buildReport(const ReportInput &input) {
  const ExecutableT &executable = input.executable;
  auto costs = cantFail(cost::makeCostModel("native", input.cluster, executable.threads));

  std::vector<const ProgramT *> programs(executable.rank_programs.size());
  json::Array peakMemory, memory;
  std::vector<int64_t> arenaBytes(executable.rank_programs.size());
  Stages stageOf(input.stageRanks, static_cast<int64_t>(executable.rank_programs.size()));
  std::vector<StageRow> stages(stageOf.count());
  for (const auto &rank : executable.rank_programs) {
    const ProgramT &program = mainProgram(executable, *rank);
    programs[rank->rank] = &program;
    arenaBytes[rank->rank] = static_cast<int64_t>(program.private_bytes + program.shared_bytes);
    peakMemory.push_back(arenaBytes[rank->rank]);
    json::Object row = memoryOf(program);
    row["rank"] = rank->rank;
    row["local_batch"] = program.local_batch;
    memory.push_back(std::move(row));
    StageRow &stage = stages[stageOf.of(rank->rank)];
    stage.ranks.push_back(rank->rank);
    stage.bytes = std::max(stage.bytes, static_cast<int64_t>(program.private_bytes + program.shared_bytes));
  }
  const ProgramT &first = mainProgram(executable, *executable.rank_programs.front());

  // All ranks against each other: a rank also waits for others. The one that ends last tells what the step takes.
  simulate::RankSimulation step = simulate::simulateRanks(
      programs, simulate::costsOnCluster(input.cluster, *costs, input.kernelOperations, executable.threads));
  auto slowest = std::max_element(step.ranks.begin(), step.ranks.end(), [](const auto &a, const auto &b) {
    return a.endSeconds < b.endSeconds;
  });
  for (auto [rank, simulated] : enumerate(step.ranks)) {
    double &seconds = stages[stageOf.of(static_cast<int64_t>(rank))].seconds;
    seconds = std::max(seconds, stages.size() > 1 ? simulated.busySeconds : step.seconds);
  }
  json::Object commBytes = commBytesOf(*programs[slowest - step.ranks.begin()]);

  json::Array decisions;
  for (const Decision &decision : input.search ? input.search->decisions : std::vector<Decision>())
    decisions.push_back(json::Object{{"what", decision.what},
                                     {"chosen", decision.chosen},
                                     {"runner_up", decision.runnerUp},
                                     {"cost_difference", asFinite(decision.costDifferenceSeconds)}});
  json::Array collectives =
      collectivesOf(first, executable.rank_programs.front()->rank, input.cluster, *costs);
  json::Array communication = communicationOf(input.communication);
  for (json::Value &row : messagesBetweenStages(stageOf, programs, input.cluster, *costs))
    communication.push_back(std::move(row));
  const plan::ParallelSpec &parallel = input.parallel;
  return json::Object{{"model", executable.model},
                      {"ranks", executable.ranks},
                      {"batch", input.batch},
                      {"precision", executable.precision},
                      {"optimizer", executable.optimizer},
                      {"threads", executable.threads},
                      {"cpu_features", executable.cpu_features},
                      {"machine", input.cluster.name},
                      {"parallel", json::Object{{"data", parallel.data},
                                                {"tensor", parallel.tensor},
                                                {"pipeline", parallel.pipeline},
                                                {"zero", parallel.zero},
                                                {"micro_batches", input.microBatches},
                                                {"schedule", input.schedule},
                                                {"recompute", json::Array(input.recompute)}}},
                      {"predicted", json::Object{{"step_time", step.seconds},
                                                 {"compute_time", slowest->busySeconds},
                                                 {"exposed_comm_time", slowest->exposedSeconds},
                                                 {"bubble_fraction", step.bubbleFraction()},
                                                 {"peak_memory", std::move(peakMemory)},
                                                 {"comm_bytes", std::move(commBytes)}}},
                      {"search", searchOf(input.search)},
                      {"exchange", exchangeOf(input.exchange)},
                      {"mesh", axesOf(input.meshAxes, input.meshSizes)},
                      {"stages", rowsOf(std::move(stages), layersOfStages(stageOf, programs), input)},
                      {"layouts", layoutsOf(heldLayouts(input.layouts, stageOf, programs))},
                      {"optimizer_layouts", layoutsOf(heldLayouts(input.optimizerLayouts, stageOf, programs))},
                      {"collectives", std::move(collectives)},
                      {"communication", std::move(communication)},
                      {"memory", std::move(memory)},
                      {"exceeds_memory", excessOf(input.cluster, arenaBytes)},
                      {"decisions", std::move(decisions)}};
}

void pdc::plan::forgetSearchTime(json::Object &report) {
  if (json::Object *search = report.getObject("search"))
    (*search)["time"] = 0.0;
}
