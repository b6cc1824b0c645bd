//===- BucketPass.cpp - all-reduces share messages ------------------------===//

#include "passes/bucket/BucketPass.h"
#include "dialects/dist/IR/Dist.h"
#include "dialects/nn/IR/NN.h"
#include "mlir/IR/Builders.h"
#include "passes/bucket/CombineMoves.h"

namespace pdc::passes {
#define GEN_PASS_DEF_BUCKETPASS
#include "passes/bucket/BucketPass.h.inc"
} // namespace pdc::passes

using namespace mlir;
using namespace pdc;

namespace {

/// All-reduces that may become one: same reduction, ranks and element type.
struct Kind {
  dist::Reduction reduction;
  Attribute mesh, axes;
  Type elementType;
  bool urgent;

  explicit Kind(dist::AllReduceOp op, bool urgent)
      : reduction(op.getReduction()), mesh(op.getMeshAttr()), axes(op.getAxes()),
        elementType(cast<RankedTensorType>(op.getInputs()[0].getType()).getElementType()), urgent(urgent) {}
  bool operator==(const Kind &) const = default;
};

bool reduces(Operation *op) { return isa<dist::AllReduceOp, dist::ReduceScatterOp>(op); }

/// Other ranks wait for it: what it needs is not put off.
bool isAwaited(Operation *op) { return reduces(op) || isa<dist::SendOp>(op); }

struct Bucket {
  Kind kind;
  SmallVector<dist::AllReduceOp> members;
  int64_t bytes = 0;
};

class Bucketing {
public:
  Bucketing(Block &block, int64_t limitBytes) : block(block), limitBytes(limitBytes) {}

  void run() {
    findUrgent();
    moveDependentsBack();
    SmallVector<Operation *> order;
    for (Operation &op : block)
      order.push_back(&op);
    for (Operation *op : order) {
      closeUsed(op);
      auto reduce = dyn_cast<dist::AllReduceOp>(op);
      if (!reduce || reduce.getBucket())
        continue;
      Bucket &bucket = bucketOf(Kind(reduce, feedsReduce.contains(op)));
      bucket.members.push_back(reduce);
      for (Value input : reduce.getInputs()) {
        auto type = cast<RankedTensorType>(input.getType());
        bucket.bytes += type.getNumElements() * ((type.getElementTypeBitWidth() + 7) / 8);
      }
      if (bucket.bytes >= limitBytes)
        close(bucket);
    }
    for (Bucket &bucket : open)
      close(bucket);
  }

private:
  /// Ops that some reduction depends on.
  void findUrgent() { feedsReduce = findFeeding(block.begin(), block.end()); }

  /// Those that one among them depends on.
  static DenseSet<Operation *> findFeeding(Block::iterator begin, Block::iterator end) {
    DenseSet<Operation *> feeding, awaited;
    for (Operation &op : llvm::reverse(llvm::make_range(begin, end))) {
      if (llvm::any_of(op.getUsers(),
                       [&](Operation *user) { return awaited.contains(user) || feeding.contains(user); }))
        feeding.insert(&op);
      if (isAwaited(&op))
        awaited.insert(&op);
    }
    return feeding;
  }

  /// What uses reduced values, and what no reduction waits for, runs behind the last one, in the same order.
  /// In a schedule only within the tasks that update: tasks are in order, and what they hold must not live until the end.
  /// So must not what is computed again, behind barriers.
  void moveDependentsBack() {
    Block::iterator begin = block.begin();
    bool updates = true; // a step without tasks is one that does
    for (auto task : block.getOps<dist::TaskOp>()) {
      if (updates)
        moveDependentsBack(begin, task->getIterator());
      updates = task.getKind() == "U";
      begin = std::next(task->getIterator());
    }
    if (updates)
      moveDependentsBack(begin, block.getTerminator()->getIterator());
  }

  void moveDependentsBack(Block::iterator begin, Block::iterator end) {
    for (auto barrier : block.getOps<dist::OptimizationBarrierOp>())
      if (begin != end && begin->isBeforeInBlock(barrier) && (end == block.end() || barrier->isBeforeInBlock(&*end)))
        begin = std::next(barrier->getIterator());
    DenseSet<Operation *> dependents;
    SmallVector<Operation *> moved;
    // In a stream what is updated feeds the gradients of later tasks.
    DenseSet<Operation *> feeding = findFeeding(begin, end);
    for (Operation &op : llvm::make_range(begin, end)) {
      bool depends = llvm::any_of(op.getOperands(), [&](Value operand) {
        Operation *made = operand.getDefiningOp();
        return made && (reduces(made) || dependents.contains(made));
      });
      if (!depends || isAwaited(&op))
        continue;
      dependents.insert(&op);
      if (!feeding.contains(&op))
        moved.push_back(&op);
    }
    for (Operation *op : moved)
      op->moveBefore(&block, end);
  }

  Bucket &bucketOf(const Kind &kind) {
    for (Bucket &bucket : open)
      if (bucket.kind == kind)
        return bucket;
    return open.emplace_back(Bucket{kind, {}, 0});
  }

  /// Buckets with a member whose result `op` uses start before it.
  void closeUsed(Operation *op) {
    for (Bucket &bucket : open) {
      bool used = llvm::any_of(bucket.members, [&](dist::AllReduceOp member) {
        return llvm::is_contained(member->getUsers(), op);
      });
      if (used)
        close(bucket);
    }
  }

  /// One all-reduce where the last member stood.
  void close(Bucket &bucket) {
    if (bucket.members.empty())
      return;
    OpBuilder b(bucket.members.back());
    SmallVector<Value> inputs, old;
    for (dist::AllReduceOp member : bucket.members) {
      llvm::append_range(inputs, member.getInputs());
      llvm::append_range(old, member.getResults());
    }
    dist::AllReduceOp first = bucket.members.front();
    bool travels = !bucket.kind.urgent;
    auto combined = dist::AllReduceOp::create(
        b, first.getLoc(), TypeRange(ValueRange(inputs)), first.getReductionAttr(), first.getMeshAttr(),
        first.getAxesAttr(), inputs, travels ? b.getI64IntegerAttr(next++) : IntegerAttr());
    if (Attribute order = bucket.members.back()->getAttr(dist::kOrderAttr))
      combined->setAttr(dist::kOrderAttr, order);
    for (auto [before, after] : llvm::zip(old, combined.getResults()))
      before.replaceAllUsesWith(after);
    for (dist::AllReduceOp member : bucket.members)
      member.erase();
    bucket.members.clear();
    bucket.bytes = 0;
  }

  Block &block;
  int64_t limitBytes;
  int64_t next = 0;
  DenseSet<Operation *> feedsReduce;
  std::vector<Bucket> open;
};

struct BucketAllReduces : passes::impl::BucketPassBase<BucketAllReduces> {
  using BucketPassBase::BucketPassBase;

  void runOnOperation() override {
    if (bytes < 1 || smallBytes < 0) {
      getOperation().emitError()
          << "expected a bucket of at least one byte, and small ones of none or more, found bytes=" << bytes
          << " small-bytes=" << smallBytes;
      return signalPassFailure();
    }
    for (nn::StepOp step : getOperation().getOps<nn::StepOp>()) {
      Block &block = step.getBody().front();
      Bucketing(block, bytes).run();
      passes::combineMoves(block, smallBytes, bytes);
    }
  }
};

} // namespace
