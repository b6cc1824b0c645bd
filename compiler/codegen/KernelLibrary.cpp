//===- KernelLibrary.cpp - fused groups to a shared object ----------------===//

#include "compiler/codegen/KernelLibrary.h"
#include "compiler/codegen/Emitter.h"
#include "compiler/codegen/MathExpansion.h"
#include "compiler/codegen/ObjectCode.h"
#include "compiler/codegen/Schedule.h"
#include "dialects/nn/IR/NN.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/SHA256.h"
#include "llvm/Target/TargetMachine.h"

using namespace mlir;
using namespace pdc;
using namespace pdc::codegen;

void codegen::registerCodegenDialects(DialectRegistry &registry) {
  registry.insert<arith::ArithDialect, cf::ControlFlowDialect, LLVM::LLVMDialect, math::MathDialect,
                  scf::SCFDialect>();
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
}

struct KernelLibraryBuilder::State {
  MLIRContext *context;
  CodegenOptions options;
  std::unique_ptr<llvm::TargetMachine> target;
  std::string targetError;
  OwningOpRef<ModuleOp> module;
  llvm::StringMap<Kernel> kernels;
  /// For errors about all kernels: where the first of them comes from.
  std::optional<Location> place;

  InFlightDiagnostic error() const { return emitError(place.value_or(UnknownLoc::get(context))); }
  void clear() {
    module = ModuleOp::create(UnknownLoc::get(context));
    kernels.clear();
  }
  FailureOr<std::unique_ptr<llvm::Module>> compile(llvm::LLVMContext &llvmContext);
};

KernelLibraryBuilder::KernelLibraryBuilder(MLIRContext *context, CodegenOptions options)
    : state(std::make_unique<State>()) {
  DialectRegistry registry;
  registerCodegenDialects(registry);
  context->appendDialectRegistry(registry);
  for (StringRef name : registry.getDialectNames())
    context->getOrLoadDialect(name);
  state->context = context;
  state->options = std::move(options);
  state->target = makeTargetMachine(state->options, state->targetError);
  state->clear();
}

KernelLibraryBuilder::~KernelLibraryBuilder() = default;

std::string KernelLibraryBuilder::getCpu() const {
  return state->target ? state->target->getTargetCPU().str() : std::string();
}

std::string KernelLibraryBuilder::getFeatures() const {
  return state->target ? state->target->getTargetFeatureString().str() : std::string();
}

/// Equal for fusions that compute the same in the same layouts: a hash of the body's text without names and
/// places.
static std::string makeSymbol(nn::FusionOp fusion, ArrayRef<MemRefType> arguments) {
  llvm::DenseMap<Value, unsigned> numbers;
  std::string text;
  llvm::raw_string_ostream stream(text);
  for (BlockArgument argument : fusion.getBody().getArguments())
    numbers.try_emplace(argument, numbers.size());
  for (Operation &op : fusion.getBody().front()) {
    stream << op.getName() << '(';
    for (Value operand : op.getOperands())
      stream << numbers.lookup(operand) << ' ';
    stream << ')' << op.getAttrDictionary() << op.getPropertiesAsAttribute();
    for (Value result : op.getResults()) {
      numbers.try_emplace(result, numbers.size());
      stream << result.getType();
    }
    stream << '\n';
  }
  for (MemRefType argument : arguments)
    stream << argument << '\n';
  if (fusion.getDonate())
    stream << *fusion.getDonate();
  auto digest = llvm::SHA256::hash(llvm::arrayRefFromStringRef(text));
  return "fusion_" + llvm::toHex(ArrayRef(digest).take_front(10), /*LowerCase=*/true);
}

FailureOr<Kernel> KernelLibraryBuilder::add(nn::FusionOp fusion, ArrayRef<MemRefType> arguments) {
  std::string symbol = makeSymbol(fusion, arguments);
  if (auto found = state->kernels.find(symbol); found != state->kernels.end())
    return found->second;
  if (!state->place)
    state->place = fusion.getLoc();
  auto schedule = makeSchedule(fusion, arguments);
  if (failed(schedule))
    return failure();
  emitKernel(*state->module, fusion, *schedule, symbol);
  Kernel kernel{symbol, schedule->units(), schedule->flops, schedule->bytes};
  state->kernels[symbol] = kernel;
  return kernel;
}

/// Multiplications may be fused with additions, as the processor does best.
static void allowContraction(ModuleOp module) {
  module.walk([](arith::ArithFastMathInterface op) {
    auto flags =
        op.getFastMathFlagsAttr() ? op.getFastMathFlagsAttr().getValue() : arith::FastMathFlags::none;
    op->setAttr(op.getFastMathAttrName(),
                arith::FastMathFlagsAttr::get(op->getContext(), flags | arith::FastMathFlags::contract));
  });
}

FailureOr<std::unique_ptr<llvm::Module>>
KernelLibraryBuilder::State::compile(llvm::LLVMContext &llvmContext) {
  if (!target)
    return error() << "cannot generate code: " << targetError;
  allowContraction(*module);
  expandMath(*module);
  if (failed(lowerToLLVM(*module)))
    return failure();
  auto result = makeOptimizedModule(*module, llvmContext, *target, options.optimizationLevel);
  if (!result)
    return error() << "cannot translate the kernels to LLVM IR";
  clear();
  return result;
}

FailureOr<std::string> KernelLibraryBuilder::build() {
  llvm::LLVMContext llvmContext;
  auto module = state->compile(llvmContext);
  if (failed(module))
    return failure();
  auto object = emitObject(**module, *state->target);
  if (failed(object))
    return state->error() << "LLVM cannot write object files for this target";
  std::string error;
  auto linked = linkSharedObject(*object, error);
  if (failed(linked))
    return state->error() << "cannot link the kernels: " << error;
  return linked;
}

FailureOr<std::string> KernelLibraryBuilder::buildIR() {
  llvm::LLVMContext llvmContext;
  auto module = state->compile(llvmContext);
  if (failed(module))
    return failure();
  std::string text;
  llvm::raw_string_ostream stream(text);
  (*module)->print(stream, nullptr);
  return text;
}
