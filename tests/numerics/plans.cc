#include "tests/numerics/plans.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "dialects/dist/IR/Dist.h"
#include "dialects/nn/IR/NN.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "passes/layouts/OpLayouts.h"
#include "passes/layouts/Reshard.h"
#include "passes/layouts/SplitByParts.h"

namespace pdc::numerics {
namespace {

using dist::LayoutAttr;
using passes::OpLayouts;

llvm::ArrayRef<int64_t> ShapeOf(mlir::Value value) {
  return mlir::cast<mlir::RankedTensorType>(value.getType()).getShape();
}

LayoutAttr Whole(mlir::Value value) {
  return LayoutAttr::getReplicated(value.getContext(), static_cast<int64_t>(ShapeOf(value).size()));
}

LayoutAttr WithoutPartial(LayoutAttr layout) {
  mlir::ArrayAttr none = mlir::ArrayAttr::get(layout.getContext(), {});
  return LayoutAttr::get(layout.getContext(), layout.getDims(), layout.getBlocks(), none, none);
}

LayoutAttr FromAxes(mlir::MLIRContext* context, const DimAxes& dims, llvm::ArrayRef<int64_t> blocks = {}) {
  mlir::Builder b(context);
  llvm::SmallVector<mlir::Attribute> axes;
  for (const auto& names : dims) {
    llvm::SmallVector<mlir::Attribute> strings;
    for (const std::string& name : names) strings.push_back(b.getStringAttr(name));
    axes.push_back(b.getArrayAttr(strings));
  }
  llvm::SmallVector<int64_t> ones(dims.size(), 1);
  mlir::ArrayAttr none = b.getArrayAttr({});
  return LayoutAttr::get(context, b.getArrayAttr(axes), b.getDenseI64ArrayAttr(blocks.empty() ? ones : blocks), none,
                         none);
}

// Where ops are asked whether a choice is legal, no is no error.
class Silence {
 public:
  explicit Silence(mlir::MLIRContext* context)
      : handler_(context, [](mlir::Diagnostic&) { return mlir::success(); }) {}

 private:
  mlir::ScopedDiagnosticHandler handler_;
};

class Planner {
 public:
  Planner(mlir::ModuleOp module, const MeshShape& shape) : module_(module), context_(module.getContext()), b_(context_) {
    context_->getOrLoadDialect<dist::DistDialect>();  // no phase before the plan needs it
    b_.setInsertionPointToStart(module.getBody());
    llvm::SmallVector<llvm::StringRef> names(shape.names.begin(), shape.names.end());
    mesh_ = dist::MeshOp::create(b_, module.getLoc(), "mesh", b_.getStrArrayAttr(names),
                                 b_.getDenseI64ArrayAttr(shape.sizes));
  }
  virtual ~Planner() = default;

  std::string Run() {
    for (auto step : module_.getOps<nn::StepOp>()) {
      step->setAttr(dist::kMeshAttr, mlir::FlatSymbolRefAttr::get(mesh_));
      for (mlir::BlockArgument argument : step.getBody().getArguments()) PlaceArgument(step, argument);
      for (mlir::Operation& op : llvm::make_early_inc_range(step.getBody().front()))
        if (!op.hasTrait<mlir::OpTrait::IsTerminator>()) PlaceOp(&op);
      PlaceResults(step);
    }
    return error_;
  }

 protected:
  virtual LayoutAttr ChooseArgument(const ArgumentInfo& info, mlir::Value argument) = 0;
  // Nothing: whole operands and results.
  virtual std::optional<OpLayouts> ChooseOp(nn::ShardableOpInterface op) = 0;
  virtual LayoutAttr ChooseResult(const ArgumentInfo& info, mlir::Value result) = 0;
  // Layouts by which the op is split by its parts; nothing: it is not.
  virtual std::optional<OpLayouts> ChooseParts(nn::ShardableOpInterface) { return std::nullopt; }

  bool Fits(LayoutAttr layout, mlir::Value value) { return passes::checkFits(layout, ShapeOf(value), mesh_).empty(); }

  // All layouts that follow from the known ones, if there are such.
  std::optional<OpLayouts> Complete(nn::ShardableOpInterface op, const OpLayouts& known) {
    Silence silence(context_);
    mlir::FailureOr<OpLayouts> all = passes::completeLayouts(op, known);
    if (mlir::failed(all)) return std::nullopt;
    for (auto [layout, operand] : llvm::zip(all->operands, op->getOperands()))
      if (!Fits(layout, operand)) return std::nullopt;
    for (auto [layout, result] : llvm::zip(all->results, op->getResults()))
      if (!Fits(layout, result)) return std::nullopt;
    return *all;
  }

  static OpLayouts Unknown(mlir::Operation* op) {
    OpLayouts none;
    none.operands.resize(op->getNumOperands());
    none.results.resize(op->getNumResults());
    return none;
  }

  mlir::MLIRContext* context() { return context_; }
  dist::MeshOp mesh() { return mesh_; }

 private:
  static ArgumentInfo InfoOf(mlir::DictionaryAttr attributes, mlir::Value value) {
    auto text = [&](llvm::StringRef name) {
      auto attribute = attributes ? attributes.getAs<mlir::StringAttr>(name) : mlir::StringAttr();
      return attribute ? attribute.getValue().str() : std::string();
    };
    return {text("nn.role"), text("nn.name"), text("nn.slot"), {ShapeOf(value).begin(), ShapeOf(value).end()}};
  }

  // The same in all steps.
  void PlaceArgument(nn::StepOp step, mlir::BlockArgument argument) {
    ArgumentInfo info = InfoOf(step.getArgAttrDict(argument.getArgNumber()), argument);
    LayoutAttr& layout = arguments_[{info.role, info.name, info.slot}];
    bool may_be_split = info.role == "parameter" || info.role == "optimizer_state" || info.role == "state" ||
                        info.role == "input";
    if (!layout) layout = may_be_split ? ChooseArgument(info, argument) : Whole(argument);
    step.setArgAttr(argument.getArgNumber(), dist::kLayoutAttr, layout);
  }

  void PlaceOp(mlir::Operation* op) {
    auto shardable = mlir::dyn_cast<nn::ShardableOpInterface>(op);
    std::optional<OpLayouts> layouts;
    b_.setInsertionPoint(op);
    if (shardable && op->getNumOperands() > 0) {
      if (std::optional<OpLayouts> parts = ChooseParts(shardable)) return PlaceParts(shardable, *parts);
      layouts = ChooseOp(shardable);
    }
    for (mlir::OpOperand& operand : op->getOpOperands())
      Reshard(operand, layouts ? layouts->operands[operand.getOperandNumber()] : Whole(operand.get()));
    if (!layouts) return;
    llvm::SmallVector<mlir::Attribute> results(layouts->results.begin(), layouts->results.end());
    op->setAttr(dist::kLayoutsAttr, b_.getArrayAttr(results));
  }

  void PlaceParts(nn::ShardableOpInterface op, const OpLayouts& wanted) {
    mlir::FailureOr<llvm::SmallVector<LayoutAttr>> operands = passes::partsOperandLayouts(op, wanted);
    if (mlir::succeeded(operands))
      for (mlir::OpOperand& operand : op->getOpOperands()) Reshard(operand, (*operands)[operand.getOperandNumber()]);
    std::string name = op->getName().getStringRef().str();
    if (mlir::failed(operands) || mlir::failed(passes::splitByParts(op, wanted, mesh_)))
      error_ += "the parts of " + name + " cannot be split as was asked\n";
  }

  void Reshard(mlir::OpOperand& operand, LayoutAttr wanted) {
    if (dist::getLayout(operand.get()) == wanted) return;
    auto reshard = dist::ReshardOp::create(b_, operand.getOwner()->getLoc(), operand.get().getType(), operand.get());
    reshard->setAttr(dist::kLayoutsAttr, b_.getArrayAttr({wanted}));
    operand.set(reshard);
  }

  void PlaceResults(nn::StepOp step) {
    mlir::Operation* terminator = step.getBody().front().getTerminator();
    b_.setInsertionPoint(terminator);
    for (mlir::OpOperand& operand : terminator->getOpOperands()) {
      unsigned index = operand.getOperandNumber();
      ArgumentInfo info = InfoOf(step.getResultAttrDict(index), operand.get());
      auto updated = arguments_.find({info.role, info.name, info.slot});
      LayoutAttr layout = updated != arguments_.end() ? updated->second : ChooseResult(info, operand.get());
      Reshard(operand, layout);
      step.setResultAttr(index, dist::kLayoutAttr, layout);
    }
  }

  mlir::ModuleOp module_;
  mlir::MLIRContext* context_;
  mlir::OpBuilder b_;
  dist::MeshOp mesh_;
  std::map<std::tuple<std::string, std::string, std::string>, LayoutAttr> arguments_;
  std::string error_;
};

class FollowingPlanner final : public Planner {
 public:
  FollowingPlanner(mlir::ModuleOp module, const MeshShape& shape,
                   const std::function<DimAxes(const ArgumentInfo&)>& layout)
      : Planner(module, shape), layout_(layout) {}

 protected:
  LayoutAttr ChooseArgument(const ArgumentInfo& info, mlir::Value argument) override {
    DimAxes dims = layout_(info);
    dims.resize(info.shape.size());
    LayoutAttr layout = FromAxes(context(), dims);
    return Fits(layout, argument) ? layout : Whole(argument);
  }

  LayoutAttr ChooseResult(const ArgumentInfo& info, mlir::Value result) override {
    return info.role == "gradient" ? ChooseArgument(info, result) : Whole(result);
  }

  std::optional<OpLayouts> ChooseOp(nn::ShardableOpInterface op) override {
    OpLayouts known = Unknown(op);
    auto isParameter = [](mlir::Value value) {
      auto argument = mlir::dyn_cast<mlir::BlockArgument>(value);
      if (!argument) return false;
      auto step = mlir::cast<nn::StepOp>(argument.getOwner()->getParentOp());
      auto role = step.getArgAttrOfType<mlir::StringAttr>(argument.getArgNumber(), "nn.role");
      return role && role.getValue() == "parameter";
    };
    for (bool parameters : {false, true}) {
      for (unsigned i = 0; i < op->getNumOperands(); ++i) {
        LayoutAttr layout = WithoutPartial(dist::getLayout(op->getOperand(i)));
        if (isParameter(op->getOperand(i)) != parameters || layout.isReplicated()) continue;
        known.operands[i] = layout;
        if (!Complete(op, known)) known.operands[i] = {};
      }
    }
    bool follows = llvm::any_of(known.operands, [](LayoutAttr layout) { return bool(layout); });
    for (unsigned i = 0; i < op->getNumOperands() && !follows; ++i) {
      if (!dist::getLayout(op->getOperand(i)).isPartial()) continue;
      llvm::ArrayRef<int64_t> shape = ShapeOf(op->getOperand(i));
      known.operands[i] = ChooseArgument({"sum", "", "", {shape.begin(), shape.end()}}, op->getOperand(i));
      if (!Complete(op, known)) known.operands[i] = {};
    }
    return Complete(op, known);
  }

 private:
  std::function<DimAxes(const ArgumentInfo&)> layout_;
};

class RandomPlanner final : public Planner {
 public:
  RandomPlanner(mlir::ModuleOp module, const MeshShape& shape, uint64_t seed) : Planner(module, shape), random_(seed) {}

 protected:
  uint64_t Below(uint64_t limit) { return random_() % limit; }
  std::string AxisName(size_t axis) {
    return mlir::cast<mlir::StringAttr>(mesh().getAxisNames()[axis]).getValue().str();
  }

  LayoutAttr RandomLayout(mlir::Value value) {
    DimAxes dims(ShapeOf(value).size());
    for (size_t axis = 0; axis < mesh().getAxisNames().size(); ++axis) {
      if (dims.empty() || Below(3) == 0) continue;
      size_t d = Below(dims.size());
      DimAxes before = dims;
      dims[d].insert(dims[d].begin() + static_cast<ptrdiff_t>(Below(dims[d].size() + 1)), AxisName(axis));
      if (!Fits(FromAxes(context(), dims), value)) dims = before;
    }
    return FromAxes(context(), dims);
  }

  LayoutAttr ChooseArgument(const ArgumentInfo&, mlir::Value argument) override { return RandomLayout(argument); }

  LayoutAttr ChooseResult(const ArgumentInfo& info, mlir::Value result) override {
    return info.role == "gradient" || info.role == "output" ? RandomLayout(result) : Whole(result);
  }

  std::optional<OpLayouts> ChooseOp(nn::ShardableOpInterface op) override {
    // Some legal choice is found soon; if not, the op is not split.
    for (int attempt = 0; attempt < 6; ++attempt) {
      OpLayouts known = SplitAtRandom(op, /*keep_partial=*/attempt < 3);
      if (std::optional<OpLayouts> all = Complete(op, known)) return all;
    }
    return Complete(op, Unknown(op));
  }

  std::optional<OpLayouts> ChooseParts(nn::ShardableOpInterface op) override {
    nn::ShardingRule rule = op.getShardingRule();
    auto is_decomposed = [](const nn::Factor& factor) { return factor.kind == nn::FactorKind::Decomposed; };
    if (llvm::none_of(rule.factors, is_decomposed) || Below(2) == 0) return std::nullopt;
    Silence silence(context());
    for (int attempt = 0; attempt < 6; ++attempt) {
      OpLayouts wanted = SplitAtRandom(op, /*keep_partial=*/false);
      if (!passes::needsParts(op, wanted)) continue;
      mlir::FailureOr<llvm::SmallVector<LayoutAttr>> operands = passes::partsOperandLayouts(op, wanted);
      if (mlir::failed(operands)) continue;
      auto fits = [&](auto pair) { return Fits(std::get<0>(pair), std::get<1>(pair)); };
      if (llvm::all_of(llvm::zip(*operands, op->getOperands()), fits) &&
          mlir::succeeded(passes::describeSplitByParts(op, wanted, mesh())))
        return wanted;
    }
    return std::nullopt;
  }

  // An axis that splits a value cannot leave it partial as well.
  static bool SplitsOver(LayoutAttr layout, mlir::ArrayAttr axes) {
    return llvm::any_of(layout.getDims(), [&](mlir::Attribute dim) {
      return llvm::any_of(mlir::cast<mlir::ArrayAttr>(dim), [&](mlir::Attribute axis) { return llvm::is_contained(axes, axis); });
    });
  }

  OpLayouts SplitAtRandom(nn::ShardableOpInterface op, bool keep_partial) {
    nn::ShardingRule rule = op.getShardingRule();
    std::vector<std::vector<std::string>> axes(rule.factors.size());
    for (size_t axis = 0; axis < mesh().getAxisNames().size(); ++axis) {
      if (rule.factors.empty() || Below(4) == 0) continue;
      size_t factor = Below(rule.factors.size());
      nn::FactorKind kind = rule.factors[factor].kind;
      if (kind == nn::FactorKind::Replicated || rule.factors[factor].size == 1) continue;
      auto place = axes[factor].begin() + static_cast<ptrdiff_t>(Below(axes[factor].size() + 1));
      axes[factor].insert(place, AxisName(axis));
    }
    OpLayouts known = Unknown(op);
    for (auto [i, dims] : llvm::enumerate(rule.operands)) {
      known.operands[i] = LayoutOf(rule, dims, axes);
      LayoutAttr has = dist::getLayout(op->getOperand(i));
      if (keep_partial && !SplitsOver(known.operands[i], has.getSum()))
        known.operands[i] = known.operands[i].withPartial(false, has.getSum());
    }
    for (auto [i, dims] : llvm::enumerate(rule.results)) known.results[i] = LayoutOf(rule, dims, axes);
    return known;
  }

  LayoutAttr LayoutOf(const nn::ShardingRule& rule, const nn::ValueFactors& dims,
                      const std::vector<std::vector<std::string>>& axes) {
    DimAxes split(dims.size());
    llvm::SmallVector<int64_t> blocks(dims.size(), 1);
    for (auto [d, factors] : llvm::enumerate(dims)) {
      llvm::SmallVector<int> proper;
      for (int factor : factors)
        if (rule.factors[factor].size != 1) proper.push_back(factor);
      if (proper.empty() || axes[proper.front()].empty()) continue;
      split[d] = axes[proper.front()];
      for (int inner : llvm::ArrayRef<int>(proper).drop_front()) blocks[d] *= rule.factors[inner].size;
    }
    return FromAxes(context(), split, blocks);
  }

 private:
  std::mt19937_64 random_;
};

}  // namespace

int64_t MeshShape::ranks() const {
  int64_t ranks = 1;
  for (int64_t size : sizes) ranks *= size;
  return ranks;
}

Plan FollowingPlan(MeshShape mesh, std::function<DimAxes(const ArgumentInfo&)> layout) {
  return [=](mlir::ModuleOp module) { return FollowingPlanner(module, mesh, layout).Run(); };
}

Plan OfTrainingOnly(Plan plan) {
  return [=](mlir::ModuleOp module) {
    for (nn::StepOp step : llvm::make_early_inc_range(module.getOps<nn::StepOp>()))
      if (step.getKind() != "train") step.erase();
    return plan(module);
  };
}

Plan RandomPlan(MeshShape mesh, uint64_t seed) {
  return [=](mlir::ModuleOp module) { return RandomPlanner(module, mesh, seed).Run(); };
}

}  // namespace pdc::numerics
