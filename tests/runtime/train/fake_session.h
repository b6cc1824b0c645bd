// Ranks for tests of the trainer: a communicator between threads and a session whose programs are C++
// functions. What is under test (data, checkpoints, commands) sees the real interfaces.
#ifndef PDC_TESTS_RUNTIME_TRAIN_FAKE_SESSION_H_
#define PDC_TESTS_RUNTIME_TRAIN_FAKE_SESSION_H_

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include "runtime/comm/communicator.h"
#include "runtime/exec/session.h"
#include "runtime/program/program_generated.h"

namespace pdc::train {

// Mailboxes between the ranks of one process.
class MailHub {
 public:
  void Put(int from, int to, int tag, std::string message);
  absl::StatusOr<std::string> Take(int from, int to, int tag, comm::Clock::time_point deadline);
  void Fail();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::tuple<int, int, int>, std::deque<std::string>> mail_;
  bool failed_ = false;
};

// Point-to-point messages and barriers only: what the trainer itself uses.
class MailCommunicator final : public comm::Communicator {
 public:
  MailCommunicator(MailHub& hub, int rank, int size) : hub_(hub), rank_(rank), size_(size) {}

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  std::string name() const override { return "mail"; }
  absl::StatusOr<void*> AllocateShared(size_t bytes) override;
  absl::StatusOr<std::unique_ptr<comm::Group>> CreateGroup(std::vector<int> ranks) override;
  void SetPosition(comm::Position) override {}
  absl::StatusOr<std::unique_ptr<comm::Pending>> AllReduce(comm::Group&, void*, int64_t, comm::ElementType,
                                                           comm::ReduceOp) override;
  absl::StatusOr<std::unique_ptr<comm::Pending>> AllGather(comm::Group&, void*, const std::vector<int64_t>&,
                                                           comm::ElementType) override;
  absl::StatusOr<std::unique_ptr<comm::Pending>> ReduceScatter(comm::Group&, void*,
                                                               const std::vector<int64_t>&, comm::ElementType,
                                                               comm::ReduceOp) override;
  absl::StatusOr<std::unique_ptr<comm::Pending>> AllToAll(comm::Group&, const void*, void*, int64_t,
                                                          comm::ElementType) override;
  absl::StatusOr<std::unique_ptr<comm::Pending>> Broadcast(comm::Group&, void*, int64_t, comm::ElementType,
                                                           int) override;
  absl::StatusOr<std::unique_ptr<comm::Pending>> Send(const void* data, size_t bytes, int peer,
                                                      int tag) override;
  absl::StatusOr<std::unique_ptr<comm::Pending>> Receive(void* data, size_t bytes, int peer,
                                                         int tag) override;
  absl::Status Barrier(comm::Clock::time_point deadline) override;
  void Abort(const absl::Status& why) override;

  // What Abort() was called with.
  const absl::Status& aborted() const { return aborted_; }

 private:
  MailHub& hub_;
  int rank_;
  int size_;
  absl::Status aborted_;
};

// Sums `values` over all ranks in rank order.
absl::Status SumOverRanks(comm::Communicator& communicator, std::vector<double>& values);

class FakeSession final : public exec::Session {
 public:
  using RunFunction = std::function<absl::Status(FakeSession& session, program::Mode mode, int64_t step)>;

  // `image` is the bytes of program::WriteExecutable().
  FakeSession(std::string image, comm::Communicator& communicator, RunFunction run);

  const program::Executable& executable() const override { return *executable_; }
  absl::StatusOr<const program::Program*> program(program::Mode mode) const override;
  std::vector<exec::BufferView> buffers(program::Mode mode, program::BufferKind kind) override;
  absl::Status Run(program::Mode mode, int64_t step, const exec::InputWriter& write) override;
  void set_trace(std::function<void(const exec::InstructionEvent&)> trace) override {
    trace_ = std::move(trace);
  }
  comm::Communicator& communicator() override { return communicator_; }
  comm::Clock::time_point deadline() const override { return comm::Clock::now() + std::chrono::seconds(20); }

  // The buffer of this kind and name; the test fails when there is none.
  template <typename T>
  T* data(program::Mode mode, program::BufferKind kind, const std::string& name) {
    return reinterpret_cast<T*>(Find(mode, kind, name));
  }

 private:
  std::byte* Find(program::Mode mode, program::BufferKind kind, const std::string& name);

  std::vector<uint64_t> image_;  // aligned for the FlatBuffer
  const program::Executable* executable_;
  comm::Communicator& communicator_;
  RunFunction run_;
  std::function<void(const exec::InstructionEvent&)> trace_;
  std::vector<std::byte> arena_;
  std::vector<std::byte> reference_arena_;
};

// Describes a buffer; the offset is chosen by AddBuffers().
program::BufferT MakeBuffer(program::BufferKind kind, const std::string& name, program::ElementType type,
                            std::vector<int64_t> shape);
// Lays the buffers out one after the other.
void AddBuffers(program::ProgramT& program, std::vector<program::BufferT> buffers);

// A model over tokens: loss is the mean over labels l (not -100) of (w[token % 16] - l / 256)^2, trained by
// momentum, data-parallel over `ranks`; its state "steps_seen" counts steps. Modes: train, gradient,
// evaluate, reference_gradient. `model` goes into the executable.
std::string TokenModelImage(int ranks, int64_t batch, int64_t sequence,
                            const std::string& model = "token_model");
absl::Status RunTokenModel(FakeSession& session, program::Mode mode, int64_t step);

// Infers y[i] = 2 * x[i][0] + x[i][1] (x: [batch, 2], y: [batch, 1], f32), split over ranks.
std::string AffineModelImage(int ranks, int64_t batch);
absl::Status RunAffineModel(FakeSession& session, program::Mode mode, int64_t step);

// Calls body(rank) on a thread each and waits for all.
void OnRanks(int ranks, const std::function<void(int)>& body);

}  // namespace pdc::train

#endif  // PDC_TESTS_RUNTIME_TRAIN_FAKE_SESSION_H_
