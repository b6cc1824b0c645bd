#include "runtime/comm/gather.h"

#include <utility>

#include "runtime/base/status.h"

namespace pdc::comm {

absl::StatusOr<std::vector<std::string>> GatherText(Communicator& communicator, const std::string& mine,
                                                    Clock::time_point deadline) {
  std::vector<std::string> texts;
  if (communicator.rank() != 0) {
    uint64_t bytes = mine.size();
    PDC_ASSIGN_OR_RETURN(std::unique_ptr<Pending> length,
                         communicator.Send(&bytes, sizeof(bytes), 0, kGatherTag));
    PDC_RETURN_IF_ERROR(length->Wait(deadline));
    PDC_ASSIGN_OR_RETURN(std::unique_ptr<Pending> text,
                         communicator.Send(mine.data(), mine.size(), 0, kGatherTag));
    PDC_RETURN_IF_ERROR(text->Wait(deadline));
    return texts;
  }
  texts.push_back(mine);
  for (int peer = 1; peer < communicator.size(); ++peer) {
    uint64_t bytes = 0;
    PDC_ASSIGN_OR_RETURN(std::unique_ptr<Pending> length,
                         communicator.Receive(&bytes, sizeof(bytes), peer, kGatherTag));
    PDC_RETURN_IF_ERROR(length->Wait(deadline));
    std::string received(bytes, '\0');
    PDC_ASSIGN_OR_RETURN(std::unique_ptr<Pending> text,
                         communicator.Receive(received.data(), received.size(), peer, kGatherTag));
    PDC_RETURN_IF_ERROR(text->Wait(deadline));
    texts.push_back(std::move(received));
  }
  return texts;
}

}  // namespace pdc::comm
