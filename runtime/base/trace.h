// What a rank did when, as Chrome trace JSON, which Perfetto (https://ui.perfetto.dev) opens. The format is
// described in "Trace Event Format" by Google; here: a process per rank, a thread per lane, complete events
// ("ph": "X").
#ifndef PDC_RUNTIME_BASE_TRACE_H_
#define PDC_RUNTIME_BASE_TRACE_H_

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pdc {

enum class TraceLane { kCompute, kCommunication, kInput, kCheckpoint };

// The events of one rank. Not thread-safe. Adding allocates nothing.
class Trace {
 public:
  using Clock = std::chrono::steady_clock;

  // `origin` is time 0 of the trace: what ranks read on their clocks when they leave the same barrier, since
  // the clocks of nodes differ. Events after the first `capacity` ones are counted and dropped.
  Trace(int rank, Clock::time_point origin, size_t capacity);

  // `name` must stay valid as long as the trace.
  void Add(TraceLane lane, std::string_view name, int64_t step, int32_t instruction, Clock::time_point begin,
           Clock::time_point end);

  size_t events() const { return events_.size(); }
  size_t dropped() const { return dropped_; }

  // This rank's part of a trace: pass the parts of all ranks to JoinTraces().
  std::string Part() const;

 private:
  struct Event {
    TraceLane lane;
    std::string_view name;
    int64_t step;
    int32_t instruction;
    Clock::time_point begin, end;
  };

  const int rank_;
  const Clock::time_point origin_;
  std::vector<Event> events_;
  const size_t capacity_;
  size_t dropped_ = 0;
};

// The whole file.
std::string JoinTraces(const std::vector<std::string>& parts);

}  // namespace pdc

#endif  // PDC_RUNTIME_BASE_TRACE_H_
