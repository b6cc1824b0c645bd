//===- CombineMoves.cpp - small gathers and scatters share messages -------===//
//
// With parts of two values A and B on two members, their message lies as communicators want it, a member's block after
// the other's:
//
//   all_gather      [A0 B0] on member 0, [A1 B1] on member 1   ->   [A0 B0 A1 B1], of which A is [A0 A1]
//   reduce_scatter  [A0 B0 A1 B1] of sums                      ->   [A0 B0] on member 0, [A1 B1] on member 1
//
//===----------------------------------------------------------------------===//

#include "passes/bucket/CombineMoves.h"
#include "dialects/dist/IR/Dist.h"
#include "dialects/nn/IR/NN.h"
#include "mlir/IR/Builders.h"
#include <numeric>

using namespace mlir;
using namespace pdc;

namespace {

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

int64_t bytesOf(RankedTensorType type) {
  return type.getNumElements() * ((type.getElementTypeBitWidth() + 7) / 8);
}

/// The value with all parts: what is gathered, or what is scattered.
Value wholeOf(Operation *op) { return isa<dist::AllGatherOp>(op) ? op->getResult(0) : op->getOperand(0); }
Value partOf(Operation *op) { return isa<dist::AllGatherOp>(op) ? op->getOperand(0) : op->getResult(0); }

/// What ops that may become one have in common.
struct Kind {
  OperationName name;
  Attribute mesh, axes, reduction, apart;
  Type elementType;

  explicit Kind(Operation *op)
      : name(op->getName()), mesh(op->getAttr("mesh")), axes(op->getAttr("axes")),
        reduction(op->getAttr("reduction")), apart(op->getAttr(dist::kApartAttr)),
        elementType(typeOf(wholeOf(op)).getElementType()) {}
  bool operator==(const Kind &) const = default;
};

/// The dimension along which a value lies in parts.
struct Parts {
  int64_t dim;
  SmallVector<int64_t> sizes; // per member
  int64_t unit;               // elements per index

  explicit Parts(Operation *op) {
    auto mesh =
        SymbolTable::lookupNearestSymbolFrom<dist::MeshOp>(op, op->getAttrOfType<FlatSymbolRefAttr>("mesh"));
    int64_t members = mesh.getParts(op->getAttrOfType<ArrayAttr>("axes"));
    if (auto gather = dyn_cast<dist::AllGatherOp>(op)) {
      dim = gather.getDim();
      sizes = gather.getMemberSizes(members);
    } else {
      auto scatter = cast<dist::ReduceScatterOp>(op);
      dim = scatter.getDim();
      sizes = scatter.getMemberSizes(members);
    }
    RankedTensorType whole = typeOf(wholeOf(op));
    unit = whole.getNumElements() / whole.getDimSize(dim);
  }
};

class Message {
public:
  Message(OpBuilder &b, ArrayRef<Operation *> ops) : b(b), ops(ops), loc(ops.front()->getLoc()) {
    for (Operation *op : ops)
      parts.emplace_back(op);
    blocks.resize(parts.front().sizes.size());
    for (auto [member, block] : llvm::enumerate(blocks))
      for (const Parts &of : parts)
        block += of.sizes[member] * of.unit;
    elementType = typeOf(wholeOf(ops.front())).getElementType();
  }

  Operation *gather() {
    SmallVector<Value> own;
    for (Operation *op : ops)
      own.push_back(flat(partOf(op)));
    Value block = concat(own, 0);
    auto first = cast<dist::AllGatherOp>(ops.front());
    auto combined =
        dist::AllGatherOp::create(b, loc, flatType(total()), first.getMeshAttr(), first.getAxesAttr(), block,
                                  b.getI64IntegerAttr(0), b.getDenseI64ArrayAttr(blocks));
    for (auto [index, op] : llvm::enumerate(ops))
      wholeOf(op).replaceAllUsesWith(joined(combined.getResult(), index));
    return combined;
  }

  Operation *scatter() {
    SmallVector<Value> pieces;
    for (size_t member = 0; member < blocks.size(); ++member)
      for (auto [op, of] : llvm::zip(ops, parts))
        pieces.push_back(flat(partOfMember(wholeOf(op), of, member)));
    auto first = cast<dist::ReduceScatterOp>(ops.front());
    int64_t own = 0;
    for (Operation *op : ops)
      own += typeOf(partOf(op)).getNumElements();
    auto combined = dist::ReduceScatterOp::create(
        b, loc, flatType(own), first.getMeshAttr(), first.getAxesAttr(), concat(pieces, 0),
        first.getReductionAttr(), b.getI64IntegerAttr(0), b.getDenseI64ArrayAttr(blocks));
    int64_t start = 0;
    for (Operation *op : ops) {
      RankedTensorType type = typeOf(partOf(op));
      Value part = slice(combined.getResult(), {start}, {type.getNumElements()});
      partOf(op).replaceAllUsesWith(reshape(part, type));
      start += type.getNumElements();
    }
    return combined;
  }

private:
  int64_t total() const { return std::accumulate(blocks.begin(), blocks.end(), int64_t{0}); }
  RankedTensorType flatType(int64_t elements) { return RankedTensorType::get({elements}, elementType); }

  Value reshape(Value value, RankedTensorType type) {
    return value.getType() == type ? value : nn::ReshapeOp::create(b, loc, type, value).getResult();
  }
  Value flat(Value value) { return reshape(value, flatType(typeOf(value).getNumElements())); }

  Value slice(Value value, ArrayRef<int64_t> offsets, ArrayRef<int64_t> sizes) {
    SmallVector<int64_t> strides(sizes.size(), 1);
    return nn::SliceOp::create(b, loc, typeOf(value).clone(sizes), value, b.getDenseI64ArrayAttr(offsets),
                               b.getDenseI64ArrayAttr(sizes), b.getDenseI64ArrayAttr(strides));
  }

  Value concat(ArrayRef<Value> values, int64_t axis) {
    SmallVector<int64_t> shape(typeOf(values.front()).getShape());
    shape[axis] = 0;
    for (Value value : values)
      shape[axis] += typeOf(value).getDimSize(axis);
    return nn::ConcatOp::create(b, loc, RankedTensorType::get(shape, elementType), values,
                                b.getI64IntegerAttr(axis));
  }

  Value partOfMember(Value whole, const Parts &of, size_t member) {
    SmallVector<int64_t> offsets(typeOf(whole).getRank(), 0), sizes(typeOf(whole).getShape());
    for (size_t before = 0; before < member; ++before)
      offsets[of.dim] += of.sizes[before];
    sizes[of.dim] = of.sizes[member];
    return slice(whole, offsets, sizes);
  }

  /// The value number `index` of what was gathered.
  Value joined(Value gathered, size_t index) {
    RankedTensorType type = typeOf(wholeOf(ops[index]));
    SmallVector<Value> found;
    int64_t block = 0;
    for (size_t member = 0; member < blocks.size(); ++member) {
      int64_t start = block;
      for (size_t before = 0; before < index; ++before)
        start += parts[before].sizes[member] * parts[before].unit;
      SmallVector<int64_t> shape(type.getShape());
      shape[parts[index].dim] = parts[index].sizes[member];
      RankedTensorType partType = type.clone(shape);
      found.push_back(reshape(slice(gathered, {start}, {partType.getNumElements()}), partType));
      block += blocks[member];
    }
    return concat(found, parts[index].dim);
  }

  OpBuilder &b;
  ArrayRef<Operation *> ops;
  Location loc;
  SmallVector<Parts> parts;    // per op
  SmallVector<int64_t> blocks; // elements of each member, of all ops
  Type elementType;
};

struct Bucket {
  Kind kind;
  SmallVector<Operation *> ops;
  int64_t bytes = 0;
};

/// One op where the last one stood.
void combine(Bucket &bucket) {
  if (bucket.ops.size() > 1) {
    OpBuilder b(bucket.ops.back());
    Message message(b, bucket.ops);
    Operation *combined = isa<dist::AllGatherOp>(bucket.ops.front()) ? message.gather() : message.scatter();
    for (StringRef name : {dist::kOrderAttr, dist::kApartAttr})
      if (Attribute attribute = bucket.ops.back()->getAttr(name))
        combined->setAttr(name, attribute);
    for (Operation *op : bucket.ops)
      op->erase();
  }
  bucket.ops.clear();
  bucket.bytes = 0;
}

} // namespace

void passes::combineMoves(Block &block, int64_t smallBytes, int64_t limitBytes) {
  std::vector<Bucket> open;
  SmallVector<Operation *> order;
  for (Operation &op : block)
    order.push_back(&op);
  for (Operation *op : order) {
    for (Bucket &bucket : open)
      if (llvm::any_of(bucket.ops,
                       [&](Operation *member) { return llvm::is_contained(member->getUsers(), op); }))
        combine(bucket);
    if (!isa<dist::AllGatherOp, dist::ReduceScatterOp>(op) || bytesOf(typeOf(wholeOf(op))) > smallBytes)
      continue;
    Kind kind(op);
    auto found = llvm::find_if(open, [&](const Bucket &bucket) { return bucket.kind == kind; });
    if (found == open.end())
      found = open.insert(open.end(), Bucket{kind, {}, 0});
    found->ops.push_back(op);
    found->bytes += bytesOf(typeOf(wholeOf(op)));
    if (found->bytes >= limitBytes)
      combine(*found);
  }
  for (Bucket &bucket : open)
    combine(bucket);
}
