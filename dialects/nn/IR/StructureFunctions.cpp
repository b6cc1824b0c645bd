//===- StructureFunctions.cpp - nn.model, nn.block, nn.step, nn.return ----===//

#include "dialects/nn/IR/NN.h"
#include "dialects/nn/IR/NNUtils.h"
#include "mlir/Interfaces/FunctionImplementation.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace pdc::nn;

static constexpr StringLiteral kName = "nn.name";

//===----------------------------------------------------------------------===//
// Syntax: @name(%x: type {attributes}, ...) -> (name: type {attributes}, ...)
//===----------------------------------------------------------------------===//

/// Adds `nn.name` to attributes that lack it.
static DictionaryAttr withName(Builder &builder, DictionaryAttr attributes, StringRef name) {
  NamedAttrList list(attributes);
  if (!list.get(kName))
    list.set(kName, builder.getStringAttr(name));
  return list.getDictionary(builder.getContext());
}

/// Arguments are called as they are written, without '%'.
static void nameArguments(Builder &builder, SmallVectorImpl<OpAsmParser::Argument> &arguments) {
  for (OpAsmParser::Argument &argument : arguments)
    argument.attrs = withName(builder, argument.attrs, argument.ssaName.name.drop_front());
}

/// [name `:`] type [attributes]; attributes only `inParentheses`, where they cannot be taken for the body.
static ParseResult parseResult(OpAsmParser &parser, bool inParentheses, SmallVectorImpl<Type> &types,
                               SmallVectorImpl<DictionaryAttr> &attributes) {
  std::string name;
  Type type;
  OptionalParseResult unnamed;
  if (failed(parser.parseOptionalString(&name)))
    unnamed = parser.parseOptionalType(type);
  if (unnamed.has_value()) {
    if (failed(*unnamed))
      return failure();
  } else if ((name.empty() && parser.parseKeywordOrString(&name)) || parser.parseColonType(type)) {
    return failure();
  }
  NamedAttrList list;
  if (inParentheses && parser.parseOptionalAttrDict(list))
    return failure();
  DictionaryAttr dictionary = list.getDictionary(parser.getContext());
  types.push_back(type);
  attributes.push_back(name.empty() ? dictionary : withName(parser.getBuilder(), dictionary, name));
  return success();
}

static ParseResult parseFunction(OpAsmParser &parser, OperationState &state, bool isModel) {
  Builder &builder = parser.getBuilder();
  StringAttr symbol;
  SmallVector<OpAsmParser::Argument> arguments;
  SmallVector<Type> resultTypes;
  SmallVector<DictionaryAttr> resultAttrs;
  if (parser.parseSymbolName(symbol, SymbolTable::getSymbolAttrName(), state.attributes) ||
      parser.parseArgumentList(arguments, OpAsmParser::Delimiter::Paren, /*allowType=*/true,
                               /*allowAttrs=*/true))
    return failure();
  nameArguments(builder, arguments);
  if (succeeded(parser.parseOptionalArrow())) {
    bool inParentheses = succeeded(parser.parseOptionalLParen());
    auto one = [&] { return parseResult(parser, inParentheses, resultTypes, resultAttrs); };
    if (!inParentheses) {
      if (failed(one()))
        return failure();
    } else if (failed(parser.parseOptionalRParen())) {
      if (parser.parseCommaSeparatedList(one) || parser.parseRParen())
        return failure();
    }
  }
  if (isModel && !resultAttrs.empty())
    resultAttrs.front() = withName(builder, resultAttrs.front(), "loss");

  SmallVector<Type> argumentTypes;
  SmallVector<Attribute> argumentAttrs;
  for (OpAsmParser::Argument &argument : arguments) {
    argumentTypes.push_back(argument.type);
    argumentAttrs.push_back(argument.attrs);
  }
  state.addAttribute("function_type", TypeAttr::get(builder.getFunctionType(argumentTypes, resultTypes)));
  if (!arguments.empty())
    state.addAttribute("arg_attrs", builder.getArrayAttr(argumentAttrs));
  if (llvm::any_of(resultAttrs, [](DictionaryAttr attrs) { return !attrs.empty(); }))
    state.addAttribute("res_attrs",
                       builder.getArrayAttr(SmallVector<Attribute>(resultAttrs.begin(), resultAttrs.end())));
  Region *body = state.addRegion();
  if (parser.parseOptionalAttrDictWithKeyword(state.attributes) || parser.parseRegion(*body, arguments))
    return failure();
  // MLIR's own verification says "block with no terminator", before an op is asked.
  if (body->empty() || body->front().empty() || !body->back().back().mightHaveTrait<OpTrait::IsTerminator>())
    return parser.emitError(parser.getNameLoc())
           << "'" << state.name << "' op has no nn.return at its end: expected one with "
           << resultTypes.size() << " operands, the results";
  return success();
}

/// Whether an argument of this name prints as %name and is read back under it.
static bool isPlainArgumentName(StringRef name) {
  return !name.empty() && (llvm::isAlpha(name.front()) || name.front() == '_') &&
         llvm::all_of(name, [](char c) { return llvm::isAlnum(c) || StringRef("_.$-").contains(c); });
}

static StringRef nameIn(DictionaryAttr attributes) {
  StringAttr name = attributes ? attributes.getAs<StringAttr>(kName) : StringAttr();
  return name ? name.getValue() : StringRef();
}

/// Attributes without `nn.name`.
static SmallVector<NamedAttribute> withoutName(DictionaryAttr attributes) {
  SmallVector<NamedAttribute> rest;
  if (attributes)
    llvm::copy_if(attributes, std::back_inserter(rest),
                  [](NamedAttribute a) { return a.getName() != kName; });
  return rest;
}

/// A name as a keyword, or as a string where the parser would take the keyword for a type.
static void printResultName(OpAsmPrinter &p, StringRef name) {
  static const llvm::StringSet<> typeWords = {"tensor", "vector", "memref", "tuple", "complex",
                                              "index",  "none",   "bf16",   "f16",   "f32",
                                              "f64",    "f80",    "f128"};
  bool mayBeType = typeWords.contains(name) ||
                   (name.size() > 1 && StringRef("isu").contains(name.front()) &&
                    llvm::all_of(name.drop_front(), [](char c) { return llvm::isDigit(c) || c == 'i'; }));
  if (mayBeType)
    p.printString(name);
  else
    p.printKeywordOrString(name);
}

static void printFunction(OpAsmPrinter &p, FunctionOpInterface op, ArrayRef<StringRef> elided) {
  p << ' ';
  p.printSymbolName(SymbolTable::getSymbolName(op).getValue());
  llvm::StringMap<int> uses;
  for (unsigned i = 0; i < op.getNumArguments(); ++i)
    ++uses[nameIn(op.getArgAttrDict(i))];
  p << '(';
  llvm::interleaveComma(op.getArguments(), p, [&](BlockArgument argument) {
    DictionaryAttr attrs = op.getArgAttrDict(argument.getArgNumber());
    StringRef name = nameIn(attrs);
    if (uses[name] == 1 && isPlainArgumentName(name))
      p.printRegionArgument(argument, withoutName(attrs));
    else
      p.printRegionArgument(argument, attrs ? attrs.getValue() : ArrayRef<NamedAttribute>());
  });
  p << ')';
  if (op.getNumResults()) {
    bool single = op.getNumResults() == 1 && (!op.getResultAttrDict(0) || op.getResultAttrDict(0).empty());
    p << (single ? " -> " : " -> (");
    for (unsigned i = 0; i < op.getNumResults(); ++i) {
      if (i)
        p << ", ";
      if (StringRef name = nameIn(op.getResultAttrDict(i)); !name.empty()) {
        printResultName(p, name);
        p << ": ";
      }
      p << op.getResultTypes()[i];
      p.printOptionalAttrDict(withoutName(op.getResultAttrDict(i)));
    }
    p << (single ? "" : ")");
  }
  SmallVector<StringRef> known(elided);
  known.append({"sym_name", "function_type", "arg_attrs", "res_attrs"});
  p.printOptionalAttrDictWithKeyword(op->getAttrs(), known);
  p << ' ';
  p.printRegion(op.getFunctionBody(), /*printEntryBlockArgs=*/false);
}

static void setArgumentNames(FunctionOpInterface op, Region &region, OpAsmSetValueNameFn setName) {
  if (region.empty())
    return;
  for (BlockArgument argument : region.getArguments())
    if (StringRef name = nameIn(op.getArgAttrDict(argument.getArgNumber())); !name.empty())
      setName(argument, name);
}

ParseResult ModelOp::parse(OpAsmParser &parser, OperationState &state) {
  return parseFunction(parser, state, /*isModel=*/true);
}
void ModelOp::print(OpAsmPrinter &p) { printFunction(p, *this, {}); }
void ModelOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn setName) {
  setArgumentNames(*this, region, setName);
}

ParseResult BlockOp::parse(OpAsmParser &parser, OperationState &state) {
  return parseFunction(parser, state, /*isModel=*/false);
}
void BlockOp::print(OpAsmPrinter &p) { printFunction(p, *this, {}); }
void BlockOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn setName) {
  setArgumentNames(*this, region, setName);
}

ParseResult StepOp::parse(OpAsmParser &parser, OperationState &state) {
  StringAttr kind;
  if (parser.parseAttribute(kind, "kind", state.attributes))
    return failure();
  return parseFunction(parser, state, /*isModel=*/false);
}
void StepOp::print(OpAsmPrinter &p) {
  p << ' ';
  p.printAttributeWithoutType(getKindAttr());
  printFunction(p, *this, {"kind"});
}
void StepOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn setName) {
  setArgumentNames(*this, region, setName);
}

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

/// Fails at a type that has `?` elsewhere than in dimension 0.
static LogicalResult checkBatchIsFirst(Operation *at, TypeRange types, const Twine &what) {
  for (auto [index, type] : llvm::enumerate(types)) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (tensor && tensor.getRank() > 1 &&
        llvm::is_contained(tensor.getShape().drop_front(), ShapedType::kDynamic))
      return at->emitOpError() << what << " #" << index << " has type " << type
                               << ": expected `?`, the batch, in dimension 0 only";
  }
  return success();
}

/// Fails at a type with more than one `?`. The batch may move to another dimension on the way, as when experts get
/// tokens of all samples.
static LogicalResult checkOneBatch(Operation *at) {
  for (auto [index, type] : llvm::enumerate(at->getResultTypes()))
    if (auto tensor = dyn_cast<RankedTensorType>(type); tensor && tensor.getNumDynamicDims() > 1)
      return at->emitOpError() << "result #" << index << " has type " << type
                               << ": expected at most one dimension `?`, the batch";
  return success();
}

static LogicalResult checkTensors(FunctionOpInterface op) {
  for (auto [index, type] : llvm::enumerate(op.getArgumentTypes()))
    if (!isa<RankedTensorType>(type))
      return op->emitOpError("argument #")
             << index << " has type " << type << ": expected a tensor of known rank";
  for (auto [index, type] : llvm::enumerate(op.getResultTypes()))
    if (!isa<RankedTensorType>(type))
      return op->emitOpError("result #")
             << index << " has type " << type << ": expected a tensor of known rank";
  return success();
}

static LogicalResult checkNames(FunctionOpInterface op, bool argumentsToo) {
  llvm::StringSet<> arguments, results;
  for (unsigned i = 0; argumentsToo && i < op.getNumArguments(); ++i)
    if (StringRef name = nameIn(op.getArgAttrDict(i)); !name.empty() && !arguments.insert(name).second)
      return op->emitOpError("has two arguments called \"") << name << "\": expected different names";
  for (unsigned i = 0; i < op.getNumResults(); ++i)
    if (StringRef name = nameIn(op.getResultAttrDict(i)); !name.empty() && !results.insert(name).second)
      return op->emitOpError("has two results called \"") << name << "\": expected different names";
  return success();
}

/// The body has one block that ends with nn.return, and the batch is dimension 0 of every value.
static LogicalResult checkBody(FunctionOpInterface op) {
  if (failed(checkTensors(op)))
    return failure();
  Region &body = op.getFunctionBody();
  if (body.empty() || body.front().empty() || !isa<ReturnOp>(body.front().back()))
    return op->emitOpError("has no nn.return at its end: expected one with ")
           << op.getNumResults() << " operands, the results";
  if (failed(checkBatchIsFirst(op, op.getArgumentTypes(), "argument")) ||
      failed(checkBatchIsFirst(op, op.getResultTypes(), "result")))
    return failure();
  for (Operation &nested : body.front())
    if (failed(checkOneBatch(&nested)))
      return failure();
  return success();
}

/// Every argument has the same batch, its dimension 0; `batch` is that size, or none without arguments.
static LogicalResult checkBatch(ModelOp op, std::optional<int64_t> &batch) {
  for (auto [index, type] : llvm::enumerate(op.getArgumentTypes())) {
    auto tensor = cast<RankedTensorType>(type);
    if (tensor.getRank() == 0)
      return op.emitOpError("argument #")
             << index << " has type " << type << ": expected the batch as dimension 0, as in "
             << RankedTensorType::get({ShapedType::kDynamic}, tensor.getElementType());
    if (!batch)
      batch = tensor.getDimSize(0);
    if (*batch != tensor.getDimSize(0))
      return op.emitOpError("argument #")
             << index << " has type " << type << ", argument #0 has type " << op.getArgumentTypes()[0]
             << ": expected the same batch as dimension 0 of every argument";
    if (auto dims = op.getArgAttr(index, "nn.dims")) {
      auto names = dyn_cast<ArrayAttr>(dims);
      if (!names || names.size() != static_cast<size_t>(tensor.getRank()))
        return op.emitOpError("argument #")
               << index << " has nn.dims = " << dims << ": expected " << tensor.getRank()
               << " names, as many as " << type << " has dimensions";
    }
  }
  return success();
}

LogicalResult ModelOp::verifyRegions() {
  std::optional<int64_t> batch;
  if (failed(checkBody(*this)) || failed(checkNames(*this, /*argumentsToo=*/true)) ||
      failed(checkBatch(*this, batch)))
    return failure();
  if (getResultTypes().empty())
    return emitOpError("has no result: expected the loss, such as `-> tensor<f32>`");
  auto loss = cast<RankedTensorType>(getResultTypes()[0]);
  if (loss.getRank() != 0 || !isa<FloatType>(loss.getElementType()))
    return emitOpError("result #0 has type ")
           << loss << ": expected the loss first, a floating-point scalar such as tensor<f32>";
  for (auto [index, type] : llvm::enumerate(getResultTypes())) {
    if (nameIn(getResultAttrDict(index)).empty())
      return emitOpError("result #") << index
                                     << " has no name: expected `-> (loss: tensor<f32>, logits: ...)`";
    auto tensor = cast<RankedTensorType>(type);
    if (tensor.getRank() && batch && tensor.getDimSize(0) != *batch)
      return emitOpError("result #") << index << " has type " << type
                                     << ": expected a scalar, or the batch as dimension 0 as in "
                                     << getArgumentTypes()[0];
  }
  return success();
}

LogicalResult BlockOp::verifyRegions() {
  if (failed(checkBody(*this)))
    return failure();
  if (getResultTypes().empty())
    return emitOpError("has no result: expected at least one");
  return checkNames(*this, /*argumentsToo=*/true);
}

LogicalResult StepOp::verifyRegions() {
  static const StringRef kinds[] = {"train", "gradient", "evaluate", "infer"};
  static const StringRef argumentRoles[] = {
      "parameter", "optimizer_state", "state", "input", "learning_rate", "step", "seed"};
  static const StringRef resultRoles[] = {"loss",      "metric",          "output", "gradient",
                                          "parameter", "optimizer_state", "state"};
  if (!llvm::is_contained(kinds, getKind()))
    return emitOpError("has kind \"")
           << getKind() << "\": expected one of " << llvm::join(ArrayRef<StringRef>(kinds), ", ");
  auto checkRole = [&](StringRef what, unsigned index, DictionaryAttr attrs,
                       ArrayRef<StringRef> roles) -> LogicalResult {
    StringAttr role = attrs ? attrs.getAs<StringAttr>("nn.role") : StringAttr();
    if (!role || !llvm::is_contained(roles, role.getValue()))
      return emitOpError() << what << " #" << index << " has nn.role "
                           << (role ? "\"" + role.getValue().str() + "\"" : std::string("missing"))
                           << ": expected one of " << llvm::join(roles, ", ");
    if (role.getValue() == "optimizer_state" && !attrs.getAs<StringAttr>("nn.slot"))
      return emitOpError() << what << " #" << index
                           << " is optimizer state without nn.slot: expected its name there";
    return success();
  };
  for (unsigned i = 0; i < getNumArguments(); ++i)
    if (failed(checkRole("argument", i, getArgAttrDict(i), argumentRoles)))
      return failure();
  for (unsigned i = 0; i < getNumResults(); ++i)
    if (failed(checkRole("result", i, getResultAttrDict(i), resultRoles)))
      return failure();
  return checkBody(*this);
}

LogicalResult ReturnOp::verify() {
  auto function = cast<FunctionOpInterface>((*this)->getParentOp());
  ArrayRef<Type> types = function.getResultTypes();
  if (getNumOperands() != types.size())
    return emitOpError("has ") << getNumOperands() << " operands: expected " << types.size()
                               << ", the results of @" << function.getName();
  for (auto [index, found, expected] : llvm::enumerate(getOperandTypes(), types))
    if (found != expected)
      return emitOpError("operand #") << index << " has type " << found << ": expected " << expected
                                      << ", as result #" << index << " of @" << function.getName();
  return success();
}
