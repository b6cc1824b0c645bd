//===- CommunicationRow.h - why a plan communicates -------------*- C++ -*-===//
#ifndef PDC_COMPILER_PLAN_COMMUNICATIONROW_H
#define PDC_COMPILER_PLAN_COMMUNICATIONROW_H

#include <cstdint>
#include <string>
#include <vector>

namespace pdc::plan {

/// One collective, or exchange with neighbours, that a plan asks for.
struct CommunicationRow {
  std::string kind;              // "all_reduce", ..., "halo_exchange"
  std::vector<std::string> axes; // of the mesh, along which ranks communicate
  int64_t bytes = 0;  // that a rank contributes; of an all_gather, that it gets; of a halo exchange too
  double seconds = 0; // alone on the links
  std::string cause;  // what made the value: "layer0.fc linear", "parameter wte.weight"
  std::string why;    // "gives [-, -] partial over tensor; layer0.norm layer_norm wants whole"
};

} // namespace pdc::plan

#endif // PDC_COMPILER_PLAN_COMMUNICATIONROW_H
