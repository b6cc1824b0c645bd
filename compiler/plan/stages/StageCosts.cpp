//===- StageCosts.cpp - a pipeline's stages, as a StageProblem ------------===//

#include "compiler/plan/stages/StageCosts.h"
#include <algorithm>
#include <cmath>
#include <limits>

using namespace pdc;
using namespace pdc::plan;
using cost::Collective;

/// What the schedule's order holds at once, from the forward of a micro-batch until no part of its backward is left.
static std::vector<int64_t> heldAtOnce(const schedule::Schedule &schedule) {
  std::vector<int64_t> held(schedule.rankOf.size(), 0), most(schedule.rankOf.size(), 0);
  for (const auto &tasks : schedule.ranks)
    for (const schedule::Task &task : tasks) {
      if (task.kind == schedule::TaskKind::Forward)
        most[task.chunk] = std::max(most[task.chunk], ++held[task.chunk]);
      else if (task.kind != schedule::TaskKind::BackwardInput)
        --held[task.chunk];
    }
  return most;
}

std::vector<int64_t> StageSetting::inFlight() const {
  if (stages == 1)
    return {1};
  if (chunks > 1)
    return heldAtOnce(schedule::interleaved(static_cast<int>(stages), static_cast<int>(microBatches),
                                            static_cast<int>(chunks)));
  std::vector<int64_t> each;
  for (int64_t stage = 0; stage < stages; ++stage) {
    int64_t most = schedule == "gpipe" ? microBatches : schedule == "zb-h1" ? stages : stages - stage;
    each.push_back(std::min(microBatches, most)); // ZB-H1 keeps what W needs for longer
  }
  return each;
}

std::string StageSetting::scheduleName() const {
  return chunks > 1 ? schedule + ":chunks=" + std::to_string(chunks) : schedule;
}

StageCosts::StageCosts(const CutGraph &graph, LayoutTables &tables, StageLinks &links, const StageSetting &given)
    : graph(graph), layoutTables(tables), links(links), setting(given), batch(tables.getBatch()), meshes(given.meshes) {
  if (setting.isAlike()) {
    meshes = {{setting.data, setting.tensor}};
    setting.ranks = setting.stages * setting.ranksOfStage();
  }
  for (const StageSplit &mesh : meshes)
    addKinds(mesh);
  if (!impossible.empty())
    return;
  for (size_t kind = 0; kind < kinds.size(); ++kind)
    for (Recompute recompute : setting.recompute)
      this->tables.push_back(makeTable(kind, recompute));
  findLeast();
}

void StageCosts::addKinds(const StageSplit &mesh) {
  size_t index = positions.size();
  firstKind.push_back(kinds.size());
  positions.push_back(setting.isAlike() ? &links.alike(setting.stages, mesh, setting.chunks)
                                        : &links.anywhere(setting.ranks, mesh));
  int64_t samples = setting.samples(batch, mesh.data);
  for (const StagePosition &position : positions.back()->kinds) {
    std::optional<LayoutTables::Known> layouts;
    if (!setting.isAlike())
      layouts = layoutTables.findKnown(mesh.tensor, samples, position.device);
    if (!layouts)
      layouts = {layoutTables.find(mesh.tensor, samples, position.device), 1};
    if (layouts->table)
      kinds.push_back({index, &position, *layouts});
    else if (!llvm::is_contained(impossible, mesh))
      impossible.push_back(mesh);
  }
}

bool StageCosts::refine(const std::vector<PlannedStage> &stages) {
  bool isExact = true;
  for (const PlannedStage &stage : stages) {
    const Kind &kind = kinds[tableOf(stage).kind];
    const StageSplit &mesh = meshes[kind.mesh];
    if (kind.layouts.share == 1)
      continue;
    isExact = false;
    layoutTables.find(mesh.tensor, setting.samples(batch, mesh.data), kind.position->device);
  }
  return isExact;
}

//===----------------------------------------------------------------------===//
// Units
//===----------------------------------------------------------------------===//

StageCosts::Sums &StageCosts::Sums::operator+=(const Sums &other) {
  forward += other.forward;
  inputGradients += other.inputGradients;
  weightGradients += other.weightGradients;
  once += other.once;
  bytes += other.bytes;
  kept += other.kept;
  forwardBytes += other.forwardBytes;
  units += other.units;
  return *this;
}

StageCosts::Sums StageCosts::Sums::operator-(const Sums &other) const {
  return {forward - other.forward,
          inputGradients - other.inputGradients,
          weightGradients - other.weightGradients,
          once - other.once,
          bytes - other.bytes,
          kept - other.kept,
          forwardBytes - other.forwardBytes,
          units - other.units};
}

/// Gradients are reduced over replicas once a step; what ZeRO splits is gathered again, also once.
double StageCosts::parameterOnce(const Kind &kind, size_t index) const {
  const LayoutTable::Parameter &parameter = kind.layouts.table->parameters[index];
  if (parameter.gradientBytes == 0)
    return 0;
  double reduce = dataSeconds(kind, setting.zero >= 2 ? Collective::ReduceScatter : Collective::AllReduce,
                              parameter.gradientBytes);
  return reduce + (setting.zero >= 1 ? dataSeconds(kind, Collective::AllGather, parameter.bytes) : 0);
}

/// With several micro-batches a whole gradient is added up, and gathered parameters are kept, on every rank.
int64_t StageCosts::parameterBytes(const Kind &kind, size_t index) const {
  const LayoutTable::Parameter &parameter = kind.layouts.table->parameters[index];
  auto part = [&](int64_t bytes) { return llvm::divideCeil(bytes, meshes[kind.mesh].data); };
  int64_t bytes = parameter.bytes + parameter.gradientBytes;
  bytes += setting.zero >= 1 ? part(parameter.stateBytes) : parameter.stateBytes;
  if (setting.zero >= 2 && setting.microBatches == 1)
    bytes += part(parameter.gradientBytes) - parameter.gradientBytes;
  if (setting.zero >= 3)
    bytes += part(parameter.bytes) - (setting.microBatches == 1 ? parameter.bytes : 0);
  return bytes;
}

StageCosts::Sums StageCosts::sumsOf(const Kind &kind, int unit, Recompute recompute) const {
  const LayoutTable::Unit &own = kind.layouts.table->units[unit];
  double share = kind.layouts.share, data = static_cast<double>(meshes[kind.mesh].data);
  auto bytes = [share](int64_t whole) { return static_cast<int64_t>(share * static_cast<double>(whole)); };
  Sums sums{share * own.forward, share * own.inputGradients, share * own.weightGradients,
            own.once + (setting.zero >= 1 ? own.update / data : own.update), 0, bytes(own.kept), bytes(own.kept), 1};
  if (recompute == Recompute::Full) {
    sums.inputGradients += share * own.forward;
    sums.kept = bytes(own.border);
  } else if (recompute == Recompute::Selective) {
    sums.inputGradients += share * own.light;
    sums.kept = std::min(bytes(own.kept), bytes(own.heavy));
  }
  sums.kept += bytes(own.inputs); // of each micro-batch, loaded as its task begins
  return sums;
}

StageCosts::Table StageCosts::makeTable(size_t index, Recompute recompute) const {
  const Kind &kind = kinds[index];
  const StepUnits &units = graph.getUnits();
  Table table{index, recompute, {}, {}, {}, 0};
  for (int unit = 0; unit < units.size(); ++unit) {
    const LayoutTable::Unit &own = kind.layouts.table->units[unit];
    table.units.push_back(sumsOf(kind, unit, recompute));
    if (recompute == Recompute::Full)
      table.again.push_back(own.kept);
    else if (recompute == Recompute::Selective)
      table.again.push_back(std::max<int64_t>(own.kept - own.heavy, 0));
    table.gradients = std::max(table.gradients, own.gradients);
  }
  for (auto [parameter, row] : llvm::enumerate(units.getParameters())) {
    int64_t bytes = parameterBytes(kind, parameter);
    double once = parameterOnce(kind, parameter);
    for (int unit : row.units) {
      table.units[unit].bytes += bytes;
      table.units[unit].once += once;
    }
  }
  return table;
}

void StageCosts::sumCuts() {
  const place::Downsets &cuts = graph.getUnits().getCuts();
  for (Table &table : tables) {
    if (!table.cuts.empty())
      continue;
    table.cuts.resize(cuts.size());
    for (int cut = 0; cut < cuts.size(); ++cut)
      for (size_t unit = 0; unit < table.units.size(); ++unit)
        if (cuts.contains(cut, static_cast<int>(unit)))
          table.cuts[cut] += table.units[unit];
  }
}

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

uint32_t StageCosts::tableOf(uint32_t option, int64_t firstRank) const {
  size_t mesh = option / setting.recompute.size(), recompute = option % setting.recompute.size();
  return static_cast<uint32_t>((firstKind[mesh] + positions[mesh]->of(firstRank)) * setting.recompute.size() + recompute);
}

/// A parameter that several units compute with counts once on a stage. Where another stage has it as well, each sends the
/// other its part of the gradient.
void StageCosts::addTied(uint32_t from, uint32_t to, const Table &table, Stage &stage) const {
  const Kind &kind = kinds[table.kind];
  for (size_t index : graph.getTied()) {
    const UnitParameter &parameter = graph.getUnits().getParameters()[index];
    int64_t gradientBytes = kind.layouts.table->parameters[index].gradientBytes;
    auto inside = std::count_if(parameter.units.begin(), parameter.units.end(), [&](int unit) {
      return graph.contains(to, unit) && !graph.contains(from, unit);
    });
    if (inside == 0)
      continue;
    stage.sums.bytes -= (inside - 1) * parameterBytes(kind, index);
    stage.sums.once -= static_cast<double>(inside - 1) * parameterOnce(kind, index);
    if (inside < static_cast<int64_t>(parameter.units.size()) && gradientBytes > 0) {
      const StagePosition &position = *kind.position;
      stage.sums.once += links.messageSeconds(gradientBytes, position.before.ranks > 1 ? position.before : position.after);
      stage.sums.bytes += gradientBytes;
    }
  }
}

/// The bytes that the unit which computes most again does.
int64_t StageCosts::mostAgain(uint32_t from, uint32_t to, const Table &table) const {
  int64_t most = 0;
  for (auto [unit, bytes] : llvm::enumerate(table.again))
    if (bytes > most && graph.contains(to, static_cast<int>(unit)) && !graph.contains(from, static_cast<int>(unit)))
      most = bytes;
  return most;
}

/// Full recomputation in segments of equal numbers of units, which keep what is alive at their borders, for each micro-batch
/// in flight, and one of which is computed again at a time: about as many as need least on a first stage, whose micro-batches
/// in flight are most.
void StageCosts::chooseSegments(int64_t most, Sums &sums) const {
  auto borders = static_cast<double>(inFlight.front() * sums.kept);
  auto best = static_cast<int64_t>(std::sqrt(borders / static_cast<double>(std::max<int64_t>(most, 1))));
  int64_t length = std::clamp<int64_t>(best, 1, sums.units);
  sums.bytes += std::min(sums.forwardBytes, length * most);
  sums.kept = llvm::divideCeil(sums.kept, length);
}

/// The messages that a stage receives, in the time and bytes of a rank that has a part of them by these layouts.
void StageCosts::addMessages(uint32_t from, uint32_t to, const LayoutTables::Known &layouts, const StagePosition &receiver,
                             bool isFull, Stage &stage) const {
  for (const CutGraph::Incoming &incoming : graph.incoming(from, to)) {
    const cost::GroupShape &link = incoming.fromNext ? receiver.after : receiver.before;
    if (link.ranks < 2)
      continue; // no stage lies there
    auto bytes =
        static_cast<int64_t>(layouts.share * static_cast<double>(layouts.table->messageBytes[incoming.message]));
    const UnitMessage &message = graph.getUnits().getMessages()[incoming.message];
    (message.isForward ? stage.activations : stage.gradients) += links.messageSeconds(bytes, link);
    if (message.isForward && (message.isKept || isFull)) // the first segment begins with it
      stage.sums.kept += bytes;
  }
}

StageCosts::Stage StageCosts::stageOf(uint32_t from, uint32_t to, size_t index) const {
  const Table &table = tables[index];
  Stage stage{table.cuts[to] - table.cuts[from]};
  bool isFull = table.recompute == Recompute::Full;
  int64_t most = mostAgain(from, to, table);
  if (isFull)
    chooseSegments(most, stage.sums);
  else
    stage.sums.bytes += most;
  // Where everything is kept, most is there before the gradients are.
  if (table.recompute != Recompute::None)
    stage.sums.bytes += table.gradients;
  const Kind &kind = kinds[table.kind];
  addMessages(from, to, kind.layouts, *kind.position, isFull, stage);
  addTied(from, to, table, stage);
  return stage;
}

/// What the first micro-batch needs on its way: under zero-bubble schedules the gradients of weights fill gaps.
double StageCosts::passOf(const Sums &sums) const {
  double all = sums.microBatch();
  return isZeroBubble() ? std::max(sums.forward, all - 2 * sums.weightGradients) : all;
}

/// Where stages have v chunks each, the pipeline is filled in the time of p - 1 chunks: a chunk has c = t / v and, as if its
/// stage's others were like it, w = v (m t + o) - t. So chunks that are alike take (v m + p - 1) t, as the schedule does, and
/// others no longer than is said here. Of memory a chunk has v times its own for the same reason.
StageCost StageCosts::costOf(uint32_t from, uint32_t to, size_t table) const {
  Stage stage = stageOf(from, to, table);
  const Sums &sums = stage.sums;
  double received = stage.activations + stage.gradients;
  double pass = passOf(sums) + received;
  auto chunks = static_cast<double>(setting.chunks);
  double work = static_cast<double>(setting.microBatches) * (sums.microBatch() + received) + sums.once;
  return {pass / chunks, chunks * work - pass, setting.chunks * sums.bytes, setting.chunks * sums.kept};
}

std::vector<int64_t> StageCosts::bytesOf(const std::vector<PlannedStage> &parts) const {
  std::vector<int64_t> bytes(setting.stages, 0);
  for (auto [part, planned] : llvm::enumerate(parts))
    bytes[part % setting.stages] += stageBytes(planned.cost, inFlight[part]) / setting.chunks;
  return bytes;
}

StageProblem StageCosts::problem(std::optional<int64_t> memoryLimitBytes) {
  sumCuts();
  inFlight = setting.inFlight(); // of long orders more work than most settings are worth
  StageProblem problem;
  problem.ranks = setting.ranks * setting.chunks; // as if each chunk had ranks of its own
  problem.inFlight = inFlight;
  problem.memoryLimitBytes = memoryLimitBytes;
  problem.larger = graph.getLarger();
  for (const StageSplit &mesh : meshes)
    problem.optionRanks.insert(problem.optionRanks.end(), setting.recompute.size(), mesh.ranks());
  problem.tables = static_cast<uint32_t>(tables.size());
  problem.tableOf = [this](uint32_t option, int64_t firstRank) { return tableOf(option, firstRank); };
  problem.cost = [this](uint32_t from, uint32_t to, uint32_t table) { return costOf(from, to, table); };
  return problem;
}

//===----------------------------------------------------------------------===//
// Bounds and simulation
//===----------------------------------------------------------------------===//

/// With a_s the share of all ranks that stage s has, the largest w is at least the average of all by these shares, so that a
/// step takes at least the sum over stages of a_s (m t_s + o_s) + (1 - a_s) c_s, each of which is a sum over units; messages take no
/// less than nothing. Each unit as it is fastest, on any kind of stage; a tied parameter counts once.
void StageCosts::findLeast() {
  auto microBatches = static_cast<double>(setting.microBatches);
  size_t tied = graph.getTied().size();
  double ofPasses = 0, ofForward = 0; // by what c is: all of a micro-batch but 2 W, or F; the larger one holds
  std::vector<double> tiedOnce(tied, 0);
  std::vector<int64_t> tiedBytes(tied, 0);
  for (int unit = 0; unit < graph.getUnits().size(); ++unit) {
    double pass = std::numeric_limits<double>::infinity(), forward = pass;
    int64_t bytes = std::numeric_limits<int64_t>::max();
    for (const Table &table : tables) {
      const Sums &sums = table.units[unit];
      double share = shareOf(kinds[table.kind]), work = share * (microBatches * sums.microBatch() + sums.once);
      double passed = sums.microBatch() - (isZeroBubble() ? 2 * sums.weightGradients : 0);
      pass = std::min(pass, work + (1 - share) * passed / static_cast<double>(setting.chunks));
      forward = std::min(forward, work + (1 - share) * sums.forward);
      // Segments may be longer than a unit, and so keep less than its border.
      bytes = std::min(bytes, sums.bytes + (table.recompute == Recompute::Full ? 0 : sums.kept));
    }
    ofPasses += pass;
    ofForward += forward;
    leastBytes += bytes;
  }
  leastSeconds = isZeroBubble() ? std::max(ofPasses, ofForward) : ofPasses;
  for (const Kind &kind : kinds)
    for (auto [index, parameter] : llvm::enumerate(graph.getTied())) {
      tiedOnce[index] = std::max(tiedOnce[index], shareOf(kind) * parameterOnce(kind, parameter));
      tiedBytes[index] = std::max(tiedBytes[index], parameterBytes(kind, parameter));
    }
  for (auto [index, parameter] : llvm::enumerate(graph.getTied())) {
    auto copies = static_cast<int64_t>(graph.getUnits().getParameters()[parameter].units.size()) - 1;
    leastSeconds -= static_cast<double>(copies) * tiedOnce[index];
    leastBytes -= copies * tiedBytes[index];
  }
}

/// A message between stages of different meshes takes as long as its side with the larger parts does.
void StageCosts::addSenders(const std::vector<PlannedStage> &planned, std::vector<Stage> &stages) const {
  for (size_t s = 0; s < stages.size(); ++s) {
    auto add = [&](size_t sender) {
      Stage sent;
      addMessages(planned[s].from, planned[s].to, kinds[tableOf(planned[sender]).kind].layouts,
                  *kinds[tableOf(planned[s]).kind].position, false, sent);
      return sent;
    };
    if (s > 0)
      stages[s].activations = std::max(stages[s].activations, add(s - 1).activations);
    if (s + 1 < stages.size())
      stages[s].gradients = std::max(stages[s].gradients, add(s + 1).gradients);
  }
}

double StageCosts::simulate(const std::vector<PlannedStage> &planned) const {
  if (planned.size() == 1)
    return stepSeconds(planned);
  std::vector<Stage> parts;
  for (const PlannedStage &one : planned)
    parts.push_back(stageOf(one.from, one.to, tableOf(one.option, one.firstRank)));
  addSenders(planned, parts);
  std::vector<simulate::ChunkTimes> times;
  std::vector<double> once(setting.stages, 0), ends(setting.stages, 0);
  for (size_t part = 0; part < parts.size(); ++part) {
    const Sums &sums = parts[part].sums;
    times.push_back({sums.forward, sums.inputGradients, sums.weightGradients, 0,
                     // Messages are known of who receives them.
                     part + 1 < parts.size() ? parts[part + 1].activations : 0, part > 0 ? parts[part - 1].gradients : 0});
    once[part % setting.stages] += sums.once;
  }
  schedule::Schedule tasks =
      schedule::makeSchedule(setting.schedule, {static_cast<int>(setting.stages), static_cast<int>(setting.microBatches),
                                                static_cast<int>(setting.chunks)});
  simulate::Simulation simulation = simulate::simulate(simulate::makePrograms(tasks, times));
  for (const simulate::Event &event : simulation.events)
    if (event.operation.kind == simulate::Operation::Kind::Compute)
      ends[event.rank] = std::max(ends[event.rank], event.end);
  double seconds = simulation.seconds;
  for (auto [end, after] : llvm::zip(ends, once)) // what is done once follows a stage's last task
    seconds = std::max(seconds, end + after);
  return seconds;
}
