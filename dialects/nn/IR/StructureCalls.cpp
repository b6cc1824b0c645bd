//===- StructureCalls.cpp - nn.call, nn.repeat, names of parameters -------===//

#include "dialects/nn/IR/NN.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace pdc::nn;

static FlatSymbolRefAttr calleeOf(Operation *op) {
  if (auto call = dyn_cast<CallOp>(op))
    return call.getCalleeAttr();
  if (auto repeat = dyn_cast<RepeatOp>(op))
    return repeat.getCalleeAttr();
  return {};
}

/// Whether `block` uses `target`, itself or through other blocks.
static bool uses(BlockOp block, Operation *target, SymbolTableCollection &symbols,
                 llvm::SmallPtrSetImpl<Operation *> &seen) {
  if (block.getOperation() == target)
    return true;
  if (!seen.insert(block).second)
    return false;
  return block
      .walk([&](Operation *op) {
        FlatSymbolRefAttr callee = calleeOf(op);
        auto used = callee ? symbols.lookupNearestSymbolFrom<BlockOp>(op, callee) : BlockOp();
        return used && uses(used, target, symbols, seen) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

/// The block that `op` applies: it exists, is a block, does not lead back here, and takes these operands and
/// gives these results.
static LogicalResult verifyUse(Operation *op, FlatSymbolRefAttr callee, SymbolTableCollection &symbols) {
  Operation *symbol = symbols.lookupNearestSymbolFrom(op, callee);
  if (!symbol)
    return op->emitOpError("uses the unknown block ")
           << callee << ": expected an nn.block of that name in this file";
  auto block = dyn_cast<BlockOp>(symbol);
  if (!block)
    return op->emitOpError("uses ") << callee << ", which is an " << symbol->getName()
                                    << ": expected an nn.block";
  llvm::SmallPtrSet<Operation *, 8> seen;
  if (Operation *parent = op->getParentOp(); isa<BlockOp>(parent) && uses(block, parent, symbols, seen))
    return op->emitOpError("makes @")
           << cast<BlockOp>(parent).getSymName() << " use itself: blocks cannot be recursive";
  auto compare = [&](StringRef what, TypeRange found, TypeRange expected) -> LogicalResult {
    if (found.size() != expected.size())
      return op->emitOpError("has ") << found.size() << " " << what << "s: expected " << expected.size()
                                     << ", as " << callee << " has";
    for (auto [index, foundType, expectedType] : llvm::enumerate(found, expected))
      if (foundType != expectedType)
        return op->emitOpError() << what << " #" << index << " has type " << foundType << ": expected "
                                 << expectedType << ", as of " << callee;
    return success();
  };
  return success(succeeded(compare("operand", op->getOperandTypes(), block.getArgumentTypes())) &&
                 succeeded(compare("result", op->getResultTypes(), block.getResultTypes())));
}

LogicalResult CallOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyUse(*this, getCalleeAttr(), symbols);
}

LogicalResult RepeatOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyUse(*this, getCalleeAttr(), symbols);
}

LogicalResult RepeatOp::verify() {
  if (int64_t count = getCount(); count < 1)
    return emitOpError("has count ") << count << ": expected at least 1";
  if (getPrefix().empty())
    return emitOpError(
        "has an empty prefix: expected one such as \"h\", to which the number of the application "
        "is appended");
  if (getNumResults() > getNumOperands())
    return emitOpError("has ") << getNumResults() << " results and " << getNumOperands()
                               << " operands: expected an operand to begin with for each result";
  for (auto [index, result] : llvm::enumerate(getResultTypes()))
    if (getOperand(index).getType() != result)
      return emitOpError("result #") << index << " has type " << result << ": expected "
                                     << getOperand(index).getType() << ", the type of operand #" << index
                                     << ", since one application's results are the next one's operands";
  return success();
}

//===----------------------------------------------------------------------===//
// Names of parameters and states
//===----------------------------------------------------------------------===//

namespace {
/// Collects the names of a model's parameters and states as they are after every block was applied.
class NameCollector {
public:
  explicit NameCollector(SymbolTableCollection &symbols) : symbols(symbols) {}

  /// `outermost`: the op of the model that leads here, null in the model itself.
  LogicalResult collect(Region &body, const std::string &prefix, Operation *outermost) {
    for (Operation &op : body.getOps()) {
      Operation *origin = outermost ? outermost : &op;
      LogicalResult result = success();
      if (auto param = dyn_cast<ParamOp>(op))
        result = add(prefix + param.getName().str(), origin);
      else if (auto state = dyn_cast<StateOp>(op))
        result = add(prefix + state.getName().str(), origin);
      else if (auto call = dyn_cast<CallOp>(op))
        result = collectBlock(&op, prefix + call.getPrefix().str(), origin);
      else if (auto repeat = dyn_cast<RepeatOp>(op))
        for (uint64_t i = 0; i < repeat.getCount() && succeeded(result); ++i)
          result = collectBlock(&op, prefix + repeat.getPrefix().str() + std::to_string(i) + ".", origin);
      if (failed(result))
        return failure();
    }
    return success();
  }

private:
  LogicalResult add(const std::string &name, Operation *origin) {
    auto [it, isNew] = owners.try_emplace(name, origin);
    if (isNew)
      return success();
    InFlightDiagnostic error = origin->emitOpError("gives the name \"")
                               << name << "\" to a second parameter or state: expected different names"
                               << (calleeOf(origin) ? ", from different prefixes" : "");
    error.attachNote(it->second->getLoc()) << "the first is here";
    return error;
  }

  LogicalResult collectBlock(Operation *op, const std::string &prefix, Operation *origin) {
    // Unknown and recursive blocks are errors of the op that uses them.
    auto block = symbols.lookupNearestSymbolFrom<BlockOp>(op, calleeOf(op));
    if (!block || !active.insert(block).second)
      return success();
    LogicalResult result = collect(block.getBody(), prefix, origin);
    active.erase(block);
    return result;
  }

  SymbolTableCollection &symbols;
  llvm::StringMap<Operation *> owners;
  llvm::SmallPtrSet<Operation *, 8> active;
};
} // namespace

LogicalResult ModelOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return NameCollector(symbols).collect(getBody(), "", nullptr);
}
