// A communicator whose ranks can all read and write each other's memory: see node_transport.h.
#ifndef PDC_RUNTIME_COMM_INTRANODE_INTRANODE_COMMUNICATOR_H_
#define PDC_RUNTIME_COMM_INTRANODE_INTRANODE_COMMUNICATOR_H_

#include <memory>
#include <string>
#include <vector>

#include "runtime/comm/async_communicator.h"
#include "runtime/comm/intranode/control_block.h"
#include "runtime/comm/intranode/node_transport.h"

namespace pdc::comm {

class IntranodeCommunicator : public AsyncCommunicator {
 public:
  absl::StatusOr<std::unique_ptr<Group>> CreateGroup(std::vector<int> ranks) final;
  void Abort(const absl::Status& why) override { node_.Abort(why); }

 protected:
  // `memory` outlives the communication thread.
  IntranodeCommunicator(int rank, int size, ControlBlock block, NodeMemory* memory);

  // Creates the group of all ranks and starts the communication thread.
  absl::Status Begin();

  const NodeTransport& transport() const { return node_; }

  absl::StatusOr<Progress> Step(Operation& operation) final;
  absl::Status Service() final { return node_.Service(); }
  absl::Status CheckMemory(const Operation& operation) final { return node_.CheckMemory(operation); }
  std::string DescribeMissing(Operation& operation) final;

 private:
  NodeTransport node_;
};

}  // namespace pdc::comm

#endif  // PDC_RUNTIME_COMM_INTRANODE_INTRANODE_COMMUNICATOR_H_
