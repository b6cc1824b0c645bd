//===- ProfileResult.h - from measurements to a cluster ---------*- C++ -*-===//
#ifndef PDC_TOOLS_PDC_PROFILERESULT_H
#define PDC_TOOLS_PDC_PROFILERESULT_H

#include "compiler/machine/Cluster.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>

namespace pdc::tool {

/// The cluster that a job measured; `json` is described in runtime/profile/profile.h.
///
/// Every rank is a device, a core of its node's processor. Rates are medians over the ranks: the peak of a
/// precision is the best rate that any call reached, efficiencies are shares of it (of the memory bandwidth of a rank
/// alone, for work that memory limits) without the fixed cost of an instruction. Link levels are fitted to
/// messages and, in shared memory, to the all_reduce; the measured collectives stand beside them.
llvm::Expected<machine::Cluster> clusterOfProfile(llvm::StringRef json, const std::string &name);

} // namespace pdc::tool

#endif // PDC_TOOLS_PDC_PROFILERESULT_H
