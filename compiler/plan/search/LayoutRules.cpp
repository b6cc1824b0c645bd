//===- LayoutRules.cpp - what is decided before a search ------------------===//

#include "compiler/plan/search/LayoutRules.h"
#include "compiler/plan/search/LayoutClasses.h"
#include "passes/layouts/OpSplits.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace pdc;
using namespace pdc::plan;
using dist::LayoutAttr;

static constexpr llvm::StringLiteral kData = "data", kTensor = "tensor";

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

std::vector<MeshShape> plan::candidateMeshes(const ParallelSpec &spec, int64_t ranks) {
  std::vector<MeshShape> meshes;
  if (!spec.isSearched) {
    MeshShape mesh;
    for (auto [name, size] : {std::pair(kData, spec.data), {kTensor, spec.tensor}})
      if (size > 1) {
        mesh.names.push_back(name.str());
        mesh.sizes.push_back(size);
      }
    if (mesh.names.empty())
      mesh = {{kData.str()}, {1}};
    return {mesh};
  }
  // One axis can split anything; of two, the second joins neighbours.
  meshes.push_back({{kData.str()}, {ranks}});
  for (int64_t tensor = 2; tensor < ranks; ++tensor)
    if (ranks % tensor == 0)
      meshes.push_back({{kData.str(), kTensor.str()}, {ranks / tensor, tensor}});
  return meshes;
}

static int64_t smallestPrimeOf(int64_t number) {
  for (int64_t divisor = 2; divisor * divisor <= number; ++divisor)
    if (number % divisor == 0)
      return divisor;
  return number;
}

std::optional<MeshShape> plan::threeAxisMesh(const ParallelSpec &spec, int64_t ranks, int64_t ranksPerNode) {
  bool hasNodes = ranksPerNode < ranks && ranks % ranksPerNode == 0;
  int64_t inner = smallestPrimeOf(hasNodes && ranksPerNode > 1 ? ranksPerNode : ranks);
  int64_t outer = hasNodes && ranksPerNode > inner ? ranks / ranksPerNode : smallestPrimeOf(ranks / inner);
  int64_t middle = ranks / inner / outer;
  if (!spec.isSearched || middle < 2)
    return std::nullopt;
  return MeshShape{{kData.str(), kTensor.str(), "inner"}, {outer, middle, inner}};
}

MeshShape plan::randomMesh(int64_t ranks, uint64_t seed) {
  std::vector<MeshShape> meshes = {{{"x"}, {ranks}}};
  for (int64_t x = 2; x < ranks; ++x) {
    if (ranks % x != 0)
      continue;
    meshes.push_back({{"x", "y"}, {x, ranks / x}});
    for (int64_t y = 2; y < ranks / x; ++y)
      if (ranks / x % y == 0)
        meshes.push_back({{"x", "y", "z"}, {x, y, ranks / x / y}});
  }
  return meshes[seed % meshes.size()];
}

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

static ArrayAttr dimensionNames(nn::StepOp step, unsigned argument) {
  return step.getArgAttrOfType<ArrayAttr>(argument, "nn.dims");
}

LogicalResult LayoutRules::check(nn::StepOp step, ArrayRef<MeshShape> meshes) const {
  llvm::StringSet<> known;
  for (unsigned argument = 0; argument < step.getNumArguments(); ++argument) {
    llvm::StringMap<std::string> dimensionOfAxis;
    ArrayAttr names = dimensionNames(step, argument);
    if (!names)
      continue;
    for (StringRef name : names.getAsValueRange<StringAttr>()) {
      if (!name.empty())
        known.insert(name);
      for (const LayoutRule &rule : rules) {
        if (rule.dimension != name)
          continue;
        auto [entry, inserted] = dimensionOfAxis.try_emplace(rule.axis, rule.dimension);
        if (!inserted)
          return step.emitError("--layout splits both dimensions '")
                 << entry->second << "' and '" << rule.dimension << "' of "
                 << nameOfArgument(step, argument).role << " '" << nameOfArgument(step, argument).name
                 << "' over axis '" << rule.axis << "'; an axis can split one dimension of a value";
      }
    }
  }
  for (const LayoutRule &rule : rules) {
    if (!known.contains(rule.dimension)) {
      std::vector<StringRef> names(known.keys().begin(), known.keys().end());
      llvm::sort(names);
      return step.emitError("--layout names the dimension '")
             << rule.dimension << "', which the model does not have; it has: " << llvm::join(names, ", ");
    }
    if (llvm::none_of(meshes,
                      [&](const MeshShape &mesh) { return llvm::is_contained(mesh.names, rule.axis); }))
      return step.emitError("--layout names the axis '")
             << rule.axis
             << "', which the mesh does not have; axes are: " << llvm::join(meshes.back().names, ", ")
             << " (--parallel gives them their sizes)";
  }
  return success();
}

void LayoutRules::enter(nn::StepOp newStep, dist::MeshOp newMesh) {
  step = newStep;
  mesh = newMesh;
  gradientOf.clear();
  for (auto pair : step.getBody().getOps<dist::AlikeOp>())
    if (auto argument = dyn_cast<BlockArgument>(pair.getValue()))
      gradientOf[pair.getOther()] = argument.getArgNumber();
  findBatched();
}

/// Follows the loop of an op that runs over the first dimension of a batched operand to that of its results.
void LayoutRules::findBatched() {
  batched.clear();
  auto firstLoop = [](const nn::ValueFactors &dims) {
    return dims.empty() || dims.front().empty() ? -1 : dims.front().front();
  };
  for (BlockArgument argument : step.getBody().getArguments())
    if (nameOfArgument(step, argument.getArgNumber()).role == "input")
      batched.insert(argument);
  for (Operation &op : step.getBody().front()) {
    auto shardable = dyn_cast<nn::ShardableOpInterface>(op);
    if (!shardable ||
        llvm::none_of(op.getOperands(), [&](Value operand) { return batched.contains(operand); }))
      continue;
    nn::ShardingRule rule = shardable.getShardingRule();
    llvm::SmallDenseSet<int> loops;
    for (auto [operand, dims] : llvm::zip(op.getOperands(), rule.operands))
      if (batched.contains(operand) && firstLoop(dims) >= 0)
        loops.insert(firstLoop(dims));
    for (auto [result, dims] : llvm::zip(op.getResults(), rule.results))
      if (loops.contains(firstLoop(dims)))
        batched.insert(result);
  }
}

static bool splits(LayoutAttr layout, int64_t dim, StringRef axis) {
  return llvm::is_contained(layout.getAxes(dim).getAsValueRange<StringAttr>(), axis);
}
static bool usesAxis(LayoutAttr layout, StringRef axis) {
  for (int64_t dim = 0; dim < layout.getRank(); ++dim)
    if (splits(layout, dim, axis))
      return true;
  return false;
}

static std::string keyOf(const StepValueName &name) {
  return (name.role + "/" + name.slot + "/" + name.name).str();
}

bool LayoutRules::allows(Value value, LayoutAttr layout) const {
  return keepsDecision(value, layout) && keepsNames(value, layout) && keepsAxes(value, layout) &&
         keepsSamples(value, layout);
}

/// What an earlier step has decided.
bool LayoutRules::isFixed(Value value, LayoutAttr &layout) const {
  auto argument = dyn_cast<BlockArgument>(value);
  auto known = argument ? fixed.find(keyOf(nameOfArgument(step, argument.getArgNumber()))) : fixed.end();
  layout = known == fixed.end() ? LayoutAttr() : known->second;
  return layout != nullptr;
}

bool LayoutRules::keepsDecision(Value value, LayoutAttr layout) const {
  LayoutAttr decided;
  return !isFixed(value, decided) ||
         passes::holdSameElements(decided, layout, cast<RankedTensorType>(value.getType()).getShape(), mesh);
}

bool LayoutRules::keepsNames(Value value, LayoutAttr layout) const {
  auto argument = dyn_cast<BlockArgument>(value);
  LayoutAttr decided;
  if (!argument || isFixed(value, decided))
    return true;
  ArrayAttr names = dimensionNames(step, argument.getArgNumber());
  return !names || allowsNames(value, names, layout);
}

bool LayoutRules::keepsAxes(Value value, LayoutAttr layout) const {
  LayoutAttr decided;
  if (auto argument = dyn_cast<BlockArgument>(value))
    return isFixed(value, decided) || allowsAxes(nameOfArgument(step, argument.getArgNumber()).role, value, layout);
  return !gradientOf.contains(value) || allowsAxes("gradient", value, layout);
}

bool LayoutRules::keepsSamples(Value value, LayoutAttr layout) const {
  return isa<BlockArgument>(value) || spec.isSearched || !batched.contains(value) || layout.getRank() == 0 ||
         !splits(layout, 0, kTensor);
}

std::vector<LayoutRules::Reason> LayoutRules::reasonsFor(Value value) const {
  std::string named, axes = "--parallel (data=" + std::to_string(spec.data) + ", tensor=" + std::to_string(spec.tensor) +
                            ", zero=" + std::to_string(spec.zero) + ")";
  for (const LayoutRule &rule : rules)
    named += (named.empty() ? "" : ",") + rule.dimension + ":" + rule.axis;
  auto argument = dyn_cast<BlockArgument>(value);
  bool isInput = argument && nameOfArgument(step, argument.getArgNumber()).role == "input";
  return {{"what training has decided", [this](Value v, LayoutAttr layout) { return keepsDecision(v, layout); }},
          {"--layout=" + named, [this](Value v, LayoutAttr layout) { return keepsNames(v, layout); }},
          {axes + (isInput ? ", which splits inputs over the samples alone" : ", which says what is split over data"),
           [this](Value v, LayoutAttr layout) { return keepsAxes(v, layout); }},
          {axes + ", which splits no samples over tensor",
           [this](Value v, LayoutAttr layout) { return keepsSamples(v, layout); }}};
}

bool LayoutRules::allowsAxes(StringRef role, Value value, LayoutAttr layout) const {
  if (spec.isSearched)
    return true;
  auto type = cast<RankedTensorType>(value.getType());
  bool hasData = spec.data > 1;
  if (role == "input")
    return !usesAxis(layout, kTensor) && (!hasData || type.getRank() == 0 || splits(layout, 0, kData));
  int64_t stage = role == "optimizer_state" ? 1 : role == "gradient" ? 2 : role == "parameter" ? 3 : 4;
  if (stage == 4 && role != "state")
    return true;
  bool sharded = hasData && spec.zero >= stage;
  // What is too small for all ranks stays whole.
  bool canBe = llvm::any_of(type.getShape(), [&](int64_t size) { return size >= spec.data * spec.tensor; });
  return usesAxis(layout, kData) == (sharded && canBe);
}

bool LayoutRules::allowsNames(Value value, ArrayAttr names, LayoutAttr layout) const {
  for (const LayoutRule &rule : rules) {
    // On a mesh without the axis the rule splits nothing.
    if (dist::MeshOp(mesh).findAxis(rule.axis) < 0)
      return false;
    for (auto [dim, name] : llvm::enumerate(names.getAsValueRange<StringAttr>())) {
      bool wanted = name == rule.dimension;
      bool byAnother = llvm::any_of(rules, [&, name = name](const LayoutRule &other) {
        return other.axis == rule.axis && other.dimension == name;
      });
      if (splits(layout, dim, rule.axis) != wanted && !(!wanted && byAnother))
        return false;
    }
  }
  return true;
}

void LayoutRules::fix(nn::StepOp decided) {
  for (unsigned index = 0; index < decided.getNumArguments(); ++index)
    if (auto layout = decided.getArgAttrOfType<LayoutAttr>(index, dist::kLayoutAttr))
      fixed[keyOf(nameOfArgument(decided, index))] = layout;
}
