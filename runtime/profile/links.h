// Measures messages and collectives as executables use them: through the communicator of the job.
#ifndef PDC_RUNTIME_PROFILE_LINKS_H_
#define PDC_RUNTIME_PROFILE_LINKS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/comm/communicator.h"
#include "runtime/profile/sample.h"

namespace pdc::profile {

struct LinkPoint {
  double bytes;  // as cluster files count them, see LinkMeasurement::kind
  Sample sample;
  double work = 0;  // of a rank's processor, the share of the time that the rank with most of it worked
};

// One kind of communication over one shape of groups.
struct LinkMeasurement {
  // all_reduce, broadcast, reduce_scatter, all_to_all: bytes of a rank's operand; all_gather: of the result;
  // point_to_point: of a message one way; exchange: of the messages that two ranks send each other at once.
  std::string kind;
  int ranks_per_node = 1;  // members of a group on each of its nodes
  int nodes = 1;
  int groups = 1;  // busy at once
  std::vector<LinkPoint> points;
};

// Collective over all ranks, which all get the result. Group shapes: all ranks; the ranks of a node, on all nodes at
// once; one rank of each node, all such groups at once. Messages: inside a node, and between two.
absl::StatusOr<std::vector<LinkMeasurement>> MeasureLinks(comm::Communicator& communicator, bool quick);

}  // namespace pdc::profile

#endif  // PDC_RUNTIME_PROFILE_LINKS_H_
