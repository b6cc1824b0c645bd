#include "tests/fuzz/judge.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "runtime/comm/inprocess/world.h"
#include "runtime/device/cpu/cpu_device.h"
#include "runtime/exec/session.h"
#include "runtime/program/checker.h"
#include "runtime/program/container.h"
#include "runtime/program/reader.h"
#include "tests/fuzz/mutations.h"
#include "tests/fuzz/watched_rank.h"
#include "tests/runtime/testing/program_builder.h"

#if defined(__has_feature) && __has_feature(address_sanitizer)
#include <sanitizer/common_interface_defs.h>
#endif

namespace pdc::fuzz {
namespace {

using program::BufferKind;
using program::ExecutableT;
using program::Mode;

enum class Outcome { kRefusedByChecker, kRefusedByRuntime, kRan, kHung, kCorrupted };

struct Verdict {
  Outcome outcome;
  std::string message;
};

// What is being run, for the handler of signals that end the process.
char current[4096];

void PrintCurrent() { static_cast<void>(!write(STDERR_FILENO, current, std::strlen(current))); }

// Small floats, and integers that are 0 or 1: an id of any table. Scalars as in a first step.
void FillBuffer(const exec::BufferView& view) {
  const program::Buffer& buffer = *view.description;
  if (buffer.kind() == BufferKind::kScalarInput) {
    const float value = buffer.name() != nullptr && buffer.name()->str() == "step" ? 1 : 1e-3f;
    std::memset(view.data, 0, buffer.bytes());
    if (buffer.element_type() == program::ElementType::kF32 && buffer.bytes() == sizeof(value))
      std::memcpy(view.data, &value, sizeof(value));
    return;
  }
  if (buffer.element_type() == program::ElementType::kF32) {
    auto* values = reinterpret_cast<float*>(view.data);
    for (uint64_t i = 0; i < buffer.bytes() / sizeof(float); ++i)
      values[i] = static_cast<float>(i * 2654435761u % 199) * 0.002f - 0.2f;
  } else if (buffer.element_type() == program::ElementType::kI32) {
    auto* values = reinterpret_cast<int32_t*>(view.data);
    for (uint64_t i = 0; i < buffer.bytes() / sizeof(int32_t); ++i) values[i] = static_cast<int32_t>(i % 2);
  }
}

absl::Status RunSteps(exec::Session& session, Mode mode) {
  for (BufferKind kind : {BufferKind::kParameter, BufferKind::kState, BufferKind::kScalarInput})
    for (const exec::BufferView& view : session.buffers(mode, kind)) FillBuffer(view);
  const std::vector<exec::BufferView> inputs = session.buffers(mode, BufferKind::kInput);
  const auto write = [&](size_t input, std::byte*) {
    FillBuffer(inputs[input]);
    return absl::OkStatus();
  };
  absl::Status status = session.program(mode).status();
  for (int64_t step = 1; step <= 2 && status.ok(); ++step) status = session.Run(mode, step, write);
  return status;
}

std::chrono::seconds Timeout() {
  const char* factor = std::getenv("PDC_TEST_TIME_FACTOR");
  return std::chrono::seconds(20 * (factor == nullptr ? 1 : std::max(1, std::atoi(factor))));
}

// Runs the mode on ranks that are threads.
Verdict RunRanks(const std::string& payload, int ranks, Mode mode) {
  auto world = comm::CreateInProcessWorld(ranks);
  if (!world.ok()) return {Outcome::kHung, std::string(world.status().message())};
  std::mutex mutex;
  Verdict verdict{Outcome::kRan, ""};
  auto worse = [&](Outcome outcome, const std::string& message) {
    std::lock_guard<std::mutex> lock(mutex);
    if (outcome > verdict.outcome || verdict.outcome == Outcome::kRan) verdict = {outcome, message};
  };
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      comm::Communicator& communicator = *(*world)[rank];
      auto device = device::CreateCpuDevice(1);
      WatchedRank watched(*device, communicator);
      auto session = exec::Session::Create(payload, watched.device(), watched.communicator(), {Timeout(), {mode}});
      absl::Status status = session.ok() ? RunSteps(**session, mode) : session.status();
      std::string corruption = watched.Corruption();
      if (!corruption.empty()) worse(Outcome::kCorrupted, "rank " + std::to_string(rank) + ": " + corruption);
      if (status.ok()) return;
      communicator.Abort(status);
      if (absl::IsDeadlineExceeded(status)) worse(Outcome::kHung, std::string(status.message()));
      if (!absl::IsAborted(status) && !absl::IsDeadlineExceeded(status))
        worse(Outcome::kRefusedByRuntime, status.ToString());
    });
  }
  for (std::thread& thread : threads) thread.join();
  return verdict;
}

Verdict Judge(const ExecutableT& executable, const std::string& kernels, Mode mode) {
  std::string section = program::WriteExecutable(executable);
  auto read = program::ReadExecutable(section);
  absl::Status status = read.ok() ? program::CheckExecutable(**read) : read.status();
  if (!status.ok()) return {Outcome::kRefusedByChecker, std::string(status.message())};
  return RunRanks(testing::MakePayload(executable, kernels), executable.ranks, mode);
}

}  // namespace

absl::StatusOr<Subject> ReadSubject(std::string name, const std::string& payload) {
  auto sections = program::ReadPayload(payload);
  if (!sections.ok()) return sections.status();
  auto read = program::ReadExecutable(sections->at(program::kProgramSection));
  if (!read.ok()) return read.status();
  Subject subject{std::move(name), {}, std::string(sections->at(program::kKernelsSection))};
  (*read)->UnPackTo(&subject.executable);
  return subject;
}

void ExpectMutationsAreRefusedOrRun(const Subject& subject, int mutations) {
  ASSERT_GT(subject.executable.programs.size(), 0u);
  Verdict unchanged = Judge(subject.executable, subject.kernels, Mode::kTrain);
  ASSERT_EQ(unchanged.outcome, Outcome::kRan) << unchanged.message;
  const char* count = std::getenv("PDC_MUTATIONS");
  const char* first = std::getenv("PDC_MUTATION_SEED");
  if (count != nullptr) mutations = std::atoi(count);
  uint64_t seed = first == nullptr ? 1 : std::strtoull(first, nullptr, 10);
  std::map<Outcome, int> outcomes;
  for (int i = 0; i < mutations; ++i, ++seed) {
    std::mt19937_64 random(seed);
    ExecutableT executable(subject.executable);
    std::string changes;
    Mode mode = Mode::kTrain;
    for (uint64_t n = 1 + random() % 3; n > 0; --n) {
      Mutation mutation = Mutate(executable, random);
      changes += mutation.what + "\n";
      mode = mutation.mode;
    }
    std::snprintf(current, sizeof(current), "%s, seed %llu:\n%s", subject.name.c_str(),
                  static_cast<unsigned long long>(seed), changes.c_str());
    Verdict verdict = Judge(executable, subject.kernels, mode);
    ++outcomes[verdict.outcome];
    ASSERT_NE(verdict.outcome, Outcome::kHung) << current << verdict.message;
    ASSERT_NE(verdict.outcome, Outcome::kCorrupted) << current << verdict.message;
  }
  std::printf("%s: %d refused by the checker, %d by the runtime, %d ran\n", subject.name.c_str(),
              outcomes[Outcome::kRefusedByChecker], outcomes[Outcome::kRefusedByRuntime], outcomes[Outcome::kRan]);
  // Else the changes are too wild, or too tame, to say anything.
  if (first != nullptr || mutations < 100) return;
  EXPECT_GT(outcomes[Outcome::kRan], mutations / 50);
  EXPECT_GT(outcomes[Outcome::kRefusedByChecker], mutations / 4);
}

void TellWhatCrashed() {
#if defined(__has_feature) && __has_feature(address_sanitizer)
  __sanitizer_set_death_callback(PrintCurrent);
#else
  for (int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGABRT})
    std::signal(signal, [](int number) {
      PrintCurrent();
      std::signal(number, SIG_DFL);
      std::raise(number);
    });
#endif
}

}  // namespace pdc::fuzz
