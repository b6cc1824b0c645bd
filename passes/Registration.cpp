//===- Registration.cpp - every pass of this project ----------------------===//
//
// One line for each folder of passes/.
//
//===----------------------------------------------------------------------===//

#include "passes/Registration.h"

void pdc::registerAllPasses() {}
