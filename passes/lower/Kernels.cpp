//===- Kernels.cpp - definitions of generated kernels ---------------------===//

#include "passes/lower/Kernels.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace pdc;
using namespace pdc::passes;

/// Letters, digits and underscores of a label, at most 40 of them.
static std::string symbolPart(StringRef label) {
  std::string name;
  for (char c : label.take_front(40))
    name += llvm::isAlnum(c) ? c : '_';
  return name;
}

/// Kernels work on addresses with offsets applied, so they do not depend on where a view begins.
static MemRefType withoutOffset(MemRefType type) {
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(type.getStridesAndOffset(strides, offset)) || offset == 0)
    return type;
  if (rt::isDense(type))
    return MemRefType::get(type.getShape(), type.getElementType());
  return MemRefType::get(type.getShape(), type.getElementType(),
                         StridedLayoutAttr::get(type.getContext(), 0, strides));
}

FlatSymbolRefAttr Kernels::define(nn::FusionOp fusion, ArrayRef<MemRefType> memory,
                                  ArrayRef<Attribute> donate) {
  OpBuilder b(module.getContext());
  SmallVector<Attribute> types;
  for (MemRefType type : memory)
    types.push_back(TypeAttr::get(withoutOffset(type)));
  OperationState state(fusion.getLoc(), rt::DefineOp::getOperationName());
  state.addAttribute("sym_name", b.getStringAttr("kernel"));
  state.addAttribute("arguments", b.getArrayAttr(types));
  state.addRegion();
  auto define = cast<rt::DefineOp>(Operation::create(state));
  Block *body = b.createBlock(&define.getBody());
  IRMapping mapping;
  for (Value operand : fusion.getOperands())
    if (!mapping.contains(operand))
      mapping.map(operand, body->addArgument(operand.getType(), operand.getLoc()));
  auto clone = cast<nn::FusionOp>(b.clone(*fusion.getOperation(), mapping));
  clone->setDiscardableAttrs(ArrayRef<NamedAttribute>{});
  clone.setLabel("");
  clone.setDonateAttr(donate.empty() ? ArrayAttr() : b.getArrayAttr(donate));

  std::string contents;
  llvm::raw_string_ostream stream(contents);
  define->print(stream, OpPrintingFlags().printGenericOpForm().useLocalScope());
  auto [entry, inserted] = byContents.try_emplace(contents);
  if (!inserted) {
    define->erase();
    return entry->second;
  }
  std::string name = "k" + std::to_string(byContents.size() - 1);
  if (std::string label = symbolPart(fusion.getLabel()); !label.empty())
    name += "_" + label;
  define.setSymName(name);
  module.push_back(define);
  return entry->second = FlatSymbolRefAttr::get(define);
}
