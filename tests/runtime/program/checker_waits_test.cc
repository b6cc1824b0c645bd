// Ranks that exchange messages and meet in collectives: what ends, what waits for ever, and how that is told.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "tests/runtime/program/check.h"
#include "tests/runtime/testing/program_builder.h"

namespace pdc::program {
namespace {

using testing::LinearGradient;
using testing::MakeExecutable;
using testing::ProgramBuilder;

// The all_reduce among the instructions of LinearGradient.
constexpr int kStart = 2, kDone = 3;

// Two ranks that exchange a buffer of two elements each: what rank 0 does before rank 1's mirror image of it.
ExecutableT Exchange(const std::vector<std::string>& first, const std::vector<std::string>& second,
                     int64_t received = 2) {
  std::vector<ProgramBuilder> programs;
  for (int rank : {0, 1}) {
    ProgramBuilder builder(Mode::kInfer);
    uint32_t from = builder.Buffer(BufferKind::kInput, "x", {2});
    uint32_t to = builder.Buffer(BufferKind::kOutput, "y", {rank == 1 ? received : 2});
    std::map<std::string, int32_t> starts;
    for (const std::string& what : rank == 0 ? first : second) {
      if (what == "send" || what == "receive") {
        bool send = what == "send";
        starts[what] = static_cast<int32_t>(builder.get().instructions.size());
        InstructionT& message = builder.Add(send ? Opcode::kSend : Opcode::kReceive, "", what);
        builder.Operand(message, send ? from : to, send ? Access::kRead : Access::kWrite);
        message.peer = 1 - rank;
      } else {
        builder.Done(starts[what.substr(0, what.find(' '))]);
      }
    }
    programs.push_back(builder);
  }
  ExecutableT executable = MakeExecutable({programs[0]}, 2);
  executable.programs.push_back(std::make_unique<ProgramT>(programs[1].get()));
  executable.rank_programs[1]->programs = {1};
  return executable;
}

const std::vector<std::string> kGoodExchange = {"receive", "send", "receive done", "send done"};

TEST(Checker, AcceptsRanksThatReceiveBeforeTheyWait) {
  absl::Status status = Check(Exchange(kGoodExchange, kGoodExchange));
  EXPECT_TRUE(status.ok()) << status;
}

TEST(Checker, RefusesRanksThatWaitForEachOther) {
  const std::vector<std::string> sends_first = {"send", "send done", "receive", "receive done"};
  absl::Status status = Check(Exchange(sends_first, sends_first));
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find(
                "infer program, instruction 1 (end of 0): 2 ranks wait for each other for ever: rank 0 waits at "
                "instruction 1 (end of 0) for message 0 from rank 0 to rank 1, tag 0, which rank 1 starts at "
                "instruction 2 (receive); rank 1 waits at instruction 1 (end of 0) for message 0 from rank 1 to rank "
                "0, tag 0, which rank 0 starts at instruction 2 (receive)"),
            absl::string_view::npos)
      << status;
}

TEST(Checker, RefusesAMessageThatIsReceivedInAnotherSize) {
  absl::Status status = Check(Exchange(kGoodExchange, kGoodExchange, /*received=*/3));
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find("message 0 from rank 0 to rank 1, tag 0: [2] x f32, 8 bytes are sent, [3] x f32, "
                                  "12 bytes are received at instruction 0 (receive)"),
            absl::string_view::npos)
      << status;
}

TEST(Checker, RefusesAMessageThatIsReceivedAsAnotherType) {
  ExecutableT executable = Exchange(kGoodExchange, kGoodExchange);
  ProgramT& second = *executable.programs[1];
  second.buffers[1]->element_type = ElementType::kI32;
  second.instructions[0]->operands[0]->element_type = ElementType::kI32;
  absl::Status status = Check(executable);
  EXPECT_NE(status.message().find("[2] x f32, 8 bytes are sent, [2] x i32, 8 bytes are received"),
            absl::string_view::npos)
      << status;
}

TEST(Checker, RefusesAMessageThatNobodyReceives) {
  ExecutableT executable = Exchange({"send", "send done", "receive", "receive done"}, kGoodExchange);
  executable.programs[1]->instructions[0]->tag = 1;
  executable.programs[0]->instructions[2]->tag = 1;
  absl::Status status = Check(executable);
  EXPECT_NE(status.message().find("instruction 1 (end of 0): rank 0 waits here for ever for message 0 from rank 0 to "
                                  "rank 1, tag 0, which rank 1 never receives"),
            absl::string_view::npos)
      << status;
}

TEST(Checker, RefusesAMemberThatNeverStartsACollective) {
  ExecutableT executable = MakeExecutable({LinearGradient(2), LinearGradient(2)}, 2);
  executable.rank_programs[0]->programs = {0};
  executable.rank_programs[1]->programs = {1};
  auto& instructions = executable.programs[1]->instructions;
  instructions.erase(instructions.begin() + kStart, instructions.begin() + kDone + 1);
  absl::Status status = Check(executable);
  EXPECT_NE(status.message().find("instruction 3 (end of 2): rank 0 waits here for ever for collective 0 of group "
                                  "[0,1], which rank 1 never starts"),
            absl::string_view::npos)
      << status;
}

// What a rank of Talk() does: '>' and '<' start a send to and a receive from `other`, '.' ends the last one that was
// started and not ended; '*' starts a collective of all ranks.
struct Act {
  char what;
  int other = 0;
};

// A job whose ranks do nothing but talk, each with a buffer of one element for each act.
ExecutableT Talk(const std::vector<std::vector<Act>>& ranks) {
  std::vector<ProgramBuilder> programs;
  for (const std::vector<Act>& acts : ranks) {
    ProgramBuilder builder(Mode::kInfer);
    std::vector<int> all;
    for (size_t rank = 0; rank < ranks.size(); ++rank) all.push_back(static_cast<int>(rank));
    int32_t group = builder.Group(all);
    std::vector<int32_t> open;
    for (Act act : acts) {
      if (act.what == '.') {
        builder.Done(open.back());
        open.pop_back();
        continue;
      }
      open.push_back(static_cast<int32_t>(builder.get().instructions.size()));
      if (act.what == '*') {
        uint32_t buffer = builder.Buffer(BufferKind::kParameter, "p" + std::to_string(open.back()), {1}, Segment::kShared);
        builder.StartCollective("all_reduce", buffer, group);
        continue;
      }
      bool send = act.what == '>';
      uint32_t buffer = builder.Buffer(send ? BufferKind::kInput : BufferKind::kActivation, "b", {1});
      InstructionT& message = builder.Add(send ? Opcode::kSend : Opcode::kReceive, "", send ? "send" : "receive");
      builder.Operand(message, buffer, send ? Access::kRead : Access::kWrite);
      message.peer = act.other;
    }
    programs.push_back(builder);
  }
  ExecutableT executable = MakeExecutable(programs, static_cast<int>(ranks.size()));
  for (size_t rank = 0; rank < ranks.size(); ++rank)
    executable.rank_programs[rank]->programs = {static_cast<uint32_t>(rank)};
  return executable;
}

TEST(Checker, AcceptsARingThatReceivesBeforeItWaits) {
  std::vector<std::vector<Act>> ranks;
  for (int rank = 0; rank < 5; ++rank)
    ranks.push_back({{'<', (rank + 4) % 5}, {'>', (rank + 1) % 5}, {'.'}, {'.'}, {'*'}, {'.'}});
  absl::Status status = Check(Talk(ranks));
  EXPECT_TRUE(status.ok()) << status;
}

TEST(Checker, PrintsTheSmallestOfTwoCyclesAndNotThoseWhoWaitForIt) {
  // Ranks 0, 1, 2 in a ring; 3 and 4 in another; 5 waits for 0.
  auto in_ring = [](int to, int from) {
    return std::vector<Act>{{'>', to}, {'.'}, {'<', from}, {'.'}};
  };
  std::vector<std::vector<Act>> ranks = {in_ring(1, 2), in_ring(2, 0), in_ring(0, 1), in_ring(4, 4),
                                         in_ring(3, 3), {{'<', 0}, {'.'}}};
  ranks[0].push_back({'>', 5});
  ranks[0].push_back({'.'});
  std::string message(Check(Talk(ranks)).message());
  EXPECT_NE(message.find("2 ranks wait for each other for ever: rank 3 waits at instruction 1"), std::string::npos)
      << message;
  EXPECT_EQ(message.find("rank 0"), std::string::npos) << message;
  ranks[3] = ranks[4] = {};
  message = std::string(Check(Talk(ranks)).message());
  EXPECT_NE(message.find("3 ranks wait for each other for ever: rank 0 waits at instruction 1 (end of 0) for message 0 "
                         "from rank 0 to rank 1, tag 0, which rank 1 starts at instruction 2 (receive); rank 1 waits"),
            std::string::npos)
      << message;
}

TEST(Checker, RefusesACollectiveThatWaitsForAMessageThatComesAfterIt) {
  std::vector<std::vector<Act>> ranks = {{{'*'}, {'.'}, {'>', 1}, {'.'}}, {{'<', 0}, {'.'}, {'*'}, {'.'}}};
  std::string message(Check(Talk(ranks)).message());
  EXPECT_NE(message.find("rank 0 waits at instruction 1 (end of 0) for collective 0 of group [0,1], which rank 1 starts "
                         "at instruction 2 (all_reduce of buffer 1); rank 1 waits at instruction 1 (end of 0) for "
                         "message 0 from rank 0 to rank 1, tag 0, which rank 0 starts at instruction 2 (send)"),
            std::string::npos)
      << message;
  // Started before the wait, it is no cycle.
  ranks[0] = {{'*'}, {'>', 1}, {'.'}, {'.'}};
  EXPECT_TRUE(Check(Talk(ranks)).ok()) << Check(Talk(ranks));
}

TEST(Checker, RefusesARankThatIsItsOwnPeer) {
  EXPECT_NE(Check(Talk({{{'>', 0}, {'.'}}, {}})).message().find("rank 0 is its own peer"), absl::string_view::npos);
}

TEST(Checker, TakesManyRanksAndLongProgramsThatWaitInTurns) {
  // A chain of ranks that hand on a thousand messages: each rank stops at every one of them.
  std::vector<std::vector<Act>> ranks(64);
  for (int rank = 0; rank < 64; ++rank)
    for (int i = 0; i < 1000; ++i) {
      if (rank > 0) ranks[rank].insert(ranks[rank].end(), {{'<', rank - 1}, {'.'}});
      if (rank < 63) ranks[rank].insert(ranks[rank].end(), {{'>', rank + 1}, {'.'}});
    }
  absl::Status status = Check(Talk(ranks));
  EXPECT_TRUE(status.ok()) << status;
}

TEST(Checker, RefusesMemoryOfATransferThatIsTouchedUnderAnotherName) {
  // The second buffer is to live where the first one did, but the send of the first is not over yet.
  ExecutableT executable = Exchange({"send", "receive", "receive done", "send done"}, kGoodExchange);
  ProgramT& program = *executable.programs[0];
  program.buffers[1]->offset = program.buffers[0]->offset;
  program.buffers[1]->first_use = 1;
  program.buffers[0]->last_use = 0;
  EXPECT_NE(Check(executable).message().find("instruction 3 (end of 0): uses buffer 0 (input x), which is live from "
                                             "instruction -1 to 0"),
            absl::string_view::npos);
  program.buffers[0]->last_use = 3;
  EXPECT_NE(Check(executable).message().find("in memory while both are live at instruction 1"),
            absl::string_view::npos);
}

}  // namespace
}  // namespace pdc::program
