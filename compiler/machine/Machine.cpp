//===- Machine.cpp - the devices and links a plan is made for -------------===//

#include "compiler/machine/Machine.h"

pdc::machine::Machine pdc::machine::local() {
  return {/*name=*/"local",
          /*flopsPerSecond=*/180e9,
          /*bf16FlopsPerSecond=*/360e9,
          /*memoryBytesPerSecond=*/30e9,
          /*instructionSeconds=*/2e-6,
          /*linkBytesPerSecond=*/15e9,
          /*linkLatencySeconds=*/10e-6};
}
