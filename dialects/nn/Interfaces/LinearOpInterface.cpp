//===- LinearOpInterface.cpp - what may work on partial sums --------------===//

#include "dialects/nn/Interfaces/LinearOpInterface.h"

#include "dialects/nn/Interfaces/LinearOpInterface.cpp.inc"
