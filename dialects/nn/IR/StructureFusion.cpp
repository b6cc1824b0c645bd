//===- StructureFusion.cpp - nn.fusion and nn.yield -----------------------===//

#include "dialects/nn/IR/NN.h"

using namespace mlir;
using namespace pdc::nn;

// nn.fusion(%a = %x : type, ...) -> (types) attributes {...} { ... }
ParseResult FusionOp::parse(OpAsmParser &parser, OperationState &state) {
  SmallVector<OpAsmParser::Argument> arguments;
  SmallVector<OpAsmParser::UnresolvedOperand> operands;
  SmallVector<Type> operandTypes;
  SMLoc loc = parser.getCurrentLocation();
  auto parseBinding = [&]() -> ParseResult {
    OpAsmParser::Argument &argument = arguments.emplace_back();
    OpAsmParser::UnresolvedOperand &operand = operands.emplace_back();
    if (parser.parseArgument(argument) || parser.parseEqual() || parser.parseOperand(operand) ||
        parser.parseColonType(argument.type))
      return failure();
    operandTypes.push_back(argument.type);
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren, parseBinding) ||
      parser.parseOptionalArrowTypeList(state.types) ||
      parser.parseOptionalAttrDictWithKeyword(state.attributes) ||
      parser.resolveOperands(operands, operandTypes, loc, state.operands))
    return failure();
  return parser.parseRegion(*state.addRegion(), arguments);
}

void FusionOp::print(OpAsmPrinter &p) {
  p << '(';
  llvm::interleaveComma(llvm::zip_equal(getBody().getArguments(), getOperands()), p, [&](auto pair) {
    auto [argument, operand] = pair;
    p << argument << " = " << operand << " : " << operand.getType();
  });
  p << ')';
  p.printOptionalArrowTypeList(getResultTypes());
  SmallVector<StringRef> elided;
  if (getLabel().empty())
    elided.push_back("label");
  p.printOptionalAttrDictWithKeyword((*this)->getAttrs(), elided);
  p << ' ';
  p.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

static LogicalResult verifyDonations(FusionOp op) {
  ArrayAttr donations = op.getDonateAttr();
  if (!donations)
    return success();
  for (Attribute attribute : donations) {
    auto pair = dyn_cast<ArrayAttr>(attribute);
    int64_t operand = -1, result = -1;
    if (pair && pair.size() == 2 && llvm::all_of(pair, llvm::IsaPred<IntegerAttr>)) {
      operand = cast<IntegerAttr>(pair[0]).getInt();
      result = cast<IntegerAttr>(pair[1]).getInt();
    }
    if (operand < 0 || operand >= op.getNumOperands() || result < 0 || result >= op.getNumResults())
      return op.emitOpError("donates ")
             << attribute << ": expected [operand, result] with an operand below " << op.getNumOperands()
             << " and a result below " << op.getNumResults();
    if (op.getOperand(operand).getType() != op.getResult(result).getType())
      return op.emitOpError("donates operand #")
             << operand << " of type " << op.getOperand(operand).getType() << " to result #" << result
             << " of type " << op.getResult(result).getType() << ": expected equal types";
  }
  return success();
}

LogicalResult FusionOp::verifyRegions() {
  Block &body = getBody().front();
  if (body.getNumArguments() != getNumOperands())
    return emitOpError("has ") << getNumOperands() << " operands and a body of " << body.getNumArguments()
                               << " arguments: expected an argument for each operand";
  for (auto [index, argument, operand] : llvm::enumerate(body.getArgumentTypes(), getOperandTypes()))
    if (argument != operand)
      return emitOpError("argument #") << index << " of the body has type " << argument << ": expected "
                                       << operand << ", the operand's type";
  auto yield = body.empty() ? YieldOp() : dyn_cast<YieldOp>(body.back());
  if (!yield)
    return emitOpError("has no nn.yield at the end of its body");
  if (yield.getOperandTypes() != getResultTypes())
    return yield.emitOpError("yields ")
           << yield.getOperandTypes() << ": expected " << getResultTypes() << ", the results of the fusion";
  for (Operation &op : body.without_terminator())
    if (!isa<ElementwiseOpInterface, ConstantOp, ReduceSumOp, ReduceMaxOp, ReshapeOp>(op))
      return op.emitOpError(
          "stands in an nn.fusion: expected elementwise ops, reductions and constants only");
  return verifyDonations(*this);
}
