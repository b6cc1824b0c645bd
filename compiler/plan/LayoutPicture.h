//===- LayoutPicture.h - how a tensor lies on the mesh, drawn ---*- C++ -*-===//
//
//   fc1.weight: model 8 x hidden 16, hidden split over tensor (2 parts)
//   mesh data=2 tensor=2; each part is held by 2 ranks
//
//                hidden
//                0..7     8..15
//               +--------+--------+
//   model 0..7  | 0 2    | 1 3    |
//               +--------+--------+
//
//===----------------------------------------------------------------------===//
#ifndef PDC_COMPILER_PLAN_LAYOUTPICTURE_H
#define PDC_COMPILER_PLAN_LAYOUTPICTURE_H

#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include <string>

namespace pdc::plan {

/// Draws which ranks hold which part of a parameter, state, input or optimizer state ("optimizer.m.fc1.weight") of a plan's
/// report. Of more than two dimensions
/// that are split, the last two are drawn, once for each part of the others; of many parts the first and the last. An
/// error where the report has no such tensor, with the names that are like it.
llvm::Expected<std::string> drawLayout(const llvm::json::Object &report, llvm::StringRef value);

} // namespace pdc::plan

#endif // PDC_COMPILER_PLAN_LAYOUTPICTURE_H
