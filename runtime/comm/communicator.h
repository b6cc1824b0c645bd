// Communication between the ranks of a job.
//
// A Communicator belongs to one rank. Every operation is collective over a `Group` of ranks, is started in one
// order by all members, and works in place on memory that came from AllocateShared() (peers on the same node may
// read it directly) unless its description says otherwise. Reductions add contributions in the order of the group's
// ranks (hierarchical/: those of one node first), so that a result does not depend on timing: two runs give the same
// bits.
//
// Nothing here waits for ever: Wait() takes a deadline, and a wait that misses it returns DEADLINE_EXCEEDED with a
// message that names the ranks that did not arrive, the position they last reported, and the position waited for.
// The first failure (a missed deadline, an abort by a peer, different operations on different ranks) is final: all
// operations in flight and all later ones fail with the same status, and the job is to be ended by Abort().
//
// Operations of one group run in the order in which they were started; different groups do not wait for each other,
// nor do messages wait for collectives. One thread of a rank starts operations; any thread may wait.
#ifndef PDC_RUNTIME_COMM_COMMUNICATOR_H_
#define PDC_RUNTIME_COMM_COMMUNICATOR_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/program/program_generated.h"

namespace pdc::comm {

using program::ElementType;
using program::ReduceOp;
using Clock = std::chrono::steady_clock;

// Of messages: MPI promises tags of 31 bits, and one bit is a transport's own.
inline constexpr int kMostTag = (1 << 30) - 1;

// Where a rank is in its program: for error messages, published to peers by SetPosition().
struct Position {
  int64_t step = -1;
  int32_t instruction = -1;
};

// Ranks that take part, in reduction order; made once, by all members in one order, by CreateGroup().
class Group {
 public:
  virtual ~Group() = default;
  virtual const std::vector<int>& ranks() const = 0;
  // This rank's index in ranks().
  virtual int index() const = 0;
};

// A started operation. Destroying one before Wait() succeeded is an error of the caller: the operation goes on, in
// memory that must stay. Not to be used after its communicator was destroyed.
class Pending {
 public:
  virtual ~Pending() = default;
  virtual absl::Status Wait(Clock::time_point deadline) = 0;
};

class Communicator {
 public:
  virtual ~Communicator() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  // "mpi", "shared_memory", "hierarchical", "inprocess".
  virtual std::string name() const = 0;
  // The node of a rank of the job; nodes are counted from 0 in the order of their first ranks.
  virtual int node(int /*rank*/) const { return 0; }

  // Zeroed memory on huge pages where the system has them, aligned to 4096 bytes, owned by the communicator.
  // Collective over all ranks; ranks may ask for different sizes.
  virtual absl::StatusOr<void*> AllocateShared(size_t bytes) = 0;

  // Collective over `ranks`. Groups may be destroyed before or after the communicator, but not used after it.
  virtual absl::StatusOr<std::unique_ptr<Group>> CreateGroup(std::vector<int> ranks) = 0;

  // Cheap (no system call, no message): called before each instruction.
  virtual void SetPosition(Position position) = 0;

  // data[0..count) := reduction over the group of data[0..count), on all members. bf16 and f16 add in f32 and round
  // once; the sum of i1 is not defined.
  virtual absl::StatusOr<std::unique_ptr<Pending>> AllReduce(Group& group, void* data, int64_t count,
                                                             ElementType type, ReduceOp op) = 0;
  // Member i contributes counts[i] elements at `data + sum(counts[0..i))`; afterwards all members hold all.
  virtual absl::StatusOr<std::unique_ptr<Pending>> AllGather(Group& group, void* data,
                                                             const std::vector<int64_t>& counts,
                                                             ElementType type) = 0;
  // `data` holds sum(counts) elements; afterwards member i's counts[i] elements at their place are the reduction,
  // the other elements are unspecified.
  virtual absl::StatusOr<std::unique_ptr<Pending>> ReduceScatter(Group& group, void* data,
                                                                 const std::vector<int64_t>& counts,
                                                                 ElementType type, ReduceOp op) = 0;
  // Block j of `send` (count elements each) goes to member j's block index() of `receive`. Not in place.
  virtual absl::StatusOr<std::unique_ptr<Pending>> AllToAll(Group& group, const void* send, void* receive,
                                                            int64_t count, ElementType type) = 0;
  // Member `root`'s (an index in the group) data goes to all.
  virtual absl::StatusOr<std::unique_ptr<Pending>> Broadcast(Group& group, void* data, int64_t count,
                                                             ElementType type, int root) = 0;
  // Point to point, by global rank; messages of one (sender, receiver, tag) arrive in order; tags are from 0 to
  // kMostTag. Any memory. A send may be done only when the receiver has started its receive, and both have the same `bytes`.
  virtual absl::StatusOr<std::unique_ptr<Pending>> Send(const void* data, size_t bytes, int peer,
                                                        int tag) = 0;
  virtual absl::StatusOr<std::unique_ptr<Pending>> Receive(void* data, size_t bytes, int peer, int tag) = 0;

  virtual absl::Status Barrier(Clock::time_point deadline) = 0;

  // Ends the job on all ranks without waiting for any: waits of peers on this node fail with ABORTED and this reason,
  // and under mpiexec all processes, this one included, are ended by MPI_Abort with exit code 1 after the reason was
  // written to standard error (by the rank that failed, not by those that only heard of it). Only ranks of one process (in-process) return from it.
  virtual void Abort(const absl::Status& why) = 0;
};

}  // namespace pdc::comm

#endif  // PDC_RUNTIME_COMM_COMMUNICATOR_H_
