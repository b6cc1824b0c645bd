//===- Registration.cpp - every pass of this project ----------------------===//
//
// One line for each folder of passes/.
//
//===----------------------------------------------------------------------===//

#include "passes/Registration.h"
#include "passes/autodiff/AutodiffPass.h"
#include "passes/decompose/DecomposePass.h"
#include "passes/precision/PrecisionPass.h"
#include "passes/specialize/SpecializePass.h"
#include "passes/verify/VerifyPasses.h"

void pdc::registerAllPasses() {
  passes::registerAutodiffPasses();
  passes::registerDecomposePasses();
  passes::registerPrecisionPasses();
  passes::registerSpecializePasses();
  passes::registerVerifyPasses();
}
