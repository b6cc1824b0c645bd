//===- MessageLayouts.cpp - in which layouts values go from stage to stage ===//

#include "passes/pipeline/MessageLayouts.h"
#include "mlir/IR/Builders.h"
#include "passes/pipeline/ReplicaPlan.h"
#include "llvm/ADT/SetVector.h"
#include <limits>

using namespace mlir;
using namespace pdc;
using namespace pdc::passes;
using dist::LayoutAttr;

//===----------------------------------------------------------------------===//
// Candidates
//===----------------------------------------------------------------------===//

/// `layout`, and layouts with smaller parts: over the axes that leave the value whole, one dimension is split further.
static SmallVector<LayoutAttr> withFiner(LayoutAttr layout, ArrayRef<int64_t> shape, dist::MeshOp mesh) {
  SmallVector<LayoutAttr> all{layout};
  SmallVector<Attribute> rest;
  for (auto [name, size] : llvm::zip(mesh.getAxisNames(), mesh.getAxisSizes()))
    if (size > 1 && llvm::none_of(layout.getDims(), [name = name](Attribute axes) {
          return llvm::is_contained(cast<ArrayAttr>(axes), name);
        }))
      rest.push_back(name);
  if (rest.empty())
    return all;
  for (size_t d = 0; d < shape.size(); ++d) {
    SmallVector<Attribute> dims(layout.getDims().begin(), layout.getDims().end());
    SmallVector<Attribute> axes(layout.getAxes(d).begin(), layout.getAxes(d).end());
    llvm::append_range(axes, rest);
    dims[d] = ArrayAttr::get(layout.getContext(), axes);
    auto finer = LayoutAttr::get(layout.getContext(), ArrayAttr::get(layout.getContext(), dims), layout.getBlocks(),
                                 layout.getSum(), layout.getMax());
    if (checkFits(finer, shape, mesh).empty())
      all.push_back(finer);
  }
  return all;
}

/// The values of the sender's plan that are what is sent, in all layouts; reshards of partial ones if there are others.
SmallVector<Value> MessageLayouts::sources(const Message &message) const {
  SmallVector<Value> all{stages[message.from].plan->of(message.value)};
  if (isOfReplica(message, message.from)) // of which reshards are those of a sum over all replicas
    return all;
  for (size_t i = 0; i < all.size(); ++i)
    for (Operation *user : all[i].getUsers())
      if (auto reshard = dyn_cast<dist::ReshardOp>(user))
        all.push_back(reshard.getResult());
  SmallVector<Value> whole;
  llvm::copy_if(all, std::back_inserter(whole), [](Value value) { return !dist::getLayout(value).isPartial(); });
  return whole.empty() ? SmallVector<Value>{all.front()} : whole;
}

/// What it takes to make a reshard that the sender itself does not use.
double MessageLayouts::makingSeconds(const Message &message, RankedTensorType type, Value source) const {
  Value root = rootOfReshards(source);
  bool isUsed = llvm::any_of(source.getUses(), [&](OpOperand &use) {
    return !isa<dist::ReshardOp>(use.getOwner()) && usesOn(message.from, use, message);
  });
  return source == root || isUsed ? 0
                                  : costs.reshardSeconds(type, dist::getLayout(root), dist::getLayout(source),
                                                         meshOf(message, message.from));
}

bool MessageLayouts::usesOn(int64_t stage, OpOperand &use, const Message &message) const {
  bool ofMicroBatch = isOfMicroBatch(message);
  Operation *user = stages[stage].plan->bareOf(use.getOwner());
  if (user->hasTrait<OpTrait::IsTerminator>())
    return !ofMicroBatch && assignment.returns(stage, use.getOperandNumber());
  if (classes.isWork(user))
    return ofMicroBatch && assignment.stageOf(user, message.microBatch) == stage;
  return !ofMicroBatch && assignment.stagesOf(user).count(stage) > 0;
}

/// Of a layout of the receiver's plan, what arrives: no partial sum; where one replica receives, what it has of the whole.
LayoutAttr MessageLayouts::wantedAs(const Message &message, LayoutAttr layout) const {
  layout = withoutPartial(layout);
  return isOfReplica(message, message.to) ? withinReplica(layout, stages[message.to].turns) : layout;
}

/// In which layouts ops of the receiver's plan use it.
SmallVector<LayoutAttr> MessageLayouts::wanted(const Message &message) const {
  llvm::SetVector<LayoutAttr> layouts;
  SmallVector<Value> values{stages[message.to].plan->of(message.value)};
  for (size_t i = 0; i < values.size(); ++i)
    for (OpOperand &use : values[i].getUses())
      if (auto reshard = dyn_cast<dist::ReshardOp>(use.getOwner()))
        values.push_back(reshard.getResult());
      else if (usesOn(message.to, use, message))
        layouts.insert(wantedAs(message, dist::getLayout(values[i])));
  if (layouts.empty())
    layouts.insert(wantedAs(message, dist::getLayout(values.front())));
  return layouts.takeVector();
}

//===----------------------------------------------------------------------===//
// The choice
//===----------------------------------------------------------------------===//

MessageLayout MessageLayouts::of(const Message &message, RankedTensorType type) const {
  Key key{message.value.getAsOpaquePointer(), message.from, message.to, message.microBatch < 0, isOfMicroBatch(message),
          type.getAsOpaquePointer()};
  auto [entry, inserted] = known.try_emplace(key);
  if (inserted)
    entry->second = choose(message, type);
  return entry->second;
}

MessageLayout MessageLayouts::choose(const Message &message, RankedTensorType type) const {
  dist::MeshOp from = meshOf(message, message.from), to = meshOf(message, message.to);
  ArrayRef<int64_t> shape = type.getShape();
  int64_t elementBytes = (type.getElementTypeBitWidth() + 7) / 8;
  SmallVector<LayoutAttr> uses = wanted(message);
  llvm::SetVector<LayoutAttr> received;
  for (LayoutAttr use : uses)
    for (LayoutAttr finer : withFiner(use, shape, to))
      received.insert(finer);
  MessageLayout best;
  double least = std::numeric_limits<double>::infinity();
  for (Value source : sources(message)) {
    LayoutAttr has = dist::getLayout(source);
    for (LayoutAttr sent : withFiner(withoutPartial(has), shape, from)) {
      double before = makingSeconds(message, type, source) + costs.reshardSeconds(type, has, sent, from);
      for (LayoutAttr arrives : received) {
        double seconds = before + costs.transferSeconds(planTransfer(sent, from, arrives, to, shape, 0), elementBytes);
        for (LayoutAttr use : uses)
          seconds += costs.reshardSeconds(type, arrives, use, to);
        if (!best.source || seconds < least) {
          least = seconds;
          best = {source, sent, arrives};
        }
      }
    }
  }
  return best;
}
