//===- PipeDreamProfile.h - PipeDream's text profiles -----------*- C++ -*-===//
//
// Lines 'ID -- DESCRIPTION -- forward_compute_time=MS, backward_compute_time=MS, activation_size=BYTES,
// parameter_size=BYTES' for nodes, where a size may be a list '[BYTES; BYTES]' that is summed, and
// '<tab>ID -- ID' for edges (msr-fiddle/pipedream, graph/graph.py).
//
//===----------------------------------------------------------------------===//
#ifndef PDC_COMPILER_PLACE_PIPEDREAMPROFILE_H
#define PDC_COMPILER_PLACE_PIPEDREAMPROFILE_H

#include "compiler/place/Dag.h"
#include "compiler/place/Placement.h"

namespace pdc::place {

struct ProfiledNode {
  std::string id, description;
  double forwardSeconds = 0, backwardSeconds = 0, activationBytes = 0, parameterBytes = 0;
};

struct PipeDreamProfile {
  std::vector<ProfiledNode> nodes; // in the file's order
  Dag dag{0};
};

/// Reads a profile; PlaceError names the line that is wrong.
PipeDreamProfile parsePipeDreamProfile(const std::string &text);

/// PipeDream's planner, solved exactly: stages over the cuts that it considers, each with its own number of
/// replicas, such that the slowest stage or transfer is as fast as possible.
///
///   stage of compute time c, parameters w, m replicas:  (c + 4 (m-1) w / (B m)) / m
///   transfer into and out of it, activations a:         2 a / (B m)
///   memory: the stage's activations and parameters, once for each mini-batch in flight behind it
///
/// The first stage's output is counted as the second one's input. Sources whose description begins with
/// 'Input' are dropped, and '__getitem__' nodes that nothing uses cost nothing.
Placement placePipeDream(const PipeDreamProfile &profile, const PlaceOptions &options);

} // namespace pdc::place

#endif // PDC_COMPILER_PLACE_PIPEDREAMPROFILE_H
