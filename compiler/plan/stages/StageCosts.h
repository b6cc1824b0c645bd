//===- StageCosts.h - a pipeline's stages, as a StageProblem ----*- C++ -*-===//
#ifndef PDC_COMPILER_PLAN_STAGES_STAGECOSTS_H
#define PDC_COMPILER_PLAN_STAGES_STAGECOSTS_H

#include "compiler/plan/stages/CutGraph.h"
#include "compiler/plan/stages/LayoutTables.h"
#include "compiler/plan/stages/StageLinks.h"
#include "compiler/plan/stages/StageProblem.h"
#include "compiler/schedule/Schedule.h"
#include "compiler/simulate/Simulation.h"
#include "dialects/dist/IR/PipelineAttributes.h"

namespace pdc::plan {

using dist::kRecomputes;
using dist::Recompute;
using dist::toString;

/// Everything but the cuts.
struct StageSetting {
  int64_t stages = 1;
  int64_t data = 1, tensor = 1; // the mesh of each stage, where all are alike
  int64_t zero = 0, microBatches = 1;
  std::string schedule = "none"; // none, accumulation, 1f1b, gpipe, zb-h1, interleaved
  std::vector<Recompute> recompute = {Recompute::None}; // that each stage may choose from
  /// Where stages need not be alike: the meshes that each may choose from, and the ranks of all stages together.
  std::vector<StageSplit> meshes = {};
  int64_t ranks = 0;
  int64_t chunks = 1; // of each stage; of an interleaved schedule more

  bool isAlike() const { return meshes.empty(); }
  int64_t ranksOfStage() const { return data * tensor; }
  /// Of a micro-batch, on the rank that has most, of a stage with so many replicas.
  int64_t samples(int64_t batch, int64_t replicas) const {
    int64_t parts = microBatches * replicas;
    return (batch + parts - 1) / parts;
  }
  /// Parts of the model: stages, or their chunks.
  int64_t parts() const { return stages * chunks; }
  /// Of how many micro-batches each part holds the activations, at most.
  std::vector<int64_t> inFlight() const;
  /// As --schedule names it: "interleaved:chunks=4".
  std::string scheduleName() const;
};

/// The costs of stages under one setting.
class StageCosts {
public:
  /// Of a setting whose stages need not be alike, tables of more samples are taken where those of the right number are not
  /// there: no plan costs less than so, and refine() asks for what a plan lacks.
  StageCosts(const CutGraph &graph, LayoutTables &tables, StageLinks &links, const StageSetting &setting);

  /// No plan takes less in the layouts of the tables.
  double boundSeconds() const { return leastSeconds; }
  /// Some stage needs at least so many bytes.
  int64_t boundBytes() const { return leastBytes / setting.stages; }
  /// Its stages are the setting's parts. Refers to these costs.
  StageProblem problem(std::optional<int64_t> memoryLimitBytes);
  const StageSplit &meshOf(const PlannedStage &stage) const { return meshes[stage.option / setting.recompute.size()]; }
  Recompute recomputeOf(const PlannedStage &stage) const {
    return setting.recompute[stage.option % setting.recompute.size()];
  }
  /// The parts of a plan in simulated time.
  double simulate(const std::vector<PlannedStage> &parts) const;
  /// Of a rank of each stage.
  std::vector<int64_t> bytesOf(const std::vector<PlannedStage> &parts) const;

  /// Meshes that the step cannot be split by. While there are any, nothing else may be asked.
  const std::vector<StageSplit> &getImpossible() const { return impossible; }
  /// Whether a plan's costs are those of its samples. If not, asks for the tables that it lacks, for new costs to use.
  bool refine(const std::vector<PlannedStage> &stages);

private:
  /// Sums over units; differences of two cuts are what lies between them.
  struct Sums {
    double forward = 0, inputGradients = 0, weightGradients = 0, once = 0;
    int64_t bytes = 0, kept = 0;
    int64_t forwardBytes = 0, units = 0; // all that a forward pass makes and its backward needs; how many units

    double microBatch() const { return forward + inputGradients + weightGradients; }
    Sums &operator+=(const Sums &other);
    Sums operator-(const Sums &other) const;
  };
  /// A stage's mesh and place.
  struct Kind {
    size_t mesh;
    const StagePosition *position;
    LayoutTables::Known layouts;
  };
  /// The costs of one kind of stage and recomputation.
  struct Table {
    size_t kind;
    Recompute recompute;
    std::vector<Sums> units;
    std::vector<Sums> cuts; // of all units of each cut
    std::vector<int64_t> again; // per unit: bytes that are computed again
    int64_t gradients = 0;      // the most bytes of gradients at an op
  };
  struct Stage {
    Sums sums;
    double activations = 0, gradients = 0; // seconds of the messages that it receives
  };
  void addKinds(const StageSplit &mesh);
  Table makeTable(size_t kind, Recompute recompute) const;
  void sumCuts();
  Sums sumsOf(const Kind &kind, int unit, Recompute recompute) const;
  double parameterOnce(const Kind &kind, size_t parameter) const;
  int64_t parameterBytes(const Kind &kind, size_t parameter) const;
  double dataSeconds(const Kind &kind, cost::Collective collective, int64_t bytes) const {
    return links.dataSeconds(*kind.position, collective, bytes);
  }
  double shareOf(const Kind &kind) const {
    return static_cast<double>(meshes[kind.mesh].ranks()) / static_cast<double>(setting.ranks);
  }
  void findLeast();
  uint32_t tableOf(uint32_t option, int64_t firstRank) const;
  Stage stageOf(uint32_t from, uint32_t to, size_t table) const;
  void addMessages(uint32_t from, uint32_t to, const LayoutTables::Known &layouts, const StagePosition &receiver,
                   bool isFull, Stage &stage) const;
  void addSenders(const std::vector<PlannedStage> &planned, std::vector<Stage> &stages) const;
  const Table &tableOf(const PlannedStage &stage) const { return tables[tableOf(stage.option, stage.firstRank)]; }
  void chooseSegments(int64_t most, Sums &sums) const;
  int64_t mostAgain(uint32_t from, uint32_t to, const Table &table) const;
  void addTied(uint32_t from, uint32_t to, const Table &table, Stage &stage) const;
  StageCost costOf(uint32_t from, uint32_t to, size_t table) const;
  bool isZeroBubble() const { return setting.schedule == "zb-h1"; }
  double passOf(const Sums &sums) const;

  const CutGraph &graph;
  LayoutTables &layoutTables;
  StageLinks &links;
  StageSetting setting;
  int64_t batch;
  std::vector<int64_t> inFlight; // of each part, once there is a problem
  std::vector<StageSplit> meshes, impossible;
  std::vector<Kind> kinds;
  std::vector<const StageLinks::Positions *> positions; // per mesh
  std::vector<size_t> firstKind;                        // per mesh
  std::vector<Table> tables;     // per kind and recomputation
  double leastSeconds = 0;
  int64_t leastBytes = 0; // of all units
};

} // namespace pdc::plan

#endif // PDC_COMPILER_PLAN_STAGES_STAGECOSTS_H
