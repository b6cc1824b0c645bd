//===- LinearOpInterface.h - what may work on partial sums ------*- C++ -*-===//
#ifndef PDC_DIALECTS_NN_INTERFACES_LINEAROPINTERFACE_H
#define PDC_DIALECTS_NN_INTERFACES_LINEAROPINTERFACE_H

#include "mlir/IR/OpDefinition.h"
#include "llvm/ADT/SmallBitVector.h"

#include "dialects/nn/Interfaces/LinearOpInterface.h.inc"

#endif // PDC_DIALECTS_NN_INTERFACES_LINEAROPINTERFACE_H
