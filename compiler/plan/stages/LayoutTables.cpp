//===- LayoutTables.cpp - what the units of a step take -------------------===//

#include "compiler/plan/stages/LayoutTables.h"
#include "compiler/plan/problem/Solver.h"
#include "compiler/plan/search/LayoutRules.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace pdc;
using namespace pdc::plan;
using passes::OpClass;

/// Latencies and larger shares of the peak for more work: then f(n) / n does not grow with n. Measured times may be anything.
static bool favoursLargeWork(const machine::Cluster &cluster) {
  return cluster.collectives.empty() && llvm::all_of(cluster.devices, [](const machine::DeviceKind &device) {
           return device.librarySeconds.empty() &&
                  llvm::all_of(device.efficiencies, [](const machine::EfficiencyCurve &curve) {
                    return llvm::is_sorted(curve.points, [](const auto &a, const auto &b) { return a.share < b.share; });
                  });
         });
}

LayoutTables::LayoutTables(nn::StepOp step, const StepUnits &units, const machine::Cluster &cluster,
                           const cost::CostModel &costs, int64_t ranks)
    : step(step), units(units), cluster(cluster), costs(costs), ranks(ranks), favoursLarge(favoursLargeWork(cluster)) {
  for (BlockArgument argument : step.getBody().getArguments())
    if (nameOfArgument(step, argument.getArgNumber()).role == "input")
      batch = cast<RankedTensorType>(argument.getType()).getDimSize(0);
}

const LayoutTable *LayoutTables::find(int64_t tensor, int64_t samples, int64_t device) {
  auto [entry, isNew] = tables.try_emplace({tensor, samples, device});
  if (isNew)
    entry->second = solve(tensor, samples, device);
  return entry->second.get();
}

std::optional<LayoutTables::Known> LayoutTables::findKnown(int64_t tensor, int64_t samples, int64_t device) {
  if (!favoursLarge)
    return Known{find(tensor, samples, device), 1};
  if (auto exact = tables.find({tensor, samples, device}); exact != tables.end())
    return exact->second ? std::optional(Known{exact->second.get(), 1}) : std::nullopt;
  std::optional<Known> known;
  int64_t fewest = 0;
  for (const auto &[key, table] : tables)
    if (auto [t, n, d] = key; t == tensor && d == device && n >= samples && table && (!known || n < fewest)) {
      known = {table.get(), static_cast<double>(samples) / static_cast<double>(n)};
      fewest = n;
    }
  return known;
}

/// A copy of the step in which values that have the batch have so many samples: only to ask what its ops cost.
nn::StepOp LayoutTables::stepOf(int64_t samples) {
  OwningOpRef<ModuleOp> &module = steps[samples];
  if (module)
    return *module->getOps<nn::StepOp>().begin();
  module = ModuleOp::create(step.getLoc());
  OpBuilder b(module->getBodyRegion());
  auto copy = cast<nn::StepOp>(b.clone(*step));
  auto shrink = [&](Value whole, Value part) {
    dist::LayoutAttr layout = units.getClasses().batch.layoutOf(whole);
    auto type = cast<RankedTensorType>(whole.getType());
    SmallVector<int64_t> shape(type.getShape());
    for (auto [dim, size] : llvm::enumerate(shape))
      if (layout.isSplit(dim))
        size = size / batch * samples;
    part.setType(type.clone(shape));
  };
  Block &body = step.getBody().front(), &copied = copy.getBody().front();
  for (auto [whole, part] : llvm::zip(body.getArguments(), copied.getArguments()))
    shrink(whole, part);
  for (auto [whole, part] : llvm::zip(body, copied))
    for (auto [result, partResult] : llvm::zip(whole.getResults(), part.getResults()))
      shrink(result, partResult);
  return copy;
}

/// The ops of the step, by those of its copy.
llvm::DenseMap<Operation *, Operation *> LayoutTables::wholeOps(nn::StepOp copy) const {
  llvm::DenseMap<Operation *, Operation *> whole;
  for (auto [op, part] : llvm::zip(step.getBody().front(), copy.getBody().front()))
    whole[&part] = &op;
  return whole;
}

static int64_t bytesOf(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  return type.getNumElements() * llvm::divideCeil(type.getElementTypeBitWidth(), 8);
}

static bool usesParameter(Operation *op, const StepUnits &units) {
  return isa<nn::LibraryOpInterface>(op) && llvm::any_of(op->getOperands(), [&](Value operand) {
    Operation *made = operand.getDefiningOp();
    return made ? units.getClasses().of(made) == OpClass::Once
                : !units.getClasses().batch.isSplit(operand);
  });
}

/// Reads the table off a plan of `copy`, the step with the samples of one micro-batch.
void LayoutTables::fill(LayoutTable &table, nn::StepOp copy, const SearchSpace &space,
                        ArrayRef<uint32_t> choices) const {
  const passes::StepClasses &classes = units.getClasses();
  llvm::DenseMap<Operation *, double> seconds = space.secondsOfOps(choices);
  llvm::DenseMap<Value, Value> copies; // of values of the step
  Block &body = step.getBody().front(), &copied = copy.getBody().front();
  for (auto [whole, part] : llvm::zip(body.getArguments(), copied.getArguments()))
    copies[whole] = part;
  table.units.resize(units.size());
  for (auto [op, part] : llvm::zip(body.without_terminator(), copied.without_terminator())) {
    int index = units.unitOf(&op);
    for (auto [result, partResult] : llvm::zip(op.getResults(), part.getResults()))
      copies[result] = partResult;
    if (index < 0)
      continue;
    LayoutTable::Unit &unit = table.units[index];
    double own = seconds.lookup(&part);
    if (!classes.isWork(&op)) {
      (classes.of(&op) == OpClass::Once ? unit.once : unit.update) += own;
      continue;
    }
    char kind = units.kindOf(&op);
    (kind == 'F' ? unit.forward : kind == 'W' ? unit.weightGradients : unit.inputGradients) += own;
    auto bytesOf = [&](Value value) {
      return space.getCosts().localBytes(cast<RankedTensorType>(value.getType()), space.layoutOf(value, choices));
    };
    if (kind != 'F') {
      int64_t gradients = 0;
      for (Value result : part.getResults())
        gradients += bytesOf(result);
      for (auto [operand, copied] : llvm::zip(op.getOperands(), part.getOperands()))
        if (Operation *made = operand.getDefiningOp(); made && classes.isWork(made) && !classes.isForward(made))
          gradients += bytesOf(copied);
      unit.gradients = std::max(unit.gradients, gradients);
      continue;
    }
    bool isHeavy = usesParameter(&op, units);
    unit.light += isHeavy ? 0 : own;
    for (Value result : part.getResults()) {
      unit.kept += space.residentBytes(result, choices);
      unit.heavy += isHeavy ? bytesOf(result) : 0;
    }
  }
  for (const UnitParameter &parameter : units.getParameters()) {
    LayoutTable::Parameter &row = table.parameters.emplace_back();
    for (Value value : parameter.resident) {
      int64_t bytes = space.residentBytes(copies.lookup(value), choices);
      (value == parameter.value ? row.bytes : value == parameter.gradient ? row.gradientBytes : row.stateBytes) +=
          bytes;
    }
  }
  for (const UnitMessage &message : units.getMessages()) {
    Value value = copies.lookup(message.value);
    auto type = cast<RankedTensorType>(value.getType());
    table.messageBytes.push_back(space.getCosts().localBytes(type, space.layoutOf(value, choices)));
    if (message.isForward)
      table.units[message.from].border += table.messageBytes.back();
  }
  for (BlockArgument input : body.getArguments())
    if (nameOfArgument(step, input.getArgNumber()).role == "input")
      for (Operation *user : input.getUsers())
        if (int index = units.unitOf(user); index >= 0) {
          Value part = copies.lookup(input);
          table.units[index].inputs += space.getCosts().localBytes(cast<RankedTensorType>(part.getType()),
                                                                   space.layoutOf(part, choices));
          break;
        }
}

void LayoutTables::fillBounds(LayoutTable &table, nn::StepOp copy, const SearchSpace &space, int64_t tensor) const {
  const passes::StepClasses &classes = units.getClasses();
  llvm::DenseMap<Operation *, Operation *> whole = wholeOps(copy);
  table.leastForward.resize(units.size());
  table.leastMicroBatch.resize(units.size());
  for (Operation &part : copy.getBody().front().without_terminator()) {
    Operation *op = whole.lookup(&part);
    int unit = units.unitOf(op);
    if (!space.hasSplit(&part) || unit < 0)
      continue;
    double seconds = space.leastSecondsOf(&part);
    if (!classes.isWork(op))
      table.leastOnce += seconds;
    else
      table.leastMicroBatch[unit] += seconds;
    if (classes.isWork(op) && classes.isForward(op))
      table.leastForward[unit] += seconds;
  }
  for (const UnitParameter &parameter : units.getParameters())
    if (parameter.gradient)
      table.leastParameters.push_back({bytesOf(parameter.value) / tensor, bytesOf(parameter.gradient) / tensor, 0});
  llvm::DenseMap<Operation *, Operation *> parts;
  for (auto [part, op] : whole)
    parts[op] = part;
  for (const UnitMessage &message : units.getMessages()) {
    Value part = parts.lookup(message.value.getDefiningOp())->getResult(cast<OpResult>(message.value).getResultNumber());
    std::vector<LayoutTable::Arrival> &arrivals = table.arrivals.emplace_back();
    for (const SearchSpace::Arrival &arrival : space.arrivalsOf(part))
      arrivals.push_back({space.getCosts().localBytes(cast<RankedTensorType>(part.getType()), arrival.layout),
                          arrival.mostSeconds});
  }
}

std::unique_ptr<LayoutTable> LayoutTables::solve(int64_t tensor, int64_t samples, int64_t device) {
  nn::StepOp copy = stepOf(samples);
  OpBuilder b(copy);
  ParallelSpec spec;
  spec.tensor = tensor;
  MeshShape shape = candidateMeshes(spec, tensor).front();
  auto mesh = dist::MeshOp::create(b, copy.getLoc(), "mesh",
                                   b.getStrArrayAttr(SmallVector<StringRef>(shape.names.begin(), shape.names.end())),
                                   b.getDenseI64ArrayAttr(shape.sizes));
  MeshCosts meshCosts(cluster, costs, mesh, {ranks / tensor, {device}});
  LayoutRules rules(spec, {});
  rules.enter(copy, mesh);
  SearchSpace space(copy, meshCosts,
                    [&](Value value, dist::LayoutAttr layout) { return rules.allows(value, layout); });
  std::unique_ptr<LayoutTable> table;
  if (!space.getImpossible()) {
    auto weightOf = [&, whole = wholeOps(copy)](Operation *part) -> double {
      Operation *op = whole.lookup(part);
      // Work on inputs alone, which any stage may repeat, is not counted.
      return !op || units.unitOf(op) < 0 ? 0 : units.getClasses().isWork(op) ? LayoutTable::kWeight : 1;
    };
    Solution solution = plan::solve(space.weighted(weightOf));
    plansConsidered += solution.statistics.plansConsidered;
    if (solution.status == SolutionStatus::found) {
      table = std::make_unique<LayoutTable>();
      fill(*table, copy, space, solution.choices);
      fillBounds(*table, copy, space, tensor);
      table->boundSeconds = solution.lowerBoundSeconds;
    }
  }
  mesh.erase();
  return table;
}
