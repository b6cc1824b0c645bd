//===- ShardRunner.cpp - every shard of a split op, run -------------------===//

#include "tests/dialects/nn/splits/ShardRunner.h"
#include "dialects/dist/IR/Dist.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "passes/layouts/SplitByParts.h"
#include "passes/partition/PartitionPass.h"

using namespace mlir;
using namespace pdc;
using dist::LayoutAttr;

namespace pdc::nn::testing {

namespace {

/// Part of a tensor: `shape` elements from `starts`; `write` puts `part` there, otherwise it is read.
void moveBox(Tensor &whole, Tensor &part, ArrayRef<int64_t> starts, bool write) {
  forEachIndex(part.shape, [&](ArrayRef<int64_t> index) {
    SmallVector<int64_t> at;
    for (auto [i, start] : llvm::zip_equal(index, starts))
      at.push_back(i + start);
    (write ? whole[at] : part[index]) = write ? part[index] : whole[at];
  });
}

/// One op in a step of its own, laid out.
class SplitStep {
public:
  SplitStep(Operation *op, const MeshAxes &axes)
      : context(op->getContext()), module(ModuleOp::create(UnknownLoc::get(context))), b(context) {
    b.setInsertionPointToEnd(module->getBody());
    SmallVector<StringRef> names;
    SmallVector<int64_t> sizes;
    for (const auto &[name, size] : axes) {
      names.push_back(name);
      sizes.push_back(size);
    }
    mesh = dist::MeshOp::create(b, op->getLoc(), "mesh", b.getStrArrayAttr(names),
                                b.getDenseI64ArrayAttr(sizes));
    step = nn::StepOp::create(b, op->getLoc(), "shard",
                              b.getFunctionType(op->getOperandTypes(), op->getResultTypes()), "infer",
                              ArrayAttr(), ArrayAttr());
    step->setAttr(dist::kMeshAttr, FlatSymbolRefAttr::get(mesh));
    Block *body = b.createBlock(&step.getBody());
    IRMapping mapping;
    for (Value operand : op->getOperands()) {
      Value argument = body->addArgument(operand.getType(), operand.getLoc());
      arguments.push_back(argument);
    }
    clone = b.clone(*op);
    clone->setOperands(arguments);
    terminator = nn::ReturnOp::create(b, op->getLoc(), clone->getResults());
  }

  /// False where layouts cannot express the split.
  bool layOut(const Split &split) {
    auto op = cast<ShardableOpInterface>(clone);
    ShardingRule rule = op.getShardingRule();
    passes::OpLayouts known;
    for (auto [value, factors] : llvm::zip_equal(clone->getOperands(), rule.operands))
      known.operands.push_back(layoutOf(value, factors, rule, split));
    for (auto [value, factors] : llvm::zip_equal(clone->getResults(), rule.results))
      known.results.push_back(layoutOf(value, factors, rule, split));
    ScopedDiagnosticHandler quiet(context, [](Diagnostic &) { return success(); });
    FailureOr<passes::OpLayouts> all = passes::completeLayouts(op, known, passes::SplitMode::ThroughParts);
    if (failed(all) || !everyRankHasElements(*all))
      return false;
    for (auto [index, layout] : llvm::enumerate(all->operands))
      describe(index, layout);
    if (passes::needsParts(op, *all))
      return splitParts(op, *all);
    SmallVector<Attribute> results(all->results.begin(), all->results.end());
    clone->setAttr(dist::kLayoutsAttr, b.getArrayAttr(results));
    return true;
  }

  /// Reduces partial results, and says what layouts the step's results have.
  void finish() {
    b.setInsertionPoint(terminator);
    for (OpOperand &operand : terminator->getOpOperands()) {
      LayoutAttr layout = dist::getLayout(operand.get());
      ArrayAttr none = b.getArrayAttr({});
      LayoutAttr whole = LayoutAttr::get(context, layout.getDims(), layout.getBlocks(), none, none);
      if (layout.isPartial()) {
        auto reshard = dist::ReshardOp::create(b, step.getLoc(), operand.get().getType(), operand.get());
        reshard->setAttr(dist::kLayoutsAttr, b.getArrayAttr({whole}));
        operand.set(reshard);
      }
      unsigned index = operand.getOperandNumber();
      step.setResultAttr(index, dist::kLayoutAttr, whole);
      step.setResultAttr(index, "nn.role", b.getStringAttr("output"));
      step.setResultAttr(index, "nn.name", b.getStringAttr("result" + std::to_string(index)));
      resultLayouts.push_back(whole);
    }
  }

  MLIRContext *context;
  OwningOpRef<ModuleOp> module;
  OpBuilder b;
  dist::MeshOp mesh;
  nn::StepOp step;
  SmallVector<Value> arguments;
  Operation *clone, *terminator;
  SmallVector<LayoutAttr> resultLayouts;
  std::string error;

private:
  void describe(unsigned argument, LayoutAttr layout) {
    step.setArgAttr(argument, dist::kLayoutAttr, layout);
    step.setArgAttr(argument, "nn.role", b.getStringAttr("input"));
    step.setArgAttr(argument, "nn.name", b.getStringAttr("operand" + std::to_string(argument)));
  }

  LayoutAttr layoutOf(Value value, const ValueFactors &dims, const ShardingRule &rule, const Split &split) {
    int64_t rank = cast<RankedTensorType>(value.getType()).getRank();
    SmallVector<Attribute> axes(rank, b.getArrayAttr({}));
    SmallVector<int64_t> blocks(rank, 1);
    for (auto [d, factors] : llvm::enumerate(dims)) {
      SmallVector<int> proper;
      llvm::copy_if(factors, std::back_inserter(proper), [&](int f) { return rule.factors[f].size != 1; });
      if (proper.empty() || !split.count(proper.front()))
        continue;
      SmallVector<StringRef> names;
      for (const std::string &name : split.at(proper.front()))
        names.push_back(name);
      axes[d] = b.getStrArrayAttr(names);
      for (int inner : ArrayRef(proper).drop_front())
        blocks[d] *= rule.factors[inner].size;
    }
    ArrayAttr none = b.getArrayAttr({});
    return LayoutAttr::get(context, b.getArrayAttr(axes), b.getDenseI64ArrayAttr(blocks), none, none);
  }

  bool everyRankHasElements(const passes::OpLayouts &layouts) {
    auto enough = [&](Value value, LayoutAttr layout) {
      for (int64_t d = 0; d < layout.getRank(); ++d)
        if (layout.isSplit(d) &&
            cast<RankedTensorType>(value.getType()).getDimSize(d) / layout.getBlocks()[d] <
                mesh.getParts(layout.getAxes(d)))
          return false;
      return true;
    };
    for (auto [value, layout] : llvm::zip_equal(clone->getOperands(), layouts.operands))
      if (!enough(value, layout))
        return false;
    for (auto [value, layout] : llvm::zip_equal(clone->getResults(), layouts.results))
      if (!enough(value, layout))
        return false;
    return true;
  }

  bool splitParts(ShardableOpInterface op, const passes::OpLayouts &layouts) {
    FailureOr<passes::SplitParts> described = passes::describeSplitByParts(op, layouts, mesh);
    FailureOr<passes::SplitParts> parts = passes::splitByParts(op, layouts, mesh);
    if (failed(parts) || failed(described)) {
      error = "its parts cannot be split";
      return true;
    }
    if (described->reductions.size() != parts->reductions.size())
      error = "its parts are described with other reductions than they have";
    for (auto [value, layout] : llvm::zip_equal(terminator->getOperands(), parts->results))
      if (dist::getLayout(value) != layout)
        error = "its results have other layouts than it says";
    return true;
  }
};

/// All ranks of a partitioned step, in lockstep from collective to collective.
class Ranks {
public:
  Ranks(ModuleOp module, dist::MeshOp mesh)
      : mesh(mesh), evaluators(mesh.getNumRanks()), next(mesh.getNumRanks()) {
    steps.resize(mesh.getNumRanks());
    for (nn::StepOp step : module.getOps<nn::StepOp>())
      for (int64_t rank : step->getAttrOfType<DenseI64ArrayAttr>(dist::kRanksAttr).asArrayRef())
        steps[rank] = step;
    for (auto [step, op] : llvm::zip(steps, next))
      op = &step.getBody().front().front();
  }

  /// The part of `whole` that each rank's argument holds.
  void setArgument(unsigned index, Tensor whole, LayoutAttr layout) {
    for (auto [rank, step] : llvm::enumerate(steps)) {
      Value argument = step.getBody().getArgument(index);
      // partition gives inputs a layout in which they can be loaded, and reshards them.
      if (auto loaded = step.getArgAttrOfType<LayoutAttr>(index, dist::kLayoutAttr))
        layout = loaded;
      Tensor part(cast<RankedTensorType>(argument.getType()).getShape());
      moveBox(whole, part, startsOf(whole.shape, layout, rank), /*write=*/false);
      evaluators[rank].set(argument, part);
    }
  }

  Tensor getResult(unsigned index, ArrayRef<int64_t> shape, LayoutAttr layout) {
    Tensor whole(shape, std::nan(""));
    for (auto [rank, step] : llvm::enumerate(steps)) {
      Tensor part = evaluators[rank].value(step.getBody().front().getTerminator()->getOperand(index));
      moveBox(whole, part, startsOf(whole.shape, layout, rank), /*write=*/true);
    }
    return whole;
  }

  LogicalResult run() {
    while (true) {
      for (auto [evaluator, op] : llvm::zip(evaluators, next))
        for (; !isa<dist::DistDialect>(op->getDialect()) && !op->hasTrait<OpTrait::IsTerminator>();
             op = op->getNextNode())
          if (failed(evaluator.evaluate(op)))
            return failure();
      Operation *first = next.front();
      for (Operation *op : next)
        if (op->getName() != first->getName())
          return op->emitError("meets another op of another rank, ") << first->getName();
      if (first->hasTrait<OpTrait::IsTerminator>())
        return success();
      if (failed(communicate()))
        return failure();
      for (Operation *&op : next)
        op = op->getNextNode();
    }
  }

  int64_t collectives = 0;

private:
  SmallVector<int64_t> startsOf(ArrayRef<int64_t> shape, LayoutAttr layout, int64_t rank) {
    SmallVector<int64_t> starts(shape.size(), 0);
    for (auto [d, start] : llvm::enumerate(starts))
      if (ArrayAttr axes = layout.getAxes(d); !axes.empty())
        start =
            dist::shardStart(shape[d], layout.getBlocks()[d], mesh.getParts(axes), mesh.getPart(axes, rank));
    return starts;
  }

  LogicalResult communicate() {
    if (auto start = dyn_cast<dist::ShardStartOp>(next.front())) {
      for (auto [rank, op] : llvm::enumerate(next)) {
        Tensor value((ArrayRef<int64_t>()));
        value.data[0] = static_cast<double>(dist::shardStart(start.getSize(), start.getBlock(),
                                                             mesh.getParts(start.getAxes()),
                                                             mesh.getPart(start.getAxes(), rank)));
        evaluators[rank].set(op->getResult(0), value);
      }
      return success();
    }
    ++collectives;
    if (auto reduce = dyn_cast<dist::AllReduceOp>(next.front()))
      return allReduce(reduce);
    if (auto halo = dyn_cast<dist::HaloExchangeOp>(next.front()))
      return exchange(halo);
    if (auto slice = dyn_cast<dist::SliceOp>(next.front()))
      return eachGroup(slice.getAxes(), [&](ArrayRef<int64_t> group) {
        for (auto [index, rank] : llvm::enumerate(group)) {
          auto op = cast<dist::SliceOp>(next[rank]);
          set(rank, cut(evaluators[rank].value(op.getInput()), op.getDim(), op.getMemberSizes(group.size()),
                        index));
        }
      });
    if (auto gather = dyn_cast<dist::AllGatherOp>(next.front()))
      return eachGroup(gather.getAxes(), [&](ArrayRef<int64_t> group) {
        SmallVector<Tensor> parts;
        for (int64_t rank : group)
          parts.push_back(evaluators[rank].value(next[rank]->getOperand(0)));
        for (int64_t rank : group)
          set(rank, joinParts(parts, gather.getDim()));
      });
    if (auto scatter = dyn_cast<dist::ReduceScatterOp>(next.front()))
      return eachGroup(scatter.getAxes(), [&](ArrayRef<int64_t> group) {
        Tensor total = evaluators[group.front()].value(next[group.front()]->getOperand(0));
        for (int64_t rank : group.drop_front())
          for (auto [sum, value] :
               llvm::zip_equal(total.data, evaluators[rank].value(next[rank]->getOperand(0)).data))
            sum = scatter.getReduction() == dist::Reduction::Sum ? sum + value : std::max(sum, value);
        for (auto [index, rank] : llvm::enumerate(group))
          set(rank, cut(total, scatter.getDim(), scatter.getMemberSizes(group.size()), index));
      });
    if (auto exchange = dyn_cast<dist::AllToAllOp>(next.front()))
      return eachGroup(exchange.getAxes(), [&](ArrayRef<int64_t> group) {
        for (auto [index, rank] : llvm::enumerate(group)) {
          SmallVector<Tensor> parts;
          for (int64_t sender : group) {
            auto op = cast<dist::AllToAllOp>(next[sender]);
            parts.push_back(cut(evaluators[sender].value(op.getInput()), op.getSplitDim(),
                                op.getMemberSplitSizes(group.size()), index));
          }
          set(rank, joinParts(parts, exchange.getConcatDim()));
        }
      });
    return next.front()->emitError("is no collective that is evaluated here");
  }

  LogicalResult eachGroup(ArrayAttr axes, llvm::function_ref<void(ArrayRef<int64_t>)> move) {
    for (const auto &group : mesh.getGroups(axes))
      move(group);
    return success();
  }

  void set(int64_t rank, const Tensor &value) { evaluators[rank].set(next[rank]->getResult(0), value); }

  /// Part `index` of a dimension whose parts have these sizes.
  static Tensor cut(Tensor whole, int64_t dim, ArrayRef<int64_t> sizes, size_t index) {
    SmallVector<int64_t> shape(ArrayRef<int64_t>(whole.shape)), starts(whole.shape.size(), 0);
    shape[dim] = sizes[index];
    for (int64_t size : sizes.take_front(index))
      starts[dim] += size;
    Tensor part(shape);
    moveBox(whole, part, starts, /*write=*/false);
    return part;
  }

  static Tensor joinParts(ArrayRef<Tensor> parts, int64_t dim) {
    SmallVector<int64_t> shape(ArrayRef<int64_t>(parts.front().shape)), starts(shape.size(), 0);
    shape[dim] = 0;
    for (const Tensor &part : parts)
      shape[dim] += part.shape[dim];
    Tensor whole(shape, std::nan(""));
    for (Tensor part : parts) {
      moveBox(whole, part, starts, /*write=*/true);
      starts[dim] += part.shape[dim];
    }
    return whole;
  }

  LogicalResult allReduce(dist::AllReduceOp reduce) {
    for (const auto &group : mesh.getGroups(reduce.getAxes()))
      for (unsigned i = 0; i < reduce.getNumOperands(); ++i) {
        Tensor total = evaluators[group.front()].value(next[group.front()]->getOperand(i));
        for (int64_t rank : ArrayRef(group).drop_front()) {
          const Tensor &other = evaluators[rank].value(next[rank]->getOperand(i));
          if (other.shape != total.shape)
            return reduce.emitError("combines tensors of different shapes");
          for (auto [sum, value] : llvm::zip_equal(total.data, other.data))
            sum = reduce.getReduction() == dist::Reduction::Sum ? sum + value : std::max(sum, value);
        }
        for (int64_t rank : group)
          evaluators[rank].set(next[rank]->getResult(i), total);
      }
    return success();
  }

  LogicalResult exchange(dist::HaloExchangeOp first) {
    int64_t dim = first.getDim();
    for (const auto &group : mesh.getGroups(first.getAxes())) {
      auto own = cast<dist::HaloExchangeOp>(next[group.front()]);
      Tensor part = evaluators[group.front()].value(own.getInput());
      part.shape[dim] = own.getHas().back();
      Tensor whole(part.shape, std::nan(""));
      SmallVector<int64_t> starts(part.shape.size(), 0);
      for (auto [index, rank] : llvm::enumerate(group)) {
        auto op = cast<dist::HaloExchangeOp>(next[rank]);
        Tensor input = evaluators[rank].value(op.getInput());
        if (op.getHas() != own.getHas() || op.getNeeds() != own.getNeeds() ||
            input.shape[dim] != op.getHas()[2 * index + 1] - op.getHas()[2 * index])
          return op.emitError("does not have what it says");
        starts[dim] = op.getHas()[2 * index];
        moveBox(whole, input, starts, /*write=*/true);
      }
      for (auto [index, rank] : llvm::enumerate(group)) {
        auto op = cast<dist::HaloExchangeOp>(next[rank]);
        Tensor result(op.getType().getShape());
        starts[dim] = op.getNeeds()[2 * index];
        moveBox(whole, result, starts, /*write=*/false);
        evaluators[rank].set(op.getResult(), result);
      }
    }
    return success();
  }

  dist::MeshOp mesh;
  std::vector<nn::StepOp> steps;
  std::vector<Evaluator> evaluators;
  std::vector<Operation *> next;
};

ArrayRef<int64_t> shapeOf(Value value) { return cast<RankedTensorType>(value.getType()).getShape(); }

} // namespace

ShardResult runWhole(Operation *op, ArrayRef<Tensor> operands) {
  ShardResult done;
  done.offered = true;
  ScopedDiagnosticHandler collect(op->getContext(),
                                  [&](Diagnostic &diagnostic) { done.error += diagnostic.str() + "\n"; });
  SplitStep whole(op, {{"none", 1}});
  Evaluator evaluator;
  for (auto [argument, tensor] : llvm::zip_equal(whole.arguments, operands))
    evaluator.set(argument, tensor);
  if (failed(decomposeAll(whole.step)))
    return done;
  for (Operation &part : whole.step.getBody().front().without_terminator())
    if (failed(evaluator.evaluate(&part)))
      return done;
  for (Value result : whole.terminator->getOperands())
    done.results.push_back(evaluator.value(result));
  return done;
}

ShardResult runSplit(Operation *op, const MeshAxes &mesh, const Split &split, ArrayRef<Tensor> operands) {
  ShardResult done;
  ScopedDiagnosticHandler collect(op->getContext(),
                                  [&](Diagnostic &diagnostic) { done.error += diagnostic.str() + "\n"; });
  SplitStep step(op, mesh);
  done.offered = step.layOut(split);
  done.error += step.error;
  if (!done.offered || !done.error.empty())
    return done;
  step.finish();
  SmallVector<LayoutAttr> layouts;
  for (unsigned i = 0; i < operands.size(); ++i)
    layouts.push_back(step.step.getArgAttrOfType<LayoutAttr>(i, dist::kLayoutAttr));
  PassManager manager(op->getContext());
  manager.addPass(passes::createPartitionPass());
  if (failed(manager.run(*step.module)) || failed(decomposeAll(*step.module)) ||
      failed(verify(*step.module))) {
    done.error += "cannot be partitioned\n";
    return done;
  }
  Ranks ranks(*step.module, step.mesh);
  for (auto [index, tensor] : llvm::enumerate(operands))
    ranks.setArgument(index, tensor, layouts[index]);
  if (failed(ranks.run())) {
    done.error += "cannot be run\n";
    return done;
  }
  done.collectives = ranks.collectives;
  for (auto [index, result] : llvm::enumerate(op->getResults()))
    done.results.push_back(ranks.getResult(index, shapeOf(result), step.resultLayouts[index]));
  return done;
}

} // namespace pdc::nn::testing
