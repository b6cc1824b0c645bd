//===- StepUnits.cpp - the pieces that stages are made of -----------------===//

#include "compiler/plan/stages/StepUnits.h"
#include "compiler/plan/search/LayoutClasses.h"
#include "dialects/dist/IR/Dist.h"
#include "dialects/dist/IR/PipelineAttributes.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/SmallBitVector.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace pdc;
using namespace pdc::plan;

/// Graphs with more cuts are cut along one order.
static constexpr size_t kMostCuts = 1500;

std::unique_ptr<StepUnits> StepUnits::make(nn::StepOp step, int wanted) {
  std::unique_ptr<StepUnits> units(new StepUnits(step));
  // A model without micro-batches is no mistake here.
  ScopedDiagnosticHandler quiet(step.getContext(), [](Diagnostic &) { return success(); });
  return units->build(wanted) ? std::move(units) : nullptr;
}

bool StepUnits::build(int wanted) {
  classes = std::make_unique<passes::StepClasses>(step, 1);
  if (failed(classes->run()))
    return false;
  for (Operation &op : step.getBody().front().without_terminator())
    if (classes->isWork(&op) && classes->isForward(&op))
      forward.push_back(&op);
  if (forward.empty())
    return false;
  for (int mostValues = 1; mostValues <= 4; ++mostValues) {
    findUnits(mostValues);
    if (count >= wanted)
      break;
  }
  // The rules that assign ops to stages, asked with a stage for each unit.
  order.microBatches = 1;
  Builder b(step.getContext());
  for (int unit = 0; unit < count; ++unit) {
    order.stages.push_back({{'F', 0, unit}, {'B', 0, unit}});
    order.stageOf.push_back(unit);
  }
  assignment = std::make_unique<passes::StageAssignment>(*classes, order, residence, std::vector<double>(count, 1.0));
  for (Operation *op : forward)
    op->setAttr(dist::kChunkAttr, b.getI64IntegerAttr(units.lookup(op)));
  bool isAssigned = succeeded(assignment->assign());
  for (Operation *op : forward)
    op->removeAttr(dist::kChunkAttr);
  if (!isAssigned)
    return false;
  assignRest();
  collectParameters(residence);
  collectMessages();
  enumerateCuts();
  return true;
}

/// For each op the set of what it depends on, itself included; the values that leave the set; if they are few, a unit ends
/// here. An op belongs to the first unit that ends at an op which depends on it.
void StepUnits::findUnits(int mostValues) {
  DenseMap<Operation *, unsigned> position;
  for (auto [index, op] : llvm::enumerate(forward))
    position[op] = index;
  size_t size = forward.size();
  units.clear();
  count = 0;
  std::vector<unsigned> reachedBy(size, ~0u); // the last op whose set it was found in
  std::vector<char> isTaken(size, 0);
  for (unsigned end = 0; end < size; ++end) {
    SmallVector<unsigned> set{end}; // grows while it is read
    reachedBy[end] = end;
    for (size_t i = 0; i < set.size(); ++i)
      for (Value operand : forward[set[i]]->getOperands())
        if (auto found = position.find(operand.getDefiningOp());
            found != position.end() && reachedBy[found->second] != end) {
          reachedBy[found->second] = end;
          set.push_back(found->second);
        }
    int leaving = 0;
    for (unsigned index : set)
      for (Value result : forward[index]->getResults())
        leaving += llvm::any_of(result.getUsers(), [&](Operation *user) {
          auto found = position.find(user);
          return found != position.end() && reachedBy[found->second] != end;
        });
    if (leaving > mostValues)
      continue;
    bool isNew = false;
    for (unsigned index : set)
      if (!isTaken[index]) {
        isTaken[index] = isNew = true;
        units[forward[index]] = count;
      }
    count += isNew;
  }
  // What leads to more ends than one, a metric and the loss, and is in no set before the last.
  for (unsigned index = 0; index < size; ++index)
    if (!isTaken[index])
      units[forward[index]] = std::max(0, count - 1);
  count = std::max(count, 1);
}

/// The first that computes with it; -1 where none does.
int StepUnits::unitOfParameter(BlockArgument argument) const {
  auto kept = residence.find(nameOfArgument(step, argument.getArgNumber()).name.str());
  return kept == residence.end() || kept->second.empty() ? -1 : static_cast<int>(*kept->second.begin());
}

/// The rest of the step: the backward pass, and what is done once, where its largest operand is, or where it is needed.
void StepUnits::assignRest() {
  Block &body = step.getBody().front();
  for (Operation &op : body.without_terminator()) {
    if (classes->isWork(&op)) {
      units[&op] = static_cast<int>(assignment->chunkOf(&op));
      continue;
    }
    if (classes->of(&op) != passes::OpClass::After)
      continue;
    int64_t most = -1;
    units[&op] = 0;
    for (Value operand : op.getOperands()) {
      Operation *made = operand.getDefiningOp();
      int64_t elements = cast<RankedTensorType>(operand.getType()).getNumElements();
      int unit = made ? unitOf(made) : -1;
      // A penalty of a parameter alone.
      if (classes->isFromParameters(&op) && !made)
        unit = unitOfParameter(cast<BlockArgument>(operand));
      if (unit >= 0 && elements >= most) {
        most = elements;
        units[&op] = unit;
      }
    }
  }
  for (Operation &op : llvm::reverse(body.without_terminator()))
    if (classes->of(&op) == passes::OpClass::Once)
      for (Operation *user : op.getUsers())
        if (unitOf(user) >= 0) {
          units[&op] = unitOf(user);
          break;
        }
}

void StepUnits::collectParameters(const passes::Residence &residence) {
  llvm::StringMap<size_t> byName;
  for (BlockArgument argument : step.getBody().getArguments()) {
    StepValueName name = nameOfArgument(step, argument.getArgNumber());
    if (name.role != "parameter" && name.role != "state")
      continue;
    UnitParameter parameter{name.name.str(), {}, {argument}, argument, {}};
    if (auto kept = residence.find(parameter.name); kept != residence.end())
      parameter.units.assign(kept->second.begin(), kept->second.end());
    if (parameter.units.empty())
      parameter.units = {0};
    byName[name.name] = parameters.size();
    parameters.push_back(std::move(parameter));
  }
  for (BlockArgument argument : step.getBody().getArguments())
    if (StepValueName name = nameOfArgument(step, argument.getArgNumber()); name.role == "optimizer_state")
      if (auto found = byName.find(name.name); found != byName.end())
        parameters[found->second].resident.push_back(argument);
  for (auto pair : step.getBody().getOps<dist::AlikeOp>())
    if (auto argument = dyn_cast<BlockArgument>(pair.getValue()))
      if (auto found = byName.find(nameOfArgument(step, argument.getArgNumber()).name); found != byName.end()) {
        parameters[found->second].gradient = pair.getOther();
        parameters[found->second].resident.push_back(pair.getOther());
      }
}

void StepUnits::collectMessages() {
  for (Operation &op : step.getBody().front().without_terminator()) {
    if (!classes->isWork(&op))
      continue;
    for (Value result : op.getResults()) {
      if (classes->isAccumulated(result))
        continue;
      UnitMessage message{result, unitOf(&op), {}, classes->isForward(&op)};
      for (Operation *user : result.getUsers()) {
        if (!classes->isWork(user))
          continue;
        message.isKept |= message.isForward && !classes->isForward(user);
        int unit = unitOf(user);
        if (unit != message.from && !llvm::is_contained(message.to, unit))
          message.to.push_back(unit);
      }
      if (!message.to.empty())
        messages.push_back(std::move(message));
    }
  }
}

void StepUnits::enumerateCuts() {
  place::Dag dag(count);
  for (Operation *op : forward)
    for (Operation *user : op->getUsers())
      if (auto found = units.find(user); found != units.end() && classes->isWork(user) &&
                                         classes->isForward(user) && found->second != units.lookup(op))
        dag.addEdge(units.lookup(op), found->second);
  cuts = place::Downsets(count);
  if (place::enumerateDownsets(dag, kMostCuts, cuts))
    return;
  cuts = place::Downsets(count);
  place::appendPrefixes(dag.smallestFirstOrder(), cuts);
}
