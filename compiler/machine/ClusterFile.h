//===- ClusterFile.h - clusters by name or file -----------------*- C++ -*-===//
#ifndef PDC_COMPILER_MACHINE_CLUSTERFILE_H
#define PDC_COMPILER_MACHINE_CLUSTERFILE_H

#include "compiler/machine/Cluster.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace pdc::machine {

/// Reads the YAML text of a cluster file; errors are "SOURCE:LINE: key: expected ..., found ...".
llvm::Expected<Cluster> parseCluster(const std::string &text, const std::string &source);

/// The YAML text that parseCluster reads as the same cluster.
std::string writeCluster(const Cluster &cluster);

/// What --cluster says: a preset ("lassen"), with another number of nodes ("lassen:nodes=16"), or a path of a
/// cluster file, which contains a '/' or ends in .yaml ("./my.yaml:nodes=2"). `ranks` > 0 takes the first so many
/// devices (withRanks).
llvm::Expected<Cluster> resolveCluster(llvm::StringRef nameOrPath, int64_t ranks = 0);

/// Names of the presets, sorted: the files of models/clusters.
std::vector<std::string> presetNames();

/// The cluster with `count` nodes; the outermost link level between nodes takes what the others leave.
llvm::Expected<Cluster> withNodes(Cluster cluster, int64_t count);

/// The cluster with `ranks` ranks on its first devices. Where devices are cores there may be more ranks than the file
/// has devices: they share the cores.
llvm::Expected<Cluster> withRanks(Cluster cluster, int64_t ranks);

/// The machine where pdc runs, as the preset `local` describes it: ranks that are cores of one node.
Cluster local(int64_t ranks = 1);

} // namespace pdc::machine

#endif // PDC_COMPILER_MACHINE_CLUSTERFILE_H
