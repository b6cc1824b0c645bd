#include "runtime/base/trace.h"

#include <gtest/gtest.h>

#include <chrono>
#include <nlohmann/json.hpp>

namespace pdc {
namespace {

using std::chrono::microseconds;
using std::chrono::nanoseconds;

TEST(TraceTest, PartsOfAllRanksJoinToOneJsonFileWithAProcessPerRank) {
  const Trace::Clock::time_point origin{};
  Trace first(0, origin, 10);
  Trace second(1, origin, 10);
  first.Add(TraceLane::kCompute, "fc1 \"matmul\"\n", 2, 7, origin + microseconds(1500),
            origin + nanoseconds(1501250));
  second.Add(TraceLane::kCommunication, "bucket 0 all_reduce", 2, 8, origin + microseconds(3),
             origin + microseconds(5));
  const nlohmann::json file = nlohmann::json::parse(JoinTraces({first.Part(), second.Part()}));
  std::vector<nlohmann::json> events;
  for (const auto& event : file["traceEvents"]) {
    if (event["ph"] == "X") events.push_back(event);
  }
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0]["name"], "fc1 \"matmul\"\n");
  EXPECT_EQ(events[0]["pid"], 0);
  EXPECT_EQ(events[0]["tid"], 0);
  EXPECT_EQ(events[0]["ts"], 1500.0);
  EXPECT_EQ(events[0]["dur"], 1.25);
  EXPECT_EQ(events[0]["args"]["step"], 2);
  EXPECT_EQ(events[0]["args"]["instruction"], 7);
  EXPECT_EQ(events[1]["pid"], 1);
  EXPECT_EQ(events[1]["tid"], 1);
}

TEST(TraceTest, EventsBeyondTheCapacityAreCountedAndDropped) {
  Trace trace(0, {}, 1);
  trace.Add(TraceLane::kCompute, "a", 1, 0, {}, {});
  trace.Add(TraceLane::kCompute, "b", 1, 1, {}, {});
  EXPECT_EQ(trace.events(), 1u);
  EXPECT_EQ(trace.dropped(), 1u);
}

}  // namespace
}  // namespace pdc
