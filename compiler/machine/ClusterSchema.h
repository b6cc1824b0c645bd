//===- ClusterSchema.h - the keys of a cluster description ------*- C++ -*-===//
#ifndef PDC_COMPILER_MACHINE_CLUSTERSCHEMA_H
#define PDC_COMPILER_MACHINE_CLUSTERSCHEMA_H

#include "compiler/machine/Cluster.h"
#include "compiler/machine/Description.h"
#include "llvm/Support/Error.h"

namespace pdc::machine {

/// Reads and checks a cluster. Errors start with "SOURCE:LINE: " where the description has lines.
llvm::Expected<Cluster> readCluster(const Description &description, const std::string &source);

/// What readCluster reads as the same cluster.
Description describeCluster(const Cluster &cluster);

} // namespace pdc::machine

#endif // PDC_COMPILER_MACHINE_CLUSTERSCHEMA_H
