//===- pdc-opt.cpp - runs passes over a file, for development and tests ---===//

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"
#include "passes/Registration.h"
#include "tools/pdc-opt/Dialects.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  pdc::registerDialects(registry);
  pdc::registerAllPasses();
  mlir::registerTransformsPasses();
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "pdc's pass driver\n", registry));
}
