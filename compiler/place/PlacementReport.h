//===- PlacementReport.h - a placement for people and programs --*- C++ -*-===//
#ifndef PDC_COMPILER_PLACE_PLACEMENTREPORT_H
#define PDC_COMPILER_PLACE_PLACEMENTREPORT_H

#include "compiler/place/Placement.h"

namespace pdc::place {

/// JSON, times in seconds: `bottleneck`, `stages` of `nodes`, `replicas` and `time`, `data_parallel` (null where
/// the model has none), and how the plan was found.
std::string toJson(const Placement &placement);
std::string toTable(const Placement &placement);

} // namespace pdc::place

#endif // PDC_COMPILER_PLACE_PLACEMENTREPORT_H
