// `pdc profile`: what a launcher without a payload can do. It measures the machine that the job runs on and writes
// what it measured as JSON; pdc makes a cluster file of it (tools/pdc/ProfileCommand.cpp).
#ifndef PDC_RUNTIME_PROFILE_PROFILE_H_
#define PDC_RUNTIME_PROFILE_PROFILE_H_

#include <string>

#include "absl/status/statusor.h"
#include "runtime/comm/communicator.h"

namespace pdc::profile {

// Collective over all ranks. The JSON on rank 0, an empty text on the others:
//
//   {"communicator": "hierarchical",
//    "ranks": [{"node": 0, "host": "name", "cores": 2, "memory": bytes, "instruction": SAMPLE,
//               "memory_alone": POINT, "memory_at_once": POINT, "compute": [POINT...]}...],
//    "links": [{"kind": "all_reduce", "ranks_per_node": 2, "nodes": 1, "groups": 1,
//               "points": [{"bytes": 1024, "seconds": s, "spread": x}...]}...]}
//
// SAMPLE is {"seconds": median, "spread": half the distance of the quartiles as a share of it}; POINT adds "class",
// "precision", "call", "flops" and "bytes". Ranks that outnumber their node's cores have no compute points, ranks but
// the first of a node no "memory_alone".
absl::StatusOr<std::string> Profile(comm::Communicator& communicator, bool quick);

// profile [--quick] [--communicator=NAME]: runs the job and prints the JSON on rank 0's standard output. An exit code.
int Main(int argc, char** argv);

}  // namespace pdc::profile

#endif  // PDC_RUNTIME_PROFILE_PROFILE_H_
