//===- pdc-lsp-server.cpp - the language server for editors ---------------===//

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Support/LogicalResult.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"
#include "tools/pdc-opt/Dialects.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  pdc::registerDialects(registry);
  return mlir::failed(mlir::MlirLspServerMain(argc, argv, registry));
}
