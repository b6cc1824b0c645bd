#include "runtime/base/trace.h"

#include <cinttypes>
#include <cstdio>
#include <string>

namespace pdc {

namespace {

constexpr const char* kLaneNames[] = {"compute", "communication", "input", "checkpoint"};

std::string Quoted(std::string_view text) {
  std::string quoted = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof(escape), "\\u%04x", static_cast<unsigned>(c));
      quoted += escape;
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

std::string Metadata(const char* what, int rank, int lane, const std::string& name) {
  return "{\"ph\": \"M\", \"name\": \"" + std::string(what) + "\", \"pid\": " + std::to_string(rank) +
         ", \"tid\": " + std::to_string(lane) + ", \"args\": {\"name\": " + Quoted(name) + "}}";
}

// Microseconds, which the format counts in, to the nanosecond.
std::string Microseconds(std::chrono::nanoseconds time) {
  char text[40];
  const int64_t count = time.count() < 0 ? 0 : time.count();
  std::snprintf(text, sizeof(text), "%" PRId64 ".%03d", count / 1000, static_cast<int>(count % 1000));
  return text;
}

}  // namespace

Trace::Trace(int rank, Clock::time_point origin, size_t capacity)
    : rank_(rank), origin_(origin), capacity_(capacity) {
  events_.reserve(capacity);
}

void Trace::Add(TraceLane lane, std::string_view name, int64_t step, int32_t instruction,
                Clock::time_point begin, Clock::time_point end) {
  if (events_.size() == capacity_) {
    ++dropped_;
    return;
  }
  events_.push_back({lane, name, step, instruction, begin, end});
}

std::string Trace::Part() const {
  std::string part = Metadata("process_name", rank_, 0, "rank " + std::to_string(rank_));
  for (int lane = 0; lane < 4; ++lane) part += ",\n" + Metadata("thread_name", rank_, lane, kLaneNames[lane]);
  for (const Event& event : events_) {
    part += ",\n{\"ph\": \"X\", \"name\": " + Quoted(event.name) + ", \"pid\": " + std::to_string(rank_) +
            ", \"tid\": " + std::to_string(static_cast<int>(event.lane)) +
            ", \"ts\": " + Microseconds(event.begin - origin_) +
            ", \"dur\": " + Microseconds(event.end - event.begin) +
            ", \"args\": {\"step\": " + std::to_string(event.step) +
            ", \"instruction\": " + std::to_string(event.instruction) + "}}";
  }
  return part;
}

std::string JoinTraces(const std::vector<std::string>& parts) {
  std::string file = "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [\n";
  for (size_t i = 0; i < parts.size(); ++i) file += (i == 0 ? "" : ",\n") + parts[i];
  return file + "\n]}\n";
}

}  // namespace pdc
