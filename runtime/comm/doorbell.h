// How a thread sleeps until another thread, of this or another process, has news for it.
#ifndef PDC_RUNTIME_COMM_DOORBELL_H_
#define PDC_RUNTIME_COMM_DOORBELL_H_

#include <atomic>
#include <chrono>
#include <cstdint>

namespace pdc::comm {

// A counter that sleepers watch (a Linux futex). All-zero memory is a valid doorbell, so that it may lie in
// memory that processes share. The pattern that misses no ring:
//
//   uint32_t ticket = bell.Ticket();
//   if (!there_is_news()) bell.Sleep(ticket, at_most);   // returns at once when it rang since Ticket()
//
// Ringing makes a system call only while somebody sleeps.
struct Doorbell {
  std::atomic<uint32_t> rings{0};
  std::atomic<uint32_t> sleepers{0};

  uint32_t Ticket() const { return rings.load(std::memory_order_seq_cst); }
  void Ring();
  void Sleep(uint32_t ticket, std::chrono::nanoseconds at_most);
};
static_assert(std::atomic<uint32_t>::is_always_lock_free, "doorbells lie in memory that processes share");

}  // namespace pdc::comm

#endif  // PDC_RUNTIME_COMM_DOORBELL_H_
