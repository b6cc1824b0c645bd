// A device and a communicator that see corruption: zones with a pattern before and behind every arena, and after each
// instruction a comparison of all memory that it had no business with.
#ifndef PDC_TESTS_FUZZ_WATCHED_RANK_H_
#define PDC_TESTS_FUZZ_WATCHED_RANK_H_

#include <memory>
#include <string>

#include "runtime/comm/communicator.h"
#include "runtime/device/device.h"

namespace pdc::fuzz {

class WatchedRank {
 public:
  // Both must outlive it.
  WatchedRank(device::Device& device, comm::Communicator& communicator);
  ~WatchedRank();

  device::Device& device();
  comm::Communicator& communicator();

  // What was written that should not have been; empty if nothing was.
  std::string Corruption() const;

 private:
  struct State;
  class WatchedDevice;
  class WatchedCommunicator;
  std::unique_ptr<State> state_;
  std::unique_ptr<WatchedDevice> device_;
  std::unique_ptr<WatchedCommunicator> communicator_;
};

}  // namespace pdc::fuzz

#endif  // PDC_TESTS_FUZZ_WATCHED_RANK_H_
