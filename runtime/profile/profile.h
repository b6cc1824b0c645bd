// `pdc profile`: what a launcher without a payload can do. It measures the machine that the job runs on and writes
// what it measured as JSON; pdc makes a cluster file of it (tools/pdc/ProfileCommand.cpp).
#ifndef PDC_RUNTIME_PROFILE_PROFILE_H_
#define PDC_RUNTIME_PROFILE_PROFILE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/comm/communicator.h"

namespace pdc::profile {

struct Options {
  bool quick = false;                    // fewer sizes and repetitions
  std::vector<std::string> executables;  // files, whose instructions are measured too
};

// Collective over all ranks. The JSON on rank 0, an empty text on the others:
//
//   {"communicator": "hierarchical",
//    "ranks": [{"node": 0, "host": "name", "cores": 2, "memory": bytes, "instruction": SAMPLE,
//               "memory_alone": POINT, "memory_at_once": POINT, "moves_alone": [POINT...], "moves": [POINT...],
//               "compute": [POINT...], "calls": [{"call": NAME, "seconds": s, "spread": x}...]}...],
//    "links": [{"kind": "all_reduce", "ranks_per_node": 2, "nodes": 1, "groups": 1,
//               "points": [{"bytes": 1024, "seconds": s, "spread": x, "work": share}...]}...]}
//
// SAMPLE is {"seconds": median, "spread": half the distance of the quartiles as a share of it}; POINT adds "class",
// "precision", "call", "flops" and "bytes". "moves" and "compute" are measured on all ranks at once. Ranks that outnumber
// their node's cores have none of them; "memory_alone" and "moves_alone" are of the first rank of a node while the others
// do nothing, and the latter only where there are others. "calls" are those of the executables: the ranks of
// each node share out all of an executable's ranks.
absl::StatusOr<std::string> Profile(comm::Communicator& communicator, const Options& options);

// profile [--quick] [--communicator=NAME] [--executable=FILE]...: runs the job and prints the JSON on rank 0's standard output. An exit code.
int Main(int argc, char** argv);

}  // namespace pdc::profile

#endif  // PDC_RUNTIME_PROFILE_PROFILE_H_
