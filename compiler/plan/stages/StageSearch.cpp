//===- StageSearch.cpp - data, tensor, pipeline, ZeRO, micro-batches ------===//

#include "compiler/plan/stages/StageSearch.h"
#include "compiler/plan/stages/LayoutBound.h"
#include "llvm/ADT/StringExtras.h"
#include <algorithm>
#include <chrono>
#include <set>

using namespace pdc;
using namespace pdc::plan;

/// Plans are simulated that cost so much more than the best, at most so many.
static constexpr double kNear = 1.03;
static constexpr size_t kMostSimulated = 4;
/// Tensor parallelism that is searched stays within a node, but for small ones.
static constexpr int64_t kLeastTensor = 8;
/// Jobs and pipelines whose stages need not be alike: beyond, there are too many ways to share out the ranks.
static constexpr int64_t kMostUnlikeRanks = 16, kMostUnlikeStages = 4;
/// Of a stage, in interleaved schedules that nobody asked for.
static constexpr int64_t kMostChunks = 8;
/// Units that a step should have for each stage of the longest pipeline.
static constexpr int64_t kUnitsOfStage = 2;

std::string plan::describe(const StageSetting &setting) {
  std::string text = "pipeline=" + std::to_string(setting.stages) + " data=" + std::to_string(setting.data) +
                     " tensor=" + std::to_string(setting.tensor) + " zero=" + std::to_string(setting.zero) + ", " +
                     std::to_string(setting.microBatches) + " micro-batch" + (setting.microBatches > 1 ? "es" : "");
  return setting.stages > 1 ? text + ", " + setting.scheduleName() : text;
}

/// "3:1"; one number where all are equal.
static std::string eachOf(const std::vector<StageSplit> &meshes, llvm::function_ref<int64_t(const StageSplit &)> numberOf) {
  std::vector<std::string> numbers;
  for (const StageSplit &mesh : meshes)
    numbers.push_back(std::to_string(numberOf(mesh)));
  return llvm::all_equal(numbers) ? numbers.front() : llvm::join(numbers, ":");
}

std::string plan::describe(const StageDecision &decision) {
  std::string text = describe(decision.setting);
  if (!decision.setting.isAlike())
    text = "pipeline=" + eachOf(decision.meshes, [](const StageSplit &mesh) { return mesh.ranks(); }) +
           " data=" + eachOf(decision.meshes, [](const StageSplit &mesh) { return mesh.data; }) +
           " tensor=" + eachOf(decision.meshes, [](const StageSplit &mesh) { return mesh.tensor; }) +
           text.substr(text.find(" zero="));
  if (llvm::all_of(decision.recompute, [](Recompute word) { return word == Recompute::None; }))
    return text;
  text += ", recompute";
  for (Recompute word : decision.recompute)
    text += std::string(" ") + toString(word);
  return text;
}

static bool isPowerOfTwo(int64_t number) { return (number & (number - 1)) == 0; }

static std::vector<int64_t> divisorsOf(int64_t number) {
  std::vector<int64_t> divisors;
  for (int64_t i = 1; i <= number; ++i)
    if (number % i == 0)
      divisors.push_back(i);
  return divisors;
}

namespace {

/// A setting, and what is known of it.
struct Candidate {
  StageSetting setting;
  std::unique_ptr<StageCosts> costs;
  StagePlan plan;
};

class StageSearch {
public:
  StageSearch(nn::StepOp step, const StageRequest &request, const StepUnits &units)
      : step(step), request(request), units(units), graph(units),
        tables(step, units, request.cluster, request.costs, request.ranks),
        links(request.cluster, request.costs) {}

  std::optional<StageDecision> run() {
    solveGroups();
    for (StageSetting &setting : unlikeSettings())
      solveUnlike(std::move(setting));
    if (near.empty() && !closest)
      return std::nullopt;
    return decide();
  }

private:
  void solveGroups();
  double boundOf(const StageSetting &group, bool isExact) {
    return boundOfAllLayouts(tables, links, group, request.space.zero, schedulesOf(group), isExact);
  }
  std::vector<StageSetting> groups() const;
  std::vector<StageSetting> settingsOf(const StageSetting &group) const;
  std::vector<StageSchedule> schedulesOf(const StageSetting &group) const;
  std::vector<std::vector<Recompute>> recomputesOf(const StageSchedule &schedule) const;
  std::vector<int64_t> microBatchCounts(int64_t data) const;
  void solve(StageSetting setting);
  std::vector<StageSplit> unlikeMeshes(int64_t stages, int64_t microBatches);
  std::vector<StageSetting> unlikeSettings();
  void solveUnlike(StageSetting setting);
  bool isTooLarge(const StageCosts &costs) const {
    return request.memoryLimitBytes && costs.boundBytes() > *request.memoryLimitBytes && !near.empty();
  }
  void keepClosest(Candidate candidate);
  StageDecision decide();

  nn::StepOp step;
  const StageRequest &request;
  const StepUnits &units;
  CutGraph graph;
  LayoutTables tables;
  StageLinks links;
  std::vector<Candidate> near; // plans that may be simulated
  std::optional<Candidate> closest; // where nothing fits
  int64_t closestBytes = 0;
  double best = std::numeric_limits<double>::infinity();
  double lowerBound = std::numeric_limits<double>::infinity();
};

} // namespace

//===----------------------------------------------------------------------===//
// The space
//===----------------------------------------------------------------------===//

template <typename T> static bool allows(const std::optional<T> &decided, const T &value) {
  return !decided || *decided == value;
}

/// Numbers of samples of a micro-batch that are powers of two, where a replica's samples can be divided so; else numbers of
/// micro-batches.
std::vector<int64_t> StageSearch::microBatchCounts(int64_t data) const {
  int64_t samples = tables.getBatch() / data;
  if (samples == 0)
    return {};
  if (units.getClasses().needsWholeBatch())
    return request.space.microBatches.value_or(1) == 1 ? std::vector<int64_t>{1} : std::vector<int64_t>();
  if (request.space.microBatches)
    return *request.space.microBatches <= samples ? std::vector{*request.space.microBatches}
                                                  : std::vector<int64_t>();
  if (request.space.keepsStatistics && units.getClasses().hasStatistics())
    return {1};
  std::vector<int64_t> counts;
  for (int64_t count = 1; count <= samples; ++count)
    if (tables.getBatch() % data == 0 ? samples % count == 0 && isPowerOfTwo(samples / count) : isPowerOfTwo(count))
      counts.push_back(count);
  if (counts.empty() || counts.front() != 1)
    counts.insert(counts.begin(), 1); // the whole batch
  return counts;
}

/// All numbers of stages, replicas, ranks of tensor parallelism and micro-batches.
std::vector<StageSetting> StageSearch::groups() const {
  const StageSpace &space = request.space;
  std::vector<StageSetting> all;
  for (int64_t stages : divisorsOf(request.ranks)) {
    if (!allows(space.pipeline, stages) || stages > units.size())
      continue;
    for (int64_t tensor : divisorsOf(request.ranks / stages)) {
      int64_t data = request.ranks / stages / tensor;
      if (!space.tensor && tensor > std::max(request.cluster.ranksPerNode(), kLeastTensor))
        continue;
      if (allows(space.tensor, tensor) && allows(space.data, data))
        for (int64_t microBatches : microBatchCounts(data))
          if (!space.takesTurns || data <= microBatches)
            all.push_back({stages, data, tensor, 0, microBatches});
    }
  }
  return all;
}

/// Of interleaved schedules those with few chunks: each more brings messages, and less of a bubble that is small by then. They
/// take micro-batches in groups of the number of stages, and all stages are alike.
std::vector<StageSchedule> StageSearch::schedulesOf(const StageSetting &group) const {
  if (group.stages == 1)
    return {{group.microBatches == 1 ? "none" : "accumulation"}};
  auto canInterleave = [&](int64_t chunks) {
    return group.isAlike() && group.microBatches % group.stages == 0 && chunks * group.stages <= units.size();
  };
  if (const std::optional<std::string> &given = request.space.schedule) {
    int64_t chunks = request.space.chunks;
    if (*given != "interleaved")
      return {{*given}};
    return chunks == 1 || canInterleave(chunks) ? std::vector<StageSchedule>{{*given, chunks}} : std::vector<StageSchedule>();
  }
  std::vector<StageSchedule> schedules = {{"1f1b"}, {"zb-h1"}};
  for (int64_t chunks = 2; chunks <= kMostChunks; chunks *= 2)
    if (canInterleave(chunks))
      schedules.push_back({"interleaved", chunks});
  return schedules;
}

/// What each stage may choose from; chunks of one stage do alike. Nothing is computed again where no memory is lacking.
std::vector<std::vector<Recompute>> StageSearch::recomputesOf(const StageSchedule &schedule) const {
  if (request.space.recompute || !request.memoryLimitBytes)
    return {{request.space.recompute.value_or(Recompute::None)}};
  std::vector<Recompute> all(std::begin(kRecomputes), std::end(kRecomputes));
  if (schedule.chunks == 1)
    return {all};
  std::vector<std::vector<Recompute>> one;
  for (Recompute recompute : all)
    one.push_back({recompute});
  return one;
}

std::vector<StageSetting> StageSearch::settingsOf(const StageSetting &group) const {
  std::vector<StageSetting> all;
  for (int64_t zero = 0; zero <= (group.data > 1 ? 3 : 0); ++zero)
    for (const StageSchedule &schedule : schedulesOf(group))
      for (std::vector<Recompute> &recompute : recomputesOf(schedule)) {
        StageSetting setting = group;
        setting.zero = zero;
        setting.schedule = schedule.name;
        setting.chunks = schedule.chunks;
        setting.recompute = std::move(recompute);
        if (allows(request.space.zero, zero))
          all.push_back(std::move(setting));
      }
  return all;
}

/// How a stage can share some of the ranks, if each of the others has one or more.
std::vector<StageSplit> StageSearch::unlikeMeshes(int64_t stages, int64_t microBatches) {
  const StageSpace &space = request.space;
  std::vector<StageSplit> meshes;
  int64_t most = request.ranks - (stages - 1), samples = tables.getBatch() / microBatches;
  if (space.takesTurns)
    samples = std::min(samples, microBatches);
  for (int64_t tensor = 1; tensor <= most; ++tensor) {
    bool isOffered = space.tensor ? *space.tensor == tensor
                                  : isPowerOfTwo(tensor) && tensor <= std::max(request.cluster.ranksPerNode(), kLeastTensor);
    for (int64_t data = 1; isOffered && data <= std::min(most / tensor, samples); ++data)
      if (allows(space.data, data))
        meshes.push_back({data, tensor});
  }
  return meshes;
}

/// Settings whose stages may have the numbers of ranks that suit them.
std::vector<StageSetting> StageSearch::unlikeSettings() {
  std::vector<StageSetting> all;
  if (request.ranks > kMostUnlikeRanks)
    return all;
  for (int64_t stages = 2; stages <= std::min({kMostUnlikeStages, request.ranks - 1, int64_t(units.size())}); ++stages)
    for (int64_t microBatches : microBatchCounts(1)) {
      std::vector<StageSplit> meshes = unlikeMeshes(stages, microBatches);
      bool haveOneSize = llvm::all_of(meshes, [&](const StageSplit &mesh) { return mesh.ranks() == meshes[0].ranks(); });
      if (!allows(request.space.pipeline, stages) || haveOneSize)
        continue;
      StageSetting group{stages, llvm::max_element(meshes)->data, 1, 0, microBatches};
      group.meshes = std::move(meshes);
      group.ranks = request.ranks;
      for (StageSetting &setting : settingsOf(group))
        // ZeRO 2 takes no longer than 1, and 3 saves memory alone.
        if (setting.zero % 2 == 0 || request.space.zero || request.memoryLimitBytes)
          all.push_back(std::move(setting));
    }
  return all;
}

//===----------------------------------------------------------------------===//
// The search
//===----------------------------------------------------------------------===//

/// By increasing bounds. A group whose layouts are not known yet is bounded by those for more samples; if it comes to be the
/// first, its own are searched, and it takes its place again.
void StageSearch::solveGroups() {
  std::vector<StageSetting> all = groups();
  struct Open {
    double bound;
    size_t group;
    bool isExact;
    auto operator<=>(const Open &) const = default;
  };
  std::set<Open> open;
  // Those of the most samples first: there the others find something known.
  std::vector<std::pair<int64_t, size_t>> order;
  for (auto [index, group] : llvm::enumerate(all))
    order.emplace_back(-group.samples(tables.getBatch(), group.data), index);
  llvm::sort(order);
  for (auto [samples, index] : order) {
    const StageSetting &group = all[index];
    double known = boundOf(group, /*isExact=*/false); // 0: nothing is known of so many ranks
    open.insert(known > 0 ? Open{known, index, false} : Open{boundOf(group, true), index, true});
  }
  while (!open.empty()) {
    auto [bound, index, isExact] = *open.begin();
    if (bound >= best * kNear || bound == std::numeric_limits<double>::infinity())
      break;
    open.erase(open.begin());
    if (!isExact) {
      open.insert({boundOf(all[index], true), index, true});
      continue;
    }
    lowerBound = std::min(lowerBound, bound);
    for (StageSetting &setting : settingsOf(all[index]))
      solve(std::move(setting));
  }
  if (!open.empty())
    lowerBound = std::min(lowerBound, open.begin()->bound);
}

void StageSearch::solve(StageSetting setting) {
  Candidate candidate{std::move(setting), nullptr, {}};
  candidate.costs = std::make_unique<StageCosts>(graph, tables, links, candidate.setting);
  if (candidate.costs->boundSeconds() >= best * kNear || isTooLarge(*candidate.costs))
    return;
  candidate.plan = planStages(candidate.costs->problem(request.memoryLimitBytes), best * kNear);
  if (candidate.plan.status == StageStatus::overMemory)
    return keepClosest(std::move(candidate));
  if (candidate.plan.status != StageStatus::found)
    return;
  best = std::min(best, candidate.plan.seconds);
  near.push_back(std::move(candidate));
}

/// Most meshes are never asked for their own layouts: with those for more samples no plan costs more, and only what the best
/// plan uses is made exact, until all of it is.
void StageSearch::solveUnlike(StageSetting setting) {
  auto leaveOut = [&](const std::vector<StageSplit> &impossible) {
    llvm::erase_if(setting.meshes, [&](const StageSplit &mesh) { return llvm::is_contained(impossible, mesh); });
  };
  while (!setting.meshes.empty()) {
    Candidate candidate{setting, std::make_unique<StageCosts>(graph, tables, links, setting), {}};
    const std::vector<StageSplit> impossible = candidate.costs->getImpossible();
    if (impossible.empty()) {
      if (candidate.costs->boundSeconds() >= best || isTooLarge(*candidate.costs))
        return;
      candidate.plan = planStages(candidate.costs->problem(request.memoryLimitBytes), best);
      if (candidate.plan.status == StageStatus::impossible)
        return;
      if (candidate.costs->refine(candidate.plan.stages)) {
        if (candidate.plan.status == StageStatus::overMemory)
          return keepClosest(std::move(candidate));
        best = std::min(best, candidate.plan.seconds);
        near.push_back(std::move(candidate));
        return;
      }
    }
    leaveOut(impossible);
  }
}

void StageSearch::keepClosest(Candidate candidate) {
  int64_t most = *llvm::max_element(candidate.costs->bytesOf(candidate.plan.stages));
  if (closest && most >= closestBytes)
    return;
  closest = std::move(candidate);
  closestBytes = most;
}

StageDecision StageSearch::decide() {
  std::vector<std::pair<double, size_t>> order; // by cost
  for (auto [index, candidate] : llvm::enumerate(near))
    if (candidate.plan.seconds < best * kNear)
      order.emplace_back(candidate.plan.seconds, index);
  llvm::sort(order);
  order.resize(std::min(order.size(), kMostSimulated));
  Candidate *chosen = near.empty() ? &*closest : nullptr;
  double least = std::numeric_limits<double>::infinity();
  for (auto [cost, index] : order)
    if (double seconds = near[index].costs->simulate(near[index].plan.stages); seconds < least) {
      least = seconds;
      chosen = &near[index];
    }
  StageDecision decision;
  decision.setting = chosen->setting;
  decision.plan = chosen->plan;
  decision.simulatedSeconds = least;
  decision.leastSeconds = near.empty() ? chosen->plan.seconds : best;
  decision.lowerBoundSeconds = std::min(lowerBound, decision.leastSeconds);
  decision.plansConsidered = tables.plansConsidered;
  std::vector<int64_t> chunkOfUnit(units.size(), 0);
  decision.bytes = chosen->costs->bytesOf(chosen->plan.stages);
  for (auto [part, planned] : llvm::enumerate(chosen->plan.stages)) {
    if (static_cast<int64_t>(part) < chosen->setting.stages) { // all chunks of a stage are alike
      decision.meshes.push_back(chosen->costs->meshOf(planned));
      decision.recompute.push_back(chosen->costs->recomputeOf(planned));
    }
    for (int unit = 0; unit < units.size(); ++unit)
      if (graph.contains(planned.to, unit) && !graph.contains(planned.from, unit))
        chunkOfUnit[unit] = static_cast<int64_t>(part);
  }
  if (llvm::all_equal(decision.meshes)) {
    decision.setting.meshes.clear();
    decision.setting.data = decision.meshes.front().data;
    decision.setting.tensor = decision.meshes.front().tensor;
  }
  const passes::StepClasses &classes = units.getClasses();
  for (mlir::Operation &op : step.getBody().front())
    decision.chunkOfOp.push_back(classes.isWork(&op) && classes.isForward(&op) ? chunkOfUnit[units.unitOf(&op)]
                                                                              : -1);
  return decision;
}

std::optional<StageDecision> plan::searchStages(nn::StepOp step, const StageRequest &request) {
  auto begin = std::chrono::steady_clock::now();
  int64_t wanted = kUnitsOfStage * request.space.pipeline.value_or(std::min<int64_t>(request.ranks, 16));
  std::unique_ptr<StepUnits> units = StepUnits::make(step, static_cast<int>(wanted));
  if (!units)
    return std::nullopt;
  std::optional<StageDecision> decision = StageSearch(step, request, *units).run();
  if (decision)
    decision->searchSeconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return decision;
}
