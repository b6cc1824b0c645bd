//===- harness.cpp - builds, compiles, loads and runs fusions -------------===//

#include "tests/compiler/codegen/harness.h"
#include "llvm/ADT/APFloat.h"
#include <cmath>
#include <cstring>
#include <dlfcn.h>
#include <sstream>
#include <sys/mman.h>
#include <unistd.h>

using namespace mlir;
using namespace pdc;
using namespace pdc::codegen;
using namespace pdc::codegen::test;

//===----------------------------------------------------------------------===//
// Library
//===----------------------------------------------------------------------===//

Library::Library(const std::string &image) {
  int file = memfd_create("kernels", MFD_CLOEXEC);
  if (file < 0 || write(file, image.data(), image.size()) != static_cast<ssize_t>(image.size()))
    return;
  handle = dlopen(("/proc/self/fd/" + std::to_string(file)).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    fprintf(stderr, "%s\n", dlerror());
  close(file);
}

Library::~Library() {
  if (handle)
    dlclose(handle);
}

void *Library::find(const std::string &symbol) const {
  return handle ? dlsym(handle, symbol.c_str()) : nullptr;
}

//===----------------------------------------------------------------------===//
// FusionWriter
//===----------------------------------------------------------------------===//

FusionWriter::FusionWriter() : builder(&context), loc(UnknownLoc::get(&context)) {
  DialectRegistry registry;
  registerCodegenDialects(registry);
  registry.insert<nn::NNDialect>();
  context.appendDialectRegistry(registry);
  context.loadAllAvailableDialects();
  module = ModuleOp::create(loc);
  OperationState state(loc, nn::FusionOp::getOperationName());
  state.addRegion()->emplaceBlock();
  builder.setInsertionPointToEnd(module->getBody());
  fusion = cast<nn::FusionOp>(builder.create(state));
  builder.setInsertionPointToEnd(&fusion.getBody().front());
}

FusionWriter::~FusionWriter() { module = nullptr; }

RankedTensorType FusionWriter::type(ArrayRef<int64_t> shape, Type element) {
  return RankedTensorType::get(shape, element ? element : builder.getF32Type());
}

Value FusionWriter::operand(ArrayRef<int64_t> shape, Type element) {
  return fusion.getBody().front().addArgument(type(shape, element), loc);
}

Value FusionWriter::splat(double value, ArrayRef<int64_t> shape, Type element) {
  RankedTensorType tensor = type(shape, element);
  Attribute scalar = isa<FloatType>(tensor.getElementType())
                         ? Attribute(builder.getFloatAttr(tensor.getElementType(), value))
                         : Attribute(IntegerAttr::get(tensor.getElementType(), static_cast<int64_t>(value)));
  OperationState state(loc, nn::ConstantOp::getOperationName());
  state.addAttribute("value", DenseElementsAttr::get(tensor, scalar));
  state.addTypes(tensor);
  return builder.create(state)->getResult(0);
}

RankedTensorType FusionWriter::broadcast(ArrayRef<Value> operands, Type element) {
  SmallVector<int64_t> shape;
  for (Value operand : operands) {
    auto other = cast<RankedTensorType>(operand.getType()).getShape();
    if (other.size() > shape.size())
      shape.insert(shape.begin(), other.size() - shape.size(), 1);
    for (size_t i = 0; i < other.size(); ++i)
      if (int64_t &size = shape[shape.size() - other.size() + i]; size == 1)
        size = other[i];
  }
  return type(shape, element ? element : cast<RankedTensorType>(operands.back().getType()).getElementType());
}

static RankedTensorType reducedType(Value input, ArrayRef<int64_t> axes, bool keepDims) {
  auto type = cast<RankedTensorType>(input.getType());
  SmallVector<int64_t> shape;
  for (int64_t i = 0; i < type.getRank(); ++i) {
    if (!llvm::is_contained(axes, i))
      shape.push_back(type.getDimSize(i));
    else if (keepDims)
      shape.push_back(1);
  }
  return RankedTensorType::get(shape, type.getElementType());
}

Value FusionWriter::sum(Value input, ArrayRef<int64_t> axes, bool keepDims) {
  return nn::ReduceSumOp::create(builder, loc, reducedType(input, axes, keepDims), input, axes, keepDims);
}

Value FusionWriter::max(Value input, ArrayRef<int64_t> axes, bool keepDims) {
  return nn::ReduceMaxOp::create(builder, loc, reducedType(input, axes, keepDims), input, axes, keepDims);
}

Value FusionWriter::broadcastTo(Value input, ArrayRef<int64_t> shape) {
  return nn::BroadcastOp::create(
      builder, loc, type(shape, cast<RankedTensorType>(input.getType()).getElementType()), input);
}

Value FusionWriter::reshape(Value input, ArrayRef<int64_t> shape) {
  return nn::ReshapeOp::create(builder, loc,
                               type(shape, cast<RankedTensorType>(input.getType()).getElementType()), input);
}

Value FusionWriter::iota(int64_t dimension, ArrayRef<int64_t> shape, Type element) {
  return nn::IotaOp::create(builder, loc, type(shape, element), dimension, Value());
}

Value FusionWriter::compare(nn::ComparePredicate predicate, Value lhs, Value rhs) {
  return nn::CompareOp::create(builder, loc, broadcast({lhs, rhs}, builder.getI1Type()), predicate, lhs, rhs);
}

nn::FusionOp FusionWriter::finish(ArrayRef<Value> results, ArrayRef<std::pair<int64_t, int64_t>> donations) {
  nn::YieldOp::create(builder, loc, results);
  Block &body = fusion.getBody().front();
  SmallVector<Value> operands;
  for (BlockArgument argument : body.getArguments())
    operands.push_back(holder.addArgument(argument.getType(), loc));
  OpBuilder outside(fusion);
  OperationState state(loc, nn::FusionOp::getOperationName());
  state.addOperands(operands);
  state.addTypes(SmallVector<Type>(ValueRange(results).getTypes()));
  if (!donations.empty()) {
    SmallVector<Attribute> pairs;
    for (auto [from, to] : donations)
      pairs.push_back(outside.getI64ArrayAttr({from, to}));
    state.addAttribute("donate", outside.getArrayAttr(pairs));
  }
  state.addRegion()->takeBody(fusion.getBody());
  auto finished = cast<nn::FusionOp>(outside.create(state));
  fusion.erase();
  return fusion = finished;
}

//===----------------------------------------------------------------------===//
// check
//===----------------------------------------------------------------------===//

namespace {

/// Memory of one argument, 64-byte aligned, with the strides of its memref.
struct Argument {
  MemRefType type;
  std::vector<char> bytes;
  char *data() { return bytes.data() + (64 - reinterpret_cast<uintptr_t>(bytes.data()) % 64) % 64; }
};

} // namespace

static int64_t elementBytes(Type element) { return (element.getIntOrFloatBitWidth() + 7) / 8; }

static int64_t elementOffset(MemRefType type, int64_t flat) {
  SmallVector<int64_t> strides;
  int64_t offset, at = 0;
  (void)type.getStridesAndOffset(strides, offset);
  for (int64_t i = type.getRank() - 1; i >= 0; --i) {
    at += flat % type.getDimSize(i) * strides[i];
    flat /= type.getDimSize(i);
  }
  return at;
}

static Scalar readElement(char *at, Type element) {
  if (element.isF32()) {
    float value;
    memcpy(&value, at, 4);
    return {value, 0};
  }
  if (auto floating = dyn_cast<FloatType>(element)) {
    uint64_t bits = 0;
    memcpy(&bits, at, elementBytes(element));
    APFloat value(floating.getFloatSemantics(), APInt(floating.getWidth(), bits));
    bool loses;
    value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &loses);
    return {value.convertToDouble(), 0};
  }
  int64_t bits = 0;
  memcpy(&bits, at, elementBytes(element));
  unsigned unused = 64 - 8 * elementBytes(element);
  return {0, bits << unused >> unused};
}

/// Writes and returns what it rounded to.
static Scalar writeElement(char *at, Type element, double value) {
  if (auto floating = dyn_cast<FloatType>(element)) {
    APFloat rounded(value);
    bool loses;
    rounded.convert(floating.getFloatSemantics(), APFloat::rmNearestTiesToEven, &loses);
    uint64_t bits = rounded.bitcastToAPInt().getZExtValue();
    memcpy(at, &bits, elementBytes(element));
  } else {
    int64_t integer = element.isInteger(1) ? value > 0 : static_cast<int64_t>(value);
    memcpy(at, &integer, elementBytes(element));
  }
  return readElement(at, element);
}

static Argument makeArgument(Type tensor, int64_t innermostStride) {
  auto type = cast<RankedTensorType>(tensor);
  SmallVector<int64_t> strides(type.getRank(), 1);
  int64_t stride = innermostStride;
  for (int64_t i = type.getRank() - 1; i >= 0; --i) {
    strides[i] = stride;
    stride *= type.getDimSize(i);
    if (innermostStride > 1)
      stride += 3; // rows are not adjacent
  }
  Argument argument;
  argument.type = innermostStride == 1
                      ? MemRefType::get(type.getShape(), type.getElementType())
                      : MemRefType::get(type.getShape(), type.getElementType(),
                                        StridedLayoutAttr::get(type.getContext(), 0, strides));
  argument.bytes.assign(stride * elementBytes(type.getElementType()) + 128, 0x5A);
  return argument;
}

namespace {

struct Compiled {
  nn::FusionOp fusion;
  std::vector<Argument> arguments;
  std::vector<unsigned> resultArgument;
  codegen::Kernel kernel;
};

} // namespace

static std::vector<unsigned> layoutArguments(nn::FusionOp fusion, const RunOptions &options,
                                             std::vector<Argument> &arguments) {
  std::vector<int> donated(fusion.getNumResults(), -1);
  if (ArrayAttr donations = fusion.getDonateAttr())
    for (Attribute pair : donations)
      donated[cast<IntegerAttr>(cast<ArrayAttr>(pair)[1]).getInt()] =
          cast<IntegerAttr>(cast<ArrayAttr>(pair)[0]).getInt();
  for (Type type : fusion->getOperandTypes())
    arguments.push_back(makeArgument(type, options.operandStride));
  std::vector<unsigned> resultArgument;
  for (auto [i, type] : llvm::enumerate(fusion.getResultTypes())) {
    resultArgument.push_back(donated[i] >= 0 ? donated[i] : arguments.size());
    if (donated[i] < 0)
      arguments.push_back(makeArgument(type, 1));
  }
  return resultArgument;
}

static void call(test::Kernel function, std::vector<Argument> &arguments, ArrayRef<int64_t> cuts) {
  std::vector<void *> pointers;
  for (Argument &argument : arguments)
    pointers.push_back(argument.data());
  // Last range first: ranges are independent.
  for (size_t i = cuts.size() - 1; i > 0; --i)
    function(pointers.data(), cuts[i - 1], cuts[i]);
}

static std::string compare(Compiled &compiled, const std::vector<Tensor> &expected,
                           const RunOptions &options) {
  std::ostringstream differences;
  for (auto [result, tensor] : llvm::enumerate(expected)) {
    Argument &argument = compiled.arguments[compiled.resultArgument[result]];
    Type element = argument.type.getElementType();
    double tolerance = element.isBF16() ? 1.0 / 256 : element.isF16() ? 1.0 / 2048 : options.tolerance;
    for (auto [i, scalar] : llvm::enumerate(tensor)) {
      Scalar found =
          readElement(argument.data() + elementOffset(argument.type, i) * elementBytes(element), element);
      bool equal = isa<FloatType>(element)
                       ? (std::isnan(scalar.number) && std::isnan(found.number)) ||
                             scalar.number == found.number ||
                             std::fabs(scalar.number - found.number) <=
                                 tolerance * std::max(options.scale, std::fabs(scalar.number))
                       : scalar.integer == found.integer;
      if (equal)
        continue;
      differences << "result " << result << " element " << i << ": expected " << scalar.number << " / "
                  << scalar.integer << ", found " << found.number << " / " << found.integer << "\n";
      if (differences.tellp() > 1000)
        return differences.str();
    }
  }
  return differences.str();
}

static std::string runOne(Compiled &compiled, const Library &library, const RunOptions &options) {
  auto function = reinterpret_cast<test::Kernel>(library.find(compiled.kernel.symbol));
  if (!function)
    return "no symbol " + compiled.kernel.symbol;
  std::mt19937 random(7);
  std::normal_distribution<double> normal;
  std::vector<Tensor> operands;
  for (auto [i, type] : llvm::enumerate(compiled.fusion->getOperandTypes())) {
    auto tensor = cast<RankedTensorType>(type);
    Argument &argument = compiled.arguments[i];
    Tensor values(tensor.getNumElements());
    for (int64_t element = 0; element < tensor.getNumElements(); ++element) {
      double value = options.value ? options.value(i, element, random) : normal(random);
      char *at =
          argument.data() + elementOffset(argument.type, element) * elementBytes(tensor.getElementType());
      values[element] = writeElement(at, tensor.getElementType(), value);
    }
    operands.push_back(std::move(values));
  }
  std::vector<Argument> split = compiled.arguments;
  for (auto [copy, original] : llvm::zip_equal(split, compiled.arguments))
    memcpy(copy.data(), original.data(), original.bytes.size() - 64);
  std::vector<Tensor> expected = evaluate(compiled.fusion, operands);
  int64_t extent = compiled.kernel.parallelExtent;
  call(function, compiled.arguments, {0, extent});
  int64_t first = extent / 3, second = std::max(first, extent - 1);
  call(function, split, {0, first, second, extent});
  for (auto [one, other] : llvm::zip_equal(compiled.arguments, split))
    if (memcmp(one.data(), other.data(), one.bytes.size() - 64) != 0)
      return "the bits depend on how the extent is split\n";
  return compare(compiled, expected, options);
}

std::string codegen::test::check(nn::FusionOp fusion, const RunOptions &options) {
  Compiled compiled{fusion, {}, {}, {}};
  compiled.resultArgument = layoutArguments(fusion, options, compiled.arguments);
  KernelLibraryBuilder builder(fusion->getContext(), options.codegen);
  SmallVector<MemRefType> types;
  for (Argument &argument : compiled.arguments)
    types.push_back(argument.type);
  auto kernel = builder.add(fusion, types);
  if (failed(kernel))
    return "add failed";
  compiled.kernel = *kernel;
  auto built = builder.build();
  if (failed(built))
    return "build failed";
  Library library(*built);
  return runOne(compiled, library, options);
}
