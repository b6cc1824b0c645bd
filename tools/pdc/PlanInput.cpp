//===- PlanInput.cpp - executables and plans that commands read -----------===//

#include "tools/pdc/PlanInput.h"
#include "compiler/codegen/executable/ExecutableWriter.h"
#include "compiler/machine/ClusterFile.h"
#include "compiler/machine/ir/ClusterAttr.h"
#include "compiler/pipeline/Compiler.h"
#include "compiler/pipeline/ParseModule.h"
#include "compiler/pipeline/PlanFile.h"
#include "dialects/nn/IR/NN.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "runtime/kernels/library.h"
#include "llvm/Object/ELF.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"

using namespace pdc;
using namespace pdc::tool;

static llvm::Error error(const std::string &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), "%s", message.c_str());
}

namespace {
/// Keeps the first error of a context, to be told in one line.
class FirstError {
public:
  explicit FirstError(mlir::MLIRContext &context)
      : handler(&context, [this](mlir::Diagnostic &diagnostic) {
          if (diagnostic.getSeverity() != mlir::DiagnosticSeverity::Error || !text.empty())
            return mlir::success();
          text = diagnostic.str();
          if (auto place = diagnostic.getLocation()->findInstanceOf<mlir::FileLineColLoc>())
            line = std::to_string(place.getLine()) + ":" + std::to_string(place.getColumn()) + ": ";
          return mlir::success();
        }) {}

  std::string text, line; // "3:1: "

private:
  mlir::ScopedDiagnosticHandler handler;
};
} // namespace

/// What the plan says of itself.
static llvm::Expected<pipeline::CompileOptions> optionsOf(mlir::ModuleOp plan, int64_t ranks, const std::string &cluster) {
  pipeline::CompileOptions options;
  options.ranks = ranks;
  if (auto precision = plan->getAttrOfType<mlir::StringAttr>(pipeline::kPrecisionAttr))
    options.precision = precision.str();
  if (auto optimizer = plan->getAttrOfType<mlir::StringAttr>(pipeline::kOptimizerAttr))
    options.optimizer = optimizer.str();
  if (llvm::none_of(plan.getOps<nn::StepOp>(), [](nn::StepOp step) { return step.getKind() == "train"; }))
    options.mode = pipeline::Mode::Infer;
  if (!cluster.empty()) {
    if (llvm::Error error = machine::resolveCluster(cluster, ranks).moveInto(options.cluster))
      return std::move(error);
    return options;
  }
  if (llvm::Error error = machine::getCluster(plan).moveInto(options.cluster))
    return std::move(error);
  if (options.cluster)
    if (llvm::Error error = machine::withRanks(*options.cluster, ranks).moveInto(*options.cluster))
      return std::move(error);
  return options;
}

/// Compiles a plan as far as programs.
static llvm::Expected<std::string> compilePlan(llvm::StringRef text, const std::string &path, const std::string &cluster) {
  mlir::DialectRegistry registry;
  pipeline::registerDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.printOpOnDiagnostic(false);
  FirstError first(context);
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(text, path), llvm::SMLoc());
  auto plan = pipeline::parseModule(sources, &context);
  if (!plan)
    return error(path + ": is neither an executable nor a plan (" + first.line + first.text + ")");
  if (plan->getOps<nn::StepOp>().empty())
    return error(path + ": is neither an executable nor a plan (it has no nn.step)");
  auto ranks = pipeline::ranksOfPlan(*plan);
  if (mlir::failed(ranks))
    return error(path + ":" + first.line + first.text);
  auto options = optionsOf(*plan, *ranks, cluster);
  if (!options)
    return options.takeError();
  options->plan = text.str();
  options->planName = path;
  options->workspaceBytes = [](const program::InstructionT &instruction, int threads) -> llvm::Expected<int64_t> {
    auto bytes = kernels::WorkspaceBytes(instruction, threads);
    if (bytes.ok())
      return *bytes;
    return error(std::string(bytes.status().message()));
  };
  auto compiled = pipeline::compileFrom(*plan, *options, pipeline::Phase::Plan);
  if (mlir::failed(compiled))
    return error(path + ":" + first.line + first.text);
  return std::move(compiled->payload);
}

llvm::Expected<std::string> tool::readPlan(const std::string &path, const std::string &cluster) {
  auto file = llvm::MemoryBuffer::getFile(path);
  if (!file)
    return error(path + ": " + file.getError().message());
  llvm::StringRef text = (*file)->getBuffer();
  if (text.starts_with(llvm::ELF::ElfMagic))
    return codegen::readPayloadOfExecutable(path);
  return compilePlan(text, path, cluster);
}
