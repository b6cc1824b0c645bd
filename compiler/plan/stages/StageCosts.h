//===- StageCosts.h - a pipeline's stages, as a StageProblem ----*- C++ -*-===//
#ifndef PDC_COMPILER_PLAN_STAGES_STAGECOSTS_H
#define PDC_COMPILER_PLAN_STAGES_STAGECOSTS_H

#include "compiler/plan/stages/LayoutTables.h"
#include "compiler/plan/stages/StageProblem.h"
#include "compiler/schedule/Schedule.h"
#include "compiler/simulate/Simulation.h"
#include "dialects/dist/IR/PipelineAttributes.h"

namespace pdc::plan {

using dist::kRecomputes;
using dist::Recompute;
using dist::toString;

/// Everything but the cuts: stages of equal numbers of ranks, each with the same mesh.
struct StageSetting {
  int64_t stages = 1, data = 1, tensor = 1, zero = 0, microBatches = 1;
  std::string schedule = "none"; // none, accumulation, 1f1b, gpipe, zb-h1
  std::vector<Recompute> recompute = {Recompute::None}; // that each stage may choose from

  int64_t ranksOfStage() const { return data * tensor; }
  /// Of a micro-batch, on the rank that has most.
  int64_t samples(int64_t batch) const {
    int64_t parts = microBatches * data;
    return (batch + parts - 1) / parts;
  }
  /// Of how many micro-batches a stage holds the activations.
  int64_t inFlight(int64_t stage) const;
};

/// The cuts of a step, and what crosses where; the same for every setting.
class CutGraph {
public:
  explicit CutGraph(const StepUnits &units);

  const StepUnits &getUnits() const { return units; }
  const std::vector<std::vector<uint32_t>> &getLarger() const { return larger; }
  /// Parameters that several units compute with.
  const std::vector<size_t> &getTied() const { return tied; }
  bool contains(uint32_t cut, int unit) const { return units.getCuts().contains(static_cast<int>(cut), unit); }
  /// Messages that a stage between two cuts receives.
  struct Incoming {
    uint32_t message;
    bool fromNext; // from a later stage: a gradient
  };
  const std::vector<Incoming> &incoming(uint32_t from, uint32_t to) const;

private:
  const StepUnits &units;
  std::vector<std::vector<uint32_t>> larger;
  std::vector<size_t> tied;
  mutable std::vector<std::vector<std::optional<std::vector<Incoming>>>> known;
};

/// Where a stage's ranks lie: a rank with the device that computes, the links to its neighbours.
struct StagePosition {
  int64_t device = 0;
  cost::GroupShape before, after;
  bool operator==(const StagePosition &) const = default;
};

/// What settings share: where stages and replicas lie, the times of their collectives.
class StageLinks {
public:
  StageLinks(const machine::Cluster &cluster, const cost::CostModel &costs) : cluster(cluster), costs(costs) {}

  struct Positions {
    std::vector<StagePosition> kinds;
    std::vector<size_t> ofStage; // into `kinds`
  };
  const Positions &positions(int64_t stages, int64_t ranksOfStage);
  /// Of a collective over replicas of a stage.
  double dataSeconds(const StageSetting &setting, cost::Collective collective, int64_t bytes);
  double messageSeconds(int64_t bytes, const cost::GroupShape &link) const {
    return costs.collectiveSeconds(cost::Collective::PointToPoint, static_cast<double>(bytes), link);
  }

private:
  struct Replicas {
    cost::GroupShape shape;
    std::map<std::pair<int, int64_t>, double> times;
  };
  int64_t slowestOf(int64_t first, int64_t ranks) const;

  const machine::Cluster &cluster;
  const cost::CostModel &costs;
  std::map<std::pair<int64_t, int64_t>, Positions> known;
  std::map<std::tuple<int64_t, int64_t, int64_t>, Replicas> replicas;
};

/// No plan with these numbers of stages, ranks and micro-batches takes less, in whatever layouts, under any of the ZeRO
/// stages and schedules that `zero` and `schedule` leave open. Infinite where the step cannot be split so. Unless
/// `isExact`, tables that are there already are asked, of more samples if need be.
double boundOfAllLayouts(LayoutTables &tables, StageLinks &links, const StageSetting &setting,
                         std::optional<int64_t> zero, std::optional<std::string> schedule, bool isExact = true);

/// The costs of stages under one setting.
class StageCosts {
public:
  StageCosts(const CutGraph &graph, LayoutTables &tables, StageLinks &links, const StageSetting &setting);

  /// No plan takes less in the layouts of the tables.
  double boundSeconds() const;
  /// Some stage needs at least so many bytes.
  int64_t boundBytes() const { return least.bytes / setting.stages; }
  StageProblem problem(std::optional<int64_t> memoryLimitBytes) const;
  Recompute recomputeOf(const PlannedStage &stage) const { return setting.recompute[stage.option]; }
  /// The stages of a plan in simulated time.
  double simulate(const std::vector<PlannedStage> &stages) const;

private:
  /// Sums over units; differences of two cuts are what lies between them.
  struct Sums {
    double forward = 0, inputGradients = 0, weightGradients = 0, once = 0;
    int64_t bytes = 0, kept = 0;
  };
  /// The costs of one kind of stage: position and recomputation.
  struct Table {
    size_t position, recompute;
  };
  struct Stage {
    Sums sums;
    double activations = 0, gradients = 0; // seconds of the messages that it receives
  };
  struct Least {
    double forward = 0, withoutWeights = 0, microBatch = 0, once = 0;
    int64_t bytes = 0;
  };
  void sumUnits();
  Sums sumsOf(const LayoutTable &layouts, int unit, Recompute recompute) const;
  double parameterOnce(const LayoutTable::Parameter &parameter) const;
  int64_t parameterBytes(const LayoutTable::Parameter &parameter) const;
  double dataSeconds(cost::Collective collective, int64_t bytes) const {
    return links.dataSeconds(setting, collective, bytes);
  }
  void findLeast(const std::vector<std::vector<Sums>> &ofTables);
  Stage stageOf(uint32_t from, uint32_t to, size_t table) const;
  void addTied(uint32_t from, uint32_t to, const Table &table, Stage &stage) const;
  StageCost costOf(uint32_t from, uint32_t to, size_t table) const;
  bool isZeroBubble() const { return setting.schedule == "zb-h1"; }
  double passOf(const Sums &sums) const;

  const CutGraph &graph;
  StageLinks &links;
  StageSetting setting;
  int64_t batch;
  const StageLinks::Positions &positions;
  std::vector<const LayoutTable *> layouts;    // per kind of position
  std::vector<Table> tables;
  std::vector<std::vector<Sums>> cutSums;      // per table and cut
  std::vector<int64_t> again;                  // per table: bytes of what is computed again at once
  Least least; // of all units
};

} // namespace pdc::plan

#endif // PDC_COMPILER_PLAN_STAGES_STAGECOSTS_H
