//===- LayoutRule.h - what --layout says ------------------------*- C++ -*-===//
#ifndef PDC_COMPILER_PLAN_SEARCH_LAYOUTRULE_H
#define PDC_COMPILER_PLAN_SEARCH_LAYOUTRULE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace pdc::plan {

/// A Mesh-TensorFlow layout rule (Shazeer et al. 2018): dimensions of this name are split over this mesh axis.
struct LayoutRule {
  std::string dimension, axis;
};

/// Reads "heads:tensor,batch:data". Errors: a pair without ':', an empty name, a dimension that stands twice.
llvm::Expected<std::vector<LayoutRule>> parseLayoutRules(llvm::StringRef text);

} // namespace pdc::plan

#endif // PDC_COMPILER_PLAN_SEARCH_LAYOUTRULE_H
