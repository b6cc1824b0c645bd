#include "runtime/comm/doorbell.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <ctime>

namespace pdc::comm {

void Doorbell::Ring() {
  // Sequentially consistent with Sleep(): either the ringer sees the sleeper, or the sleeper sees the ring.
  rings.fetch_add(1, std::memory_order_seq_cst);
  if (sleepers.load(std::memory_order_seq_cst) == 0) return;
  syscall(SYS_futex, &rings, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void Doorbell::Sleep(uint32_t ticket, std::chrono::nanoseconds at_most) {
  if (at_most.count() <= 0) return;
  sleepers.fetch_add(1, std::memory_order_seq_cst);
  timespec timeout;
  timeout.tv_sec = static_cast<time_t>(at_most.count() / 1000000000);
  timeout.tv_nsec = static_cast<long>(at_most.count() % 1000000000);
  syscall(SYS_futex, &rings, FUTEX_WAIT, ticket, &timeout, nullptr, 0);
  sleepers.fetch_sub(1, std::memory_order_seq_cst);
}

}  // namespace pdc::comm
