//===- ChromeTrace.cpp - simulated time lines as Chrome traces ------------===//

#include "compiler/simulate/Simulation.h"
#include "nlohmann/json.hpp"
#include <set>

using namespace pdc;
using namespace pdc::simulate;

std::string pdc::simulate::toChromeTrace(const Simulation &simulation) {
  using nlohmann::ordered_json;
  ordered_json events = ordered_json::array();
  auto name = [&](const char *what, int rank, int thread, const std::string &text) {
    events.push_back(
        {{"name", what}, {"ph", "M"}, {"pid", rank}, {"tid", thread}, {"args", {{"name", text}}}});
  };
  int ranks = static_cast<int>(simulation.busySeconds.size());
  // Thread 0 computes; thread 1 + r is the link to rank r.
  std::set<std::pair<int, int>> links;
  for (const Event &event : simulation.events)
    if (event.operation.kind == Operation::Kind::Send)
      links.insert({event.rank, event.operation.peer});
  for (int rank = 0; rank < ranks; ++rank) {
    name("process_name", rank, 0, "rank " + std::to_string(rank));
    name("thread_name", rank, 0, "compute");
  }
  for (const auto &[rank, peer] : links)
    name("thread_name", rank, 1 + peer, "link to rank " + std::to_string(peer));
  for (const Event &event : simulation.events) {
    bool isSend = event.operation.kind == Operation::Kind::Send;
    events.push_back({{"name", toString(event.operation)},
                      {"ph", "X"},
                      {"pid", event.rank},
                      {"tid", isSend ? 1 + event.operation.peer : 0},
                      {"ts", event.begin * 1e6},
                      {"dur", (event.end - event.begin) * 1e6}});
  }
  return ordered_json{{"displayTimeUnit", "ms"}, {"traceEvents", std::move(events)}}.dump(1);
}
