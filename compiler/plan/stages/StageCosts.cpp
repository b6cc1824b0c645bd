//===- StageCosts.cpp - a pipeline's stages, as a StageProblem ------------===//

#include "compiler/plan/stages/StageCosts.h"
#include <algorithm>

using namespace pdc;
using namespace pdc::plan;
using cost::Collective;

int64_t StageSetting::inFlight(int64_t stage) const {
  if (stages == 1)
    return 1;
  return schedule == "gpipe" ? microBatches : std::min(microBatches, stages - stage);
}

//===----------------------------------------------------------------------===//
// Cuts
//===----------------------------------------------------------------------===//

CutGraph::CutGraph(const StepUnits &units) : units(units) {
  const place::Downsets &cuts = units.getCuts();
  larger.resize(cuts.size());
  for (int cut = 0; cut < cuts.size(); ++cut)
    for (int other = cut + 1; other < cuts.size(); ++other)
      if (cuts.isSubset(cut, other))
        larger[cut].push_back(static_cast<uint32_t>(other));
  for (auto [index, parameter] : llvm::enumerate(units.getParameters()))
    if (parameter.units.size() > 1)
      tied.push_back(index);
  known.resize(cuts.size());
  for (auto &row : known)
    row.resize(cuts.size());
}

const std::vector<CutGraph::Incoming> &CutGraph::incoming(uint32_t from, uint32_t to) const {
  auto &entry = known[from][to];
  if (entry)
    return *entry;
  entry.emplace();
  auto isInside = [&](int unit) { return contains(to, unit) && !contains(from, unit); };
  const std::vector<UnitMessage> &messages = units.getMessages();
  for (uint32_t index = 0; index < messages.size(); ++index)
    if (!isInside(messages[index].from) &&
        std::any_of(messages[index].to.begin(), messages[index].to.end(), isInside))
      entry->push_back({index, !contains(from, messages[index].from)});
  return *entry;
}

//===----------------------------------------------------------------------===//
// Where stages lie
//===----------------------------------------------------------------------===//

/// The rank of a stage whose device computes slowest; one for each kind, so that layouts are searched once for it.
int64_t StageLinks::slowestOf(int64_t first, int64_t ranks) const {
  cost::OpWork work;
  work.opClass = machine::OpClass::Matmul;
  work.flops = 1e12;
  int64_t slowest = -1, begin = 0;
  for (const machine::NodeGroup &group : cluster.nodes) {
    int64_t end = begin + group.count * group.devicesPerNode;
    bool isUsed = begin < first + ranks && end > first;
    if (isUsed && (slowest < 0 || costs.opSeconds(work, begin) > costs.opSeconds(work, slowest)))
      slowest = begin;
    begin = end;
  }
  return std::max<int64_t>(slowest, 0);
}

const StageLinks::Positions &StageLinks::positions(int64_t stages, int64_t ranks) {
  auto [entry, isNew] = known.try_emplace({stages, ranks});
  Positions &found = entry->second;
  if (!isNew)
    return found;
  auto link = [&](int64_t rank) {
    return cost::shapeOfRanks(cluster, {static_cast<int32_t>(rank), static_cast<int32_t>(rank + ranks)});
  };
  for (int64_t stage = 0; stage < stages; ++stage) {
    int64_t first = stage * ranks;
    StagePosition position{slowestOf(first, ranks), {}, {}};
    if (stage > 0)
      position.before = link(first - ranks);
    if (stage + 1 < stages)
      position.after = link(first);
    auto same = std::find(found.kinds.begin(), found.kinds.end(), position);
    found.ofStage.push_back(same - found.kinds.begin());
    if (same == found.kinds.end())
      found.kinds.push_back(std::move(position));
  }
  return found;
}

double StageLinks::dataSeconds(const StageSetting &setting, Collective collective, int64_t bytes) {
  if (setting.data == 1 || bytes == 0)
    return 0;
  auto [entry, isNew] = replicas.try_emplace({setting.stages, setting.data, setting.tensor});
  Replicas &found = entry->second;
  if (isNew)
    found.shape = cost::shapeOfAxes(cluster, {setting.stages, setting.data, setting.tensor}, {1});
  auto [time, isUnknown] = found.times.try_emplace({static_cast<int>(collective), bytes}, 0);
  if (isUnknown)
    time->second = costs.collectiveSeconds(collective, static_cast<double>(bytes), found.shape);
  return time->second;
}

StageCosts::StageCosts(const CutGraph &graph, LayoutTables &tables, StageLinks &links, const StageSetting &setting)
    : graph(graph), links(links), setting(setting), batch(tables.getBatch()),
      positions(links.positions(setting.stages, setting.ranksOfStage())) {
  for (const StagePosition &position : positions.kinds)
    layouts.push_back(tables.find(setting.tensor, setting.samples(batch), position.device));
  sumUnits();
}

//===----------------------------------------------------------------------===//
// Units
//===----------------------------------------------------------------------===//

/// Gradients are reduced over replicas once a step; what ZeRO splits is gathered again, also once.
double StageCosts::parameterOnce(const LayoutTable::Parameter &parameter) const {
  if (parameter.gradientBytes == 0)
    return 0;
  double reduce = dataSeconds(setting.zero >= 2 ? Collective::ReduceScatter : Collective::AllReduce,
                              parameter.gradientBytes);
  return reduce + (setting.zero >= 1 ? dataSeconds(Collective::AllGather, parameter.bytes) : 0);
}

/// With several micro-batches a whole gradient is added up, and gathered parameters are kept, on every rank.
int64_t StageCosts::parameterBytes(const LayoutTable::Parameter &parameter) const {
  auto part = [&](int64_t bytes) { return (bytes + setting.data - 1) / setting.data; };
  int64_t bytes = parameter.bytes + parameter.gradientBytes;
  bytes += setting.zero >= 1 ? part(parameter.stateBytes) : parameter.stateBytes;
  if (setting.zero >= 2 && setting.microBatches == 1)
    bytes += part(parameter.gradientBytes) - parameter.gradientBytes;
  if (setting.zero >= 3)
    bytes += part(parameter.bytes) - (setting.microBatches == 1 ? parameter.bytes : 0);
  return bytes;
}

StageCosts::Sums StageCosts::sumsOf(const LayoutTable &table, int unit, Recompute recompute) const {
  const LayoutTable::Unit &own = table.units[unit];
  Sums sums{own.forward, own.inputGradients, own.weightGradients,
            own.once + (setting.zero >= 1 ? own.update / static_cast<double>(setting.data) : own.update),
            0, own.kept};
  if (recompute == Recompute::Full) {
    sums.inputGradients += own.forward;
    sums.kept = own.border;
  } else if (recompute == Recompute::Selective) {
    sums.inputGradients += own.light;
    sums.kept = own.keptHeavy;
  }
  // Every rank loads the whole batch where it is in micro-batches.
  int64_t samples = setting.samples(batch);
  sums.bytes += own.inputs * (setting.microBatches > 1 ? batch : samples) / samples;
  return sums;
}

/// Each unit as fast as it can be on any stage; a tied parameter once.
void StageCosts::findLeast(const std::vector<std::vector<Sums>> &ofTables) {
  for (size_t unit = 0; unit < ofTables.front().size(); ++unit) {
    double kNever = std::numeric_limits<double>::infinity();
    Least own{kNever, kNever, kNever, kNever, std::numeric_limits<int64_t>::max()};
    for (const auto &units : ofTables) {
      const Sums &sums = units[unit];
      double all = sums.forward + sums.inputGradients + sums.weightGradients;
      own = {std::min(own.forward, sums.forward), std::min(own.withoutWeights, all - 2 * sums.weightGradients),
             std::min(own.microBatch, all), std::min(own.once, sums.once),
             std::min(own.bytes, sums.bytes + sums.kept)};
    }
    least = {least.forward + own.forward, least.withoutWeights + own.withoutWeights,
             least.microBatch + own.microBatch, least.once + own.once, least.bytes + own.bytes};
  }
  for (auto [parameter, row] : llvm::zip(graph.getUnits().getParameters(), layouts.front()->parameters)) {
    auto copies = static_cast<int64_t>(parameter.units.size()) - 1;
    least.once -= static_cast<double>(copies) * parameterOnce(row);
    least.bytes -= copies * parameterBytes(row);
  }
}

void StageCosts::sumUnits() {
  const StepUnits &units = graph.getUnits();
  std::vector<std::vector<Sums>> ofTables;
  for (size_t position = 0; position < positions.kinds.size(); ++position)
    for (size_t recompute = 0; recompute < setting.recompute.size(); ++recompute) {
      tables.push_back({position, recompute});
      std::vector<Sums> &ofUnits = ofTables.emplace_back();
      int64_t most = 0;
      for (int unit = 0; unit < units.size(); ++unit) {
        const LayoutTable::Unit &own = layouts[position]->units[unit];
        Recompute kind = setting.recompute[recompute];
        ofUnits.push_back(sumsOf(*layouts[position], unit, kind));
        most = std::max(most, kind == Recompute::Full        ? own.kept
                              : kind == Recompute::Selective ? own.kept - own.keptHeavy
                                                             : 0);
      }
      for (auto [parameter, row] : llvm::zip(units.getParameters(), layouts[position]->parameters)) {
        int64_t bytes = parameterBytes(row);
        double once = parameterOnce(row);
        for (int unit : parameter.units) {
          ofUnits[unit].bytes += bytes;
          ofUnits[unit].once += once;
        }
      }
      again.push_back(most);
      std::vector<Sums> &sums = cutSums.emplace_back(units.getCuts().size());
      for (int cut = 0; cut < units.getCuts().size(); ++cut)
        for (int unit = 0; unit < units.size(); ++unit)
          if (units.getCuts().contains(cut, unit)) {
            const Sums &own = ofUnits[unit];
            sums[cut] = {sums[cut].forward + own.forward, sums[cut].inputGradients + own.inputGradients,
                         sums[cut].weightGradients + own.weightGradients, sums[cut].once + own.once,
                         sums[cut].bytes + own.bytes, sums[cut].kept + own.kept};
          }
    }
  findLeast(ofTables);
}

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

/// A parameter that several units compute with counts once on a stage. Where another stage has it as well, each sends the
/// other its part of the gradient.
void StageCosts::addTied(uint32_t from, uint32_t to, const Table &table, Stage &stage) const {
  for (size_t index : graph.getTied()) {
    const UnitParameter &parameter = graph.getUnits().getParameters()[index];
    const LayoutTable::Parameter &row = layouts[table.position]->parameters[index];
    auto inside = std::count_if(parameter.units.begin(), parameter.units.end(), [&](int unit) {
      return graph.contains(to, unit) && !graph.contains(from, unit);
    });
    if (inside == 0)
      continue;
    stage.sums.bytes -= (inside - 1) * parameterBytes(row);
    stage.sums.once -= static_cast<double>(inside - 1) * parameterOnce(row);
    if (inside < static_cast<int64_t>(parameter.units.size()) && row.gradientBytes > 0) {
      const StagePosition &position = positions.kinds[table.position];
      const cost::GroupShape &link = position.before.ranks > 1 ? position.before : position.after;
      stage.sums.once +=
          links.messageSeconds(row.gradientBytes, link);
      stage.sums.bytes += row.gradientBytes;
    }
  }
}

StageCosts::Stage StageCosts::stageOf(uint32_t from, uint32_t to, size_t tableIndex) const {
  const Table &table = tables[tableIndex];
  const Sums &a = cutSums[tableIndex][from], &b = cutSums[tableIndex][to];
  Stage stage{{b.forward - a.forward, b.inputGradients - a.inputGradients, b.weightGradients - a.weightGradients,
               b.once - a.once, b.bytes - a.bytes + again[tableIndex], b.kept - a.kept}};
  const LayoutTable &layout = *layouts[table.position];
  const StagePosition &position = positions.kinds[table.position];
  for (const CutGraph::Incoming &incoming : graph.incoming(from, to)) {
    int64_t bytes = layout.messageBytes[incoming.message];
    const cost::GroupShape &link = incoming.fromNext ? position.after : position.before;
    if (link.ranks < 2)
      continue; // no stage lies there
    double seconds = links.messageSeconds(bytes, link);
    const UnitMessage &message = graph.getUnits().getMessages()[incoming.message];
    (message.isForward ? stage.activations : stage.gradients) += seconds;
    if (message.isForward && message.isKept)
      stage.sums.kept += bytes;
  }
  addTied(from, to, table, stage);
  return stage;
}

/// What the first micro-batch needs on its way: under zero-bubble schedules the gradients of weights fill gaps.
double StageCosts::passOf(const Sums &sums) const {
  double all = sums.forward + sums.inputGradients + sums.weightGradients;
  return isZeroBubble() ? std::max(sums.forward, all - 2 * sums.weightGradients) : all;
}

StageCost StageCosts::costOf(uint32_t from, uint32_t to, size_t table) const {
  Stage stage = stageOf(from, to, table);
  const Sums &sums = stage.sums;
  double received = stage.activations + stage.gradients;
  double microBatch = sums.forward + sums.inputGradients + sums.weightGradients + received;
  double pass = passOf(sums) + received;
  return {pass, static_cast<double>(setting.microBatches) * microBatch - pass + sums.once, sums.bytes, sums.kept};
}

StageProblem StageCosts::problem(std::optional<int64_t> memoryLimitBytes) const {
  StageProblem problem;
  problem.ranks = setting.stages; // in units of a stage's ranks: all have as many
  for (int64_t stage = 0; stage < setting.stages; ++stage)
    problem.inFlight.push_back(setting.inFlight(stage));
  problem.memoryLimitBytes = memoryLimitBytes;
  problem.larger = graph.getLarger();
  problem.optionRanks.assign(setting.recompute.size(), 1);
  problem.tables = static_cast<uint32_t>(tables.size());
  problem.tableOf = [this](uint32_t option, int64_t stage) {
    return static_cast<uint32_t>(positions.ofStage[std::min<size_t>(stage, positions.ofStage.size() - 1)] *
                                     setting.recompute.size() +
                                 option);
  };
  problem.cost = [this](uint32_t from, uint32_t to, uint32_t table) { return costOf(from, to, table); };
  return problem;
}

//===----------------------------------------------------------------------===//
// Bounds and simulation
//===----------------------------------------------------------------------===//

/// The largest w is at least the average, so that a step takes at least ((p - 1) sum of c + m sum of t + sum of o) / p;
/// messages take no less than nothing.
double StageCosts::boundSeconds() const {
  double stages = static_cast<double>(setting.stages);
  double pass = isZeroBubble() ? std::max(least.forward, least.withoutWeights) : least.microBatch;
  return ((stages - 1) * pass + static_cast<double>(setting.microBatches) * least.microBatch + least.once) / stages;
}

/// k X + e Y for the seconds X of a micro-batch and Y of what is done once, of which the tables know a bound of w X + Y
/// (docs/planning.md).
double plan::boundOfAllLayouts(LayoutTables &tables, StageLinks &links, const StageSetting &setting,
                               std::optional<int64_t> zero, std::optional<std::string> schedule, bool isExact) {
  double best = std::numeric_limits<double>::infinity();
  auto stages = static_cast<double>(setting.stages), microBatches = static_cast<double>(setting.microBatches);
  bool fillsGaps = setting.stages > 1 && schedule.value_or("zb-h1") == "zb-h1";
  bool splitsUpdate = zero.value_or(1) >= 1, scatters = zero.value_or(2) >= 2;
  double often = fillsGaps ? microBatches : stages - 1 + microBatches;
  double once = splitsUpdate ? 1 / static_cast<double>(setting.data) : 1;
  for (const StagePosition &position : links.positions(setting.stages, setting.ranksOfStage()).kinds) {
    int64_t samples = setting.samples(tables.getBatch());
    LayoutTables::Known known{nullptr, 1};
    if (isExact)
      known.table = tables.find(setting.tensor, samples, position.device);
    else if (auto found = tables.findKnown(setting.tensor, samples, position.device))
      known = *found;
    else
      return 0;
    const LayoutTable *layout = known.table;
    if (!layout)
      return std::numeric_limits<double>::infinity();
    double least = known.share * layout->boundSeconds + (1 - known.share) * layout->leastOnce; // of w X + Y
    double reduce = 0;
    for (int64_t bytes : layout->leastGradientBytes)
      reduce += links.dataSeconds(setting, scatters ? Collective::ReduceScatter : Collective::AllReduce, bytes);
    double share = often / LayoutTable::kWeight;
    double seconds = share * (least - (stages - 1) * LayoutTable::kWeight * layout->mostAtCut) +
                     (once - share) * layout->leastOnce + reduce;
    if (fillsGaps)
      seconds += (stages - 1) * known.share * layout->leastForward;
    best = std::min(best, seconds / stages);
  }
  return best;
}

double StageCosts::simulate(const std::vector<PlannedStage> &planned) const {
  if (planned.size() == 1)
    return stepSeconds(planned);
  std::vector<Stage> stages;
  for (const PlannedStage &one : planned)
    stages.push_back(
        stageOf(one.from, one.to, positions.ofStage[one.firstRank] * setting.recompute.size() + one.option));
  std::vector<simulate::ChunkTimes> times;
  for (size_t s = 0; s < stages.size(); ++s)
    times.push_back({stages[s].sums.forward, stages[s].sums.inputGradients, stages[s].sums.weightGradients, 0,
                     // Messages are known of who receives them.
                     s + 1 < stages.size() ? stages[s + 1].activations : 0,
                     s > 0 ? stages[s - 1].gradients : 0});
  schedule::Schedule tasks = schedule::makeSchedule(
      setting.schedule, {static_cast<int>(setting.stages), static_cast<int>(setting.microBatches), 1});
  simulate::Simulation simulation = simulate::simulate(simulate::makePrograms(tasks, times));
  std::vector<double> ends(stages.size(), 0);
  for (const simulate::Event &event : simulation.events)
    if (event.operation.kind == simulate::Operation::Kind::Compute)
      ends[event.rank] = std::max(ends[event.rank], event.end);
  double seconds = simulation.seconds;
  for (size_t s = 0; s < stages.size(); ++s) // what is done once follows a stage's last task
    seconds = std::max(seconds, ends[s] + stages[s].sums.once);
  return seconds;
}
