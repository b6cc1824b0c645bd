//===- StructureVariables.cpp - initializers, parameters and states -------===//

#include "dialects/nn/IR/NN.h"
#include "dialects/nn/IR/NNUtils.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include <cmath>

using namespace mlir;
using namespace pdc::nn;

//===----------------------------------------------------------------------===//
// Initializers
//===----------------------------------------------------------------------===//

namespace {
/// What may stand in the parentheses of an initializer.
struct InitializerForm {
  StringRef kind;
  size_t minValues, maxValues;
  StringRef usage;
};
} // namespace

static ArrayRef<InitializerForm> initializerForms() {
  static const InitializerForm forms[] = {
      {"zeros", 0, 0, "zeros"},
      {"ones", 0, 0, "ones"},
      {"constant", 1, 1, "constant(value)"},
      {"normal", 1, 2, "normal(std) or normal(mean, std)"},
      {"truncated_normal", 1, 2, "truncated_normal(std) or truncated_normal(mean, std)"},
      {"uniform", 2, 2, "uniform(low, high)"},
      {"kaiming", 0, 0, "kaiming"},
      {"kaiming_uniform", 0, 0, "kaiming_uniform"},
      {"xavier", 0, 0, "xavier"},
      {"xavier_normal", 0, 0, "xavier_normal"}};
  return forms;
}

LogicalResult InitializerAttr::verify(function_ref<InFlightDiagnostic()> emitError, StringRef kind,
                                      DenseF64ArrayAttr valuesAttr) {
  const InitializerForm *form = llvm::find_if(initializerForms(), [&](auto &f) { return f.kind == kind; });
  if (form == initializerForms().end())
    return emitError() << "unknown initializer '" << kind << "': expected one of "
                       << llvm::join(llvm::map_range(initializerForms(), [](auto &f) { return f.kind; }),
                                     ", ");
  ArrayRef<double> values = valuesAttr.asArrayRef();
  if (values.size() < form->minValues || values.size() > form->maxValues)
    return emitError() << "initializer '" << kind << "' has " << values.size() << " values: expected "
                       << form->usage;
  if (llvm::any_of(values, [](double value) { return !std::isfinite(value); }))
    return emitError() << "initializer '" << kind << "' has a value that is not finite";
  if ((kind == "normal" || kind == "truncated_normal") && values.back() < 0)
    return emitError() << "initializer '" << kind << "' has the negative standard deviation "
                       << values.back();
  if (kind == "uniform" && values[0] > values[1])
    return emitError() << "initializer 'uniform' has low " << values[0] << " above high " << values[1];
  return success();
}

FailureOr<InitializerAttr> InitializerAttr::parseBody(AsmParser &parser) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef kind;
  if (parser.parseKeyword(&kind))
    return failure();
  SmallVector<double> values;
  auto parseValue = [&]() -> ParseResult {
    SMLoc valueLoc = parser.getCurrentLocation();
    Attribute value;
    if (parser.parseAttribute(value))
      return failure();
    if (auto real = dyn_cast<FloatAttr>(value))
      values.push_back(real.getValueAsDouble());
    else if (auto integer = dyn_cast<IntegerAttr>(value))
      values.push_back(static_cast<double>(integer.getInt()));
    else
      return parser.emitError(valueLoc, "expected a number, found ") << value;
    return success();
  };
  if (succeeded(parser.parseOptionalLParen()))
    if (parser.parseCommaSeparatedList(parseValue) || parser.parseRParen())
      return failure();
  auto result = InitializerAttr::getChecked([&] { return parser.emitError(loc); }, parser.getContext(), kind,
                                            DenseF64ArrayAttr::get(parser.getContext(), values));
  if (!result)
    return failure();
  return result;
}

void InitializerAttr::printBody(AsmPrinter &printer) const {
  printer << getKind();
  if (getValues().empty())
    return;
  printer << '(';
  llvm::interleaveComma(getValues().asArrayRef(), printer,
                        [&](double value) { printer.printFloat(APFloat(value)); });
  printer << ')';
}

Attribute InitializerAttr::parse(AsmParser &parser, Type) {
  if (parser.parseLess())
    return {};
  FailureOr<InitializerAttr> result = parseBody(parser);
  if (failed(result) || parser.parseGreater())
    return {};
  return *result;
}

void InitializerAttr::print(AsmPrinter &printer) const {
  printer << '<';
  printBody(printer);
  printer << '>';
}

bool InitializerAttr::isRandom() const {
  return getKind() != "zeros" && getKind() != "ones" && getKind() != "constant";
}

FailureOr<Distribution> InitializerAttr::resolve(ArrayRef<int64_t> shape,
                                                 function_ref<InFlightDiagnostic()> emitError) const {
  using Kind = Distribution::Kind;
  ArrayRef<double> values = getValues().asArrayRef();
  double mean = values.size() == 2 ? values[0] : 0.0;
  StringRef kind = getKind();
  if (kind == "zeros")
    return Distribution{Kind::Zeros, 0, 0};
  if (kind == "ones")
    return Distribution{Kind::Ones, 0, 0};
  if (kind == "constant")
    return Distribution{Kind::Constant, values[0], 0};
  if (kind == "normal")
    return Distribution{Kind::Normal, mean, values.back()};
  if (kind == "truncated_normal")
    return Distribution{Kind::TruncatedNormal, mean, values.back()};
  if (kind == "uniform")
    return Distribution{Kind::Uniform, values[0], values[1]};
  if (shape.size() != 2 && shape.size() != 4) {
    if (emitError)
      emitError() << "initializer '" << kind << "' needs fans, which follow from the shapes [in, out] or "
                  << "[out, in, height, width]; found shape " << shapeText(shape)
                  << ": use normal(std) or uniform(low, high) there";
    return failure();
  }
  double fanIn = shape.size() == 2 ? shape[0] : shape[1] * shape[2] * shape[3];
  double fanOut = shape.size() == 2 ? shape[1] : shape[0] * shape[2] * shape[3];
  if (kind == "kaiming")
    return Distribution{Kind::Normal, 0, std::sqrt(2.0 / fanIn)};
  if (kind == "kaiming_uniform")
    return Distribution{Kind::Uniform, -std::sqrt(6.0 / fanIn), std::sqrt(6.0 / fanIn)};
  if (kind == "xavier_normal")
    return Distribution{Kind::Normal, 0, std::sqrt(2.0 / (fanIn + fanOut))};
  return Distribution{Kind::Uniform, -std::sqrt(6.0 / (fanIn + fanOut)), std::sqrt(6.0 / (fanIn + fanOut))};
}

//===----------------------------------------------------------------------===//
// nn.param and nn.state
//===----------------------------------------------------------------------===//

static ParseResult parseVariable(OpAsmParser &parser, OperationState &state) {
  StringAttr name;
  if (parser.parseAttribute(name, "name", state.attributes) || parser.parseKeyword("init") ||
      parser.parseLParen())
    return failure();
  FailureOr<InitializerAttr> init = InitializerAttr::parseBody(parser);
  if (failed(init) || parser.parseRParen())
    return failure();
  state.addAttribute("init", *init);
  if (succeeded(parser.parseOptionalKeyword("dims"))) {
    SmallVector<Attribute> dims;
    auto parseDim = [&]() -> ParseResult {
      std::string dim;
      if (parser.parseString(&dim))
        return failure();
      dims.push_back(parser.getBuilder().getStringAttr(dim));
      return success();
    };
    if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren, parseDim))
      return failure();
    state.addAttribute("dims", parser.getBuilder().getArrayAttr(dims));
  }
  Type type;
  if (parser.parseOptionalAttrDict(state.attributes) || parser.parseColonType(type))
    return failure();
  state.addTypes(type);
  return success();
}

template <typename VariableOp> static void printVariable(VariableOp op, OpAsmPrinter &p) {
  p << ' ';
  p.printAttributeWithoutType(op.getNameAttr());
  p << " init(";
  op.getInit().printBody(p);
  p << ')';
  if (ArrayAttr dims = op.getDimsAttr()) {
    p << " dims(";
    llvm::interleaveComma(dims, p, [&](Attribute dim) { p.printAttribute(dim); });
    p << ')';
  }
  p.printOptionalAttrDict(op->getAttrs(), {"name", "init", "dims"});
  p << " : " << op.getType();
}

/// The shape that the model states, which decides about initial values.
static ArrayRef<int64_t> modelShape(ParamOp op) { return op.getModelShape(); }
static ArrayRef<int64_t> modelShape(StateOp op) { return op.getResult().getType().getShape(); }

template <typename VariableOp> static LogicalResult verifyVariable(VariableOp op) {
  RankedTensorType type = op.getResult().getType();
  if (op.getName().empty())
    return op.emitOpError("expected a name that is not empty");
  if (!type.hasStaticShape())
    return op.emitOpError("\"")
           << op.getName() << "\" has type " << type
           << ": expected a static shape, since only inputs have the batch as a dimension";
  if (llvm::is_contained(type.getShape(), 0))
    return op.emitOpError("\"") << op.getName() << "\" has type " << type
                                << ": expected at least one element";
  if (op.getInit().isRandom() && !isa<FloatType>(type.getElementType()))
    return op.emitOpError("\"") << op.getName() << "\" has element type " << type.getElementType()
                                << ": expected init(zeros), init(ones) or init(constant(...)) for integers";
  if (op.getDims() && op.getDims()->size() != static_cast<size_t>(type.getRank()))
    return op.emitOpError("\"") << op.getName() << "\" names " << op.getDims()->size()
                                << " dimensions: expected " << type.getRank() << ", as many as " << type
                                << " has";
  return success(succeeded(
      op.getInit().resolve(modelShape(op), [&] { return op.emitOpError("\"") << op.getName() << "\": "; })));
}

ParseResult ParamOp::parse(OpAsmParser &parser, OperationState &state) {
  return parseVariable(parser, state);
}
ParseResult StateOp::parse(OpAsmParser &parser, OperationState &state) {
  return parseVariable(parser, state);
}
void ParamOp::print(OpAsmPrinter &p) { printVariable(*this, p); }
void StateOp::print(OpAsmPrinter &p) { printVariable(*this, p); }
void ParamOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getResult(), getName()); }
void StateOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getResult(), getName()); }
LogicalResult StateOp::verify() { return verifyVariable(*this); }

LogicalResult ParamOp::verify() {
  if (!isa<FloatType>(getResult().getType().getElementType()))
    return emitOpError("\"")
           << getName() << "\" has element type " << getResult().getType().getElementType()
           << ": expected a floating-point type, since parameters are trained (nn.state holds "
           << "other values)";
  RankedTensorType type = getResult().getType();
  if (getDeclaredShape() && type.hasStaticShape() &&
      (llvm::any_of(*getDeclaredShape(), [](int64_t size) { return size < 1; }) ||
       staticElementCount(*getDeclaredShape()) != staticElementCount(type.getShape())))
    return emitOpError("\"") << getName() << "\" has the declared shape " << shapeText(*getDeclaredShape())
                            << ": expected one of as many elements as " << type << " has";
  return verifyVariable(*this);
}

LogicalResult AssignOp::verify() {
  if (!getState().getDefiningOp<StateOp>())
    return emitOpError(
        "expected the result of an nn.state as its first operand: only a state can be assigned");
  return success();
}
