#include "runtime/exec/session.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "runtime/comm/inprocess/world.h"
#include "runtime/device/cpu/cpu_device.h"
#include "tests/runtime/testing/program_builder.h"

namespace {

// Allocations of this thread by operator new, while counted.
thread_local int64_t allocations = 0;

}  // namespace

void* operator new(size_t bytes) {
  ++allocations;
  if (void* memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
  std::abort();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace pdc::exec {
namespace {

using program::Access;
using program::BufferKind;
using program::Mode;
using program::Opcode;
using program::Segment;
using testing::LinearGradient;
using testing::MakeExecutable;
using testing::MakePayload;
using testing::ProgramBuilder;

// Runs `body(rank's session)` on each rank of a job, in threads, and returns each rank's status.
template <typename Body>
std::vector<absl::Status> RunJob(int ranks, const std::vector<std::string>& payloads, Body body,
                                 std::chrono::milliseconds timeout = std::chrono::seconds(30)) {
  auto world = comm::CreateInProcessWorld(ranks);
  EXPECT_TRUE(world.ok()) << world.status();
  std::vector<absl::Status> statuses(ranks);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      std::unique_ptr<device::Device> device = device::CreateCpuDevice(1);
      auto session =
          Session::Create(payloads[rank % payloads.size()], *device, *(*world)[rank], {timeout, {}});
      statuses[rank] = session.ok() ? body(**session, rank) : session.status();
    });
  }
  for (std::thread& thread : threads) thread.join();
  return statuses;
}

float* Floats(const BufferView& view) { return reinterpret_cast<float*>(view.data); }

// Rank r's x is r + 1 times a fixed matrix, so the gradient is the sum of (r + 1)^2 times that of one.
void WriteInputs(Session& session, Mode mode, int rank) {
  float* w = Floats(session.buffers(mode, BufferKind::kParameter)[0]);
  for (int i = 0; i < 8; ++i) w[i] = static_cast<float>(i % 3 - 1);
  float* x = Floats(session.buffers(mode, BufferKind::kInput)[0]);
  for (int i = 0; i < 12; ++i) x[i] = static_cast<float>((i % 5 - 2) * (rank + 1));
}

std::vector<float> Gradient(Session& session, Mode mode) {
  float* g = Floats(session.buffers(mode, BufferKind::kOutput)[0]);
  return std::vector<float>(g, g + 8);
}

std::vector<float> ExpectedGradient(int ranks) {
  std::vector<float> gradient(8, 0);
  for (int rank = 0; rank < ranks; ++rank) {
    float x[12], y[6] = {};
    for (int i = 0; i < 12; ++i) x[i] = static_cast<float>((i % 5 - 2) * (rank + 1));
    for (int i = 0; i < 3; ++i) {
      for (int j = 0; j < 2; ++j) {
        for (int k = 0; k < 4; ++k) y[i * 2 + j] += x[i * 4 + k] * static_cast<float>((k * 2 + j) % 3 - 1);
      }
    }
    for (int i = 0; i < 4; ++i) {
      for (int j = 0; j < 2; ++j) {
        for (int k = 0; k < 3; ++k) gradient[i * 2 + j] += x[k * 4 + i] * y[k * 2 + j];
      }
    }
  }
  return gradient;
}

TEST(Session, RunsADataParallelProgramOnEveryNumberOfRanks) {
  for (int ranks : {1, 2, 3}) {
    std::string payload = MakePayload(MakeExecutable({LinearGradient(ranks)}, ranks));
    std::vector<std::vector<float>> gradients(ranks);
    auto statuses = RunJob(ranks, {payload}, [&](Session& session, int rank) {
      WriteInputs(session, Mode::kGradient, rank);
      for (int64_t step = 1; step <= 3; ++step) {
        absl::Status status = session.Run(Mode::kGradient, step);
        if (!status.ok()) return status;
      }
      gradients[rank] = Gradient(session, Mode::kGradient);
      return absl::OkStatus();
    });
    for (int rank = 0; rank < ranks; ++rank) {
      EXPECT_TRUE(statuses[rank].ok()) << statuses[rank];
      EXPECT_EQ(gradients[rank], ExpectedGradient(ranks)) << "rank " << rank << " of " << ranks;
    }
  }
}

// The input is written when the second instruction begins, into memory that others may have before.
ProgramBuilder LateInput() {
  ProgramBuilder builder = LinearGradient(1);
  auto& program = builder.get();
  auto first = std::make_unique<program::InstructionT>();
  first->opcode = program::Opcode::kFill;
  first->operands.push_back(std::make_unique<program::OperandT>(*program.instructions[4]->operands[1]));
  first->operands[0]->access = program::Access::kWrite;
  program.instructions.insert(program.instructions.begin(), std::move(first));
  for (auto& instruction : program.instructions)
    if (instruction->start_index >= 0) ++instruction->start_index;
  program.buffers[1]->first_use = 1;
  return builder;
}

TEST(Session, WritesAnInputWhereItIsUsedFirst) {
  std::string payload = MakePayload(MakeExecutable({LateInput()}, 1));
  std::vector<std::string> order;
  std::vector<float> gradient;
  auto statuses = RunJob(1, {payload}, [&](Session& session, int) {
    WriteInputs(session, Mode::kGradient, 0);
    float* x = Floats(session.buffers(Mode::kGradient, BufferKind::kInput)[0]);
    std::vector<float> values(x, x + 12);
    std::memset(x, 0, 12 * sizeof(float));
    session.set_trace([&](const InstructionEvent& event) { order.push_back(std::to_string(event.instruction)); });
    absl::Status status = session.Run(Mode::kGradient, 1, [&](size_t input, std::byte* destination) {
      EXPECT_EQ(input, 0u);
      order.push_back("x");
      std::memcpy(destination, values.data(), 12 * sizeof(float));
      return absl::OkStatus();
    });
    gradient = Gradient(session, Mode::kGradient);
    return status;
  });
  EXPECT_TRUE(statuses[0].ok()) << statuses[0];
  EXPECT_EQ(order, (std::vector<std::string>{"0", "x", "1", "2", "3", "4", "5"}));
  EXPECT_EQ(gradient, ExpectedGradient(1));
}

TEST(Session, SaysThatAnInputIsWrittenWhileTheProgramRuns) {
  std::string payload = MakePayload(MakeExecutable({LateInput()}, 1));
  auto statuses = RunJob(1, {payload}, [&](Session& session, int) { return session.Run(Mode::kGradient, 1); });
  EXPECT_EQ(statuses[0].code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(statuses[0].message().find("input 0 of the program is written while it runs, before instruction 1"),
            absl::string_view::npos)
      << statuses[0];
}

TEST(Session, PassesOnThatAnInputCannotBeRead) {
  std::string payload = MakePayload(MakeExecutable({LateInput()}, 1));
  auto statuses = RunJob(1, {payload}, [&](Session& session, int) {
    return session.Run(Mode::kGradient, 1, [](size_t, std::byte*) { return absl::DataLossError("sample 7 is damaged"); });
  });
  EXPECT_EQ(statuses[0], absl::DataLossError("sample 7 is damaged"));
}

TEST(Session, AllocatesNothingAfterTheFirstStep) {
  std::string payload = MakePayload(MakeExecutable({LinearGradient(2)}, 2));
  std::vector<int64_t> counts(2, -1);
  auto statuses = RunJob(2, {payload}, [&](Session& session, int rank) {
    WriteInputs(session, Mode::kGradient, rank);
    absl::Status status;
    for (int64_t step = 1; step <= 3 && status.ok(); ++step) status = session.Run(Mode::kGradient, step);
    int64_t before = allocations;
    for (int64_t step = 4; step <= 8 && status.ok(); ++step) status = session.Run(Mode::kGradient, step);
    counts[rank] = allocations - before;
    return status;
  });
  for (const absl::Status& status : statuses) EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(counts, (std::vector<int64_t>{0, 0}));
}

TEST(Session, KeepsParametersInOnePlaceForAllModesButTheReference) {
  std::string payload = MakePayload(MakeExecutable(
      {LinearGradient(1), LinearGradient(1, Mode::kTrain), LinearGradient(1, Mode::kReferenceGradient)}, 1));
  auto statuses = RunJob(1, {payload}, [&](Session& session, int rank) {
    auto place = [&](Mode mode) { return session.buffers(mode, BufferKind::kParameter)[0].data; };
    EXPECT_EQ(place(Mode::kGradient), place(Mode::kTrain));
    EXPECT_NE(place(Mode::kGradient), place(Mode::kReferenceGradient));
    WriteInputs(session, Mode::kReferenceGradient, 0);
    absl::Status status = session.Run(Mode::kReferenceGradient, 1);
    EXPECT_EQ(Gradient(session, Mode::kReferenceGradient), ExpectedGradient(1));
    return status;
  });
  EXPECT_TRUE(statuses[0].ok()) << statuses[0];
}

// output := constant, at one offset per mode, so that the modes overwrite each other's constants.
ProgramBuilder CopyConstant(Mode mode, bool output_first) {
  ProgramBuilder builder(mode);
  uint32_t constant, output;
  if (output_first) {
    output = builder.Buffer(BufferKind::kOutput, "y", {2});
    constant = builder.Constant({5, 6});
  } else {
    constant = builder.Constant({3, 4});
    output = builder.Buffer(BufferKind::kOutput, "y", {2});
  }
  program::InstructionT& copy = builder.Add(Opcode::kCopy, "", "copy");
  builder.Operand(copy, constant, Access::kRead);
  builder.Operand(copy, output, Access::kWrite);
  return builder;
}

TEST(Session, WritesConstantsAgainWhenAnotherModeRanInBetween) {
  std::string payload = MakePayload(
      MakeExecutable({CopyConstant(Mode::kTrain, false), CopyConstant(Mode::kEvaluate, true)}, 1));
  auto statuses = RunJob(1, {payload}, [&](Session& session, int rank) {
    for (int64_t step = 1; step <= 2; ++step) {
      for (auto [mode, expected] : {std::pair{Mode::kTrain, 3.0f}, {Mode::kEvaluate, 5.0f}}) {
        absl::Status status = session.Run(mode, step);
        if (!status.ok()) return status;
        EXPECT_EQ(Floats(session.buffers(mode, BufferKind::kOutput)[0])[0], expected);
      }
    }
    return absl::OkStatus();
  });
  EXPECT_TRUE(statuses[0].ok()) << statuses[0];
}

TEST(Session, TracesEveryInstructionOfAStep) {
  std::string payload = MakePayload(MakeExecutable({LinearGradient(1)}, 1));
  std::vector<int32_t> traced;
  auto statuses = RunJob(1, {payload}, [&](Session& session, int rank) {
    WriteInputs(session, Mode::kGradient, 0);
    session.set_trace([&](const InstructionEvent& event) {
      EXPECT_EQ(event.step, 7);
      EXPECT_LE(event.begin, event.end);
      traced.push_back(event.instruction);
    });
    return session.Run(Mode::kGradient, 7);
  });
  EXPECT_TRUE(statuses[0].ok()) << statuses[0];
  EXPECT_EQ(traced, (std::vector<int32_t>{0, 1, 2, 3, 4}));
}

TEST(Session, RefusesAModeThatWasNotCompiledAndGoesOn) {
  std::string payload = MakePayload(MakeExecutable({LinearGradient(1)}, 1));
  auto statuses = RunJob(1, {payload}, [&](Session& session, int rank) {
    WriteInputs(session, Mode::kGradient, 0);
    EXPECT_TRUE(session.buffers(Mode::kInfer, BufferKind::kInput).empty());
    EXPECT_EQ(session.Run(Mode::kInfer, 1).code(), absl::StatusCode::kNotFound);
    return session.Run(Mode::kGradient, 1);
  });
  EXPECT_TRUE(statuses[0].ok()) << statuses[0];
}

TEST(Session, HasMemoryForTheModesThatItIsOpenedForOnly) {
  std::string payload =
      MakePayload(MakeExecutable({LinearGradient(1, Mode::kTrain), LinearGradient(1, Mode::kGradient)}, 1));
  auto world = comm::CreateInProcessWorld(1);
  ASSERT_TRUE(world.ok()) << world.status();
  std::unique_ptr<device::Device> device = device::CreateCpuDevice(1);
  auto session = Session::Create(payload, *device, *(*world)[0], {std::chrono::seconds(30), {Mode::kTrain}});
  ASSERT_TRUE(session.ok()) << session.status();
  EXPECT_TRUE((*session)->buffers(Mode::kGradient, BufferKind::kInput).empty());
  EXPECT_EQ((*session)->Run(Mode::kGradient, 1).code(), absl::StatusCode::kNotFound);
  EXPECT_FALSE((*session)->buffers(Mode::kTrain, BufferKind::kInput).empty());
  EXPECT_TRUE((*session)->Run(Mode::kTrain, 1).ok());
}

TEST(Session, RefusesAnotherNumberOfRanksOnAllOfThem) {
  std::string payload = MakePayload(MakeExecutable({LinearGradient(3)}, 3));
  for (const absl::Status& status : RunJob(2, {payload}, [](Session&, int) { return absl::OkStatus(); })) {
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_NE(status.message().find("was compiled for 3 ranks and runs on 2"), absl::string_view::npos)
        << status;
  }
}

TEST(Session, RefusesDifferentExecutablesAndNamesTheRank) {
  std::string payload = MakePayload(MakeExecutable({LinearGradient(3)}, 3));
  program::ExecutableT other = MakeExecutable({LinearGradient(3)}, 3);
  other.model = "other";
  std::string different = MakePayload(other);
  for (const absl::Status& status :
       RunJob(3, {payload, different, payload}, [](Session&, int) { return absl::OkStatus(); })) {
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_NE(status.message().find("ranks 1 of 3 run another executable"), absl::string_view::npos)
        << status;
  }
}

TEST(Session, RefusesADamagedPayload) {
  std::string payload = MakePayload(MakeExecutable({LinearGradient(1)}, 1));
  payload[payload.size() / 2] ^= 1;
  auto statuses = RunJob(1, {payload}, [](Session&, int) { return absl::OkStatus(); });
  EXPECT_EQ(statuses[0].code(), absl::StatusCode::kDataLoss) << statuses[0];
}

TEST(Session, RefusesAProgramThatBreaksTheRules) {
  ProgramBuilder program = LinearGradient(1);
  program.get().instructions.back()->operands.pop_back();
  std::string payload = MakePayload(MakeExecutable({std::move(program)}, 1));
  auto statuses = RunJob(1, {payload}, [](Session&, int) { return absl::OkStatus(); });
  EXPECT_EQ(statuses[0].code(), absl::StatusCode::kInvalidArgument) << statuses[0];
}

TEST(Session, AFailedInstructionNamesRankStepAndLabelAndEndsTheSession) {
  ProgramBuilder program(Mode::kTrain);
  uint32_t table = program.Buffer(BufferKind::kParameter, "table", {5, 2});
  uint32_t ids =
      program.Buffer(BufferKind::kInput, "ids", {1}, Segment::kPrivate, program::ElementType::kI32);
  uint32_t out = program.Buffer(BufferKind::kOutput, "rows", {1, 2});
  program::InstructionT& lookup = program.Add(Opcode::kLibrary, "embedding", "token embedding");
  program.Operand(lookup, table, Access::kRead);
  program.Operand(lookup, ids, Access::kRead);
  program.Operand(lookup, out, Access::kWrite);
  std::string payload = MakePayload(MakeExecutable({std::move(program)}, 1));
  auto statuses = RunJob(1, {payload}, [](Session& session, int) {
    int32_t id = 9;
    std::memcpy(session.buffers(Mode::kTrain, BufferKind::kInput)[0].data, &id, sizeof(id));
    absl::Status status = session.Run(Mode::kTrain, 12);
    EXPECT_EQ(session.Run(Mode::kTrain, 13), status);
    return status;
  });
  EXPECT_EQ(statuses[0].code(), absl::StatusCode::kOutOfRange);
  EXPECT_NE(statuses[0].message().find("rank 0, step 12, instruction 0 (token embedding): "),
            absl::string_view::npos)
      << statuses[0];
}

TEST(Session, APeerThatNeverComesEndsTheStepWithItsName) {
  std::string payload = MakePayload(MakeExecutable({LinearGradient(2)}, 2));
  auto statuses = RunJob(
      2, {payload},
      [](Session& session, int rank) {
        WriteInputs(session, Mode::kGradient, rank);
        if (rank == 1) return absl::OkStatus();
        return session.Run(Mode::kGradient, 4);
      },
      std::chrono::milliseconds(300));
  EXPECT_TRUE(statuses[1].ok()) << statuses[1];
  EXPECT_EQ(statuses[0].code(), absl::StatusCode::kDeadlineExceeded) << statuses[0];
  EXPECT_NE(statuses[0].message().find("rank 0, step 4, instruction 3"), absl::string_view::npos)
      << statuses[0];
  EXPECT_NE(statuses[0].message().find("rank 1"), absl::string_view::npos) << statuses[0];
}

}  // namespace
}  // namespace pdc::exec
