//===- ObjectCode.cpp - kernels to optimized machine code -----------------===//

#include "compiler/codegen/ObjectCode.h"
#include "compiler/codegen/KernelLibrary.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "mlir/Transforms/DialectConversion.h"
#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"

using namespace mlir;
using namespace pdc;

std::unique_ptr<llvm::TargetMachine> codegen::makeTargetMachine(const CodegenOptions &options,
                                                                std::string &error) {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  llvm::Triple triple(llvm::sys::getProcessTriple());
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return nullptr;
  bool isHost = options.cpu == "host";
  std::string cpu = isHost ? llvm::sys::getHostCPUName().str() : options.cpu, features = options.features;
  std::unique_ptr<llvm::MCSubtargetInfo> known(target->createMCSubtargetInfo(triple, "", ""));
  if (!known->isCPUStringValid(cpu)) {
    error =
        "unknown processor '" + cpu + "': expected \"host\" or a name that LLVM knows, such as \"x86-64-v3\"";
    return nullptr;
  }
  if (isHost && features.empty()) {
    // What the host has, and not what its processor's name promises: a virtual machine may hide features.
    SmallVector<std::string> flags;
    for (const auto &feature : llvm::sys::getHostCPUFeatures())
      flags.push_back((feature.second ? "+" : "-") + feature.first().str());
    llvm::sort(flags);
    features = llvm::join(flags, ",");
  }
  auto level = options.optimizationLevel >= 2   ? llvm::CodeGenOptLevel::Default
               : options.optimizationLevel == 1 ? llvm::CodeGenOptLevel::Less
                                                : llvm::CodeGenOptLevel::None;
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      triple, cpu, features, llvm::TargetOptions(), llvm::Reloc::PIC_, std::nullopt, level));
}

LogicalResult codegen::lowerToLLVM(ModuleOp module) {
  MLIRContext *context = module.getContext();
  LLVMTypeConverter types(context);
  RewritePatternSet patterns(context);
  populateSCFToControlFlowConversionPatterns(patterns);
  arith::populateArithToLLVMConversionPatterns(types, patterns);
  populateMathToLLVMConversionPatterns(types, patterns);
  cf::populateControlFlowToLLVMConversionPatterns(types, patterns);
  LLVMConversionTarget target(*context);
  target.addLegalOp<ModuleOp>();
  return applyFullConversion(module, target, std::move(patterns));
}

std::unique_ptr<llvm::Module> codegen::makeOptimizedModule(ModuleOp module, llvm::LLVMContext &context,
                                                           llvm::TargetMachine &target,
                                                           int optimizationLevel) {
  std::unique_ptr<llvm::Module> result = translateModuleToLLVMIR(module, context, "kernels");
  if (!result)
    return nullptr;
  result->setSourceFileName("kernels");
  result->setTargetTriple(target.getTargetTriple());
  result->setDataLayout(target.createDataLayout());
  for (llvm::Function &function : *result) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr("target-cpu", target.getTargetCPU());
    function.addFnAttr("target-features", target.getTargetFeatureString());
    // Processors that once lowered their clock for 512-bit vectors no longer do so noticeably, and kernels of
    // one pass over memory gain from the fewer instructions.
    function.addFnAttr("prefer-vector-width", "512");
    function.addFnAttr(llvm::Attribute::NoUnwind);
  }
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = tuning.LoopInterleaving = tuning.LoopUnrolling = optimizationLevel > 0;
  tuning.SLPVectorization = false; // loops are what there is to vectorize
  llvm::PassBuilder builder(&target, tuning);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager callGraph;
  llvm::ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(callGraph);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, callGraph, modules);
  static const llvm::OptimizationLevel levels[] = {llvm::OptimizationLevel::O0, llvm::OptimizationLevel::O1,
                                                   llvm::OptimizationLevel::O2, llvm::OptimizationLevel::O3};
  llvm::OptimizationLevel level = levels[std::clamp(optimizationLevel, 0, 3)];
  if (optimizationLevel == 0)
    builder.buildO0DefaultPipeline(level).run(*result, modules);
  else
    builder.buildPerModuleDefaultPipeline(level).run(*result, modules);
  return result;
}

FailureOr<std::string> codegen::emitObject(llvm::Module &module, llvm::TargetMachine &target) {
  SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  if (target.addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::ObjectFile))
    return failure();
  passes.run(module);
  return std::string(bytes.data(), bytes.size());
}
