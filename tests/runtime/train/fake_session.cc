#include "tests/runtime/train/fake_session.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <thread>
#include <utility>

#include "gtest/gtest.h"
#include "runtime/program/reader.h"
#include "runtime/program/view.h"

namespace pdc::train {
namespace {

using program::BufferKind;
using program::BufferT;
using program::ElementType;
using program::Mode;

class Done final : public comm::Pending {
 public:
  absl::Status Wait(comm::Clock::time_point) override { return absl::OkStatus(); }
};

class Mail final : public comm::Pending {
 public:
  Mail(MailHub& hub, int from, int to, int tag, void* data, size_t bytes)
      : hub_(hub), from_(from), to_(to), tag_(tag), data_(data), bytes_(bytes) {}
  absl::Status Wait(comm::Clock::time_point deadline) override {
    auto message = hub_.Take(from_, to_, tag_, deadline);
    if (!message.ok()) return message.status();
    if (message->size() != bytes_) return absl::InternalError("message of another size");
    std::memcpy(data_, message->data(), bytes_);
    return absl::OkStatus();
  }

 private:
  MailHub& hub_;
  int from_, to_, tag_;
  void* data_;
  size_t bytes_;
};

absl::Status NotInTests() { return absl::UnimplementedError("the trainer does not use this operation"); }

}  // namespace

void MailHub::Put(int from, int to, int tag, std::string message) {
  std::lock_guard lock(mutex_);
  mail_[{from, to, tag}].push_back(std::move(message));
  changed_.notify_all();
}

absl::StatusOr<std::string> MailHub::Take(int from, int to, int tag, comm::Clock::time_point deadline) {
  std::unique_lock lock(mutex_);
  std::deque<std::string>& box = mail_[{from, to, tag}];
  if (!changed_.wait_until(lock, deadline, [&] { return failed_ || !box.empty(); })) {
    return absl::DeadlineExceededError("no message from rank " + std::to_string(from));
  }
  if (box.empty()) return absl::AbortedError("a peer ended the job");
  std::string message = std::move(box.front());
  box.pop_front();
  return message;
}

void MailHub::Fail() {
  std::lock_guard lock(mutex_);
  failed_ = true;
  changed_.notify_all();
}

absl::StatusOr<void*> MailCommunicator::AllocateShared(size_t) { return NotInTests(); }
absl::StatusOr<std::unique_ptr<comm::Group>> MailCommunicator::CreateGroup(std::vector<int>) {
  return NotInTests();
}
absl::StatusOr<std::unique_ptr<comm::Pending>> MailCommunicator::AllReduce(comm::Group&, void*, int64_t,
                                                                           comm::ElementType,
                                                                           comm::ReduceOp) {
  return NotInTests();
}
absl::StatusOr<std::unique_ptr<comm::Pending>> MailCommunicator::AllGather(comm::Group&, void*,
                                                                           const std::vector<int64_t>&,
                                                                           comm::ElementType) {
  return NotInTests();
}
absl::StatusOr<std::unique_ptr<comm::Pending>> MailCommunicator::ReduceScatter(comm::Group&, void*,
                                                                               const std::vector<int64_t>&,
                                                                               comm::ElementType,
                                                                               comm::ReduceOp) {
  return NotInTests();
}
absl::StatusOr<std::unique_ptr<comm::Pending>> MailCommunicator::AllToAll(comm::Group&, const void*, void*,
                                                                          int64_t, comm::ElementType) {
  return NotInTests();
}
absl::StatusOr<std::unique_ptr<comm::Pending>> MailCommunicator::Broadcast(comm::Group&, void*, int64_t,
                                                                           comm::ElementType, int) {
  return NotInTests();
}

absl::StatusOr<std::unique_ptr<comm::Pending>> MailCommunicator::Send(const void* data, size_t bytes,
                                                                      int peer, int tag) {
  hub_.Put(rank_, peer, tag, std::string(static_cast<const char*>(data), bytes));
  return std::make_unique<Done>();
}

absl::StatusOr<std::unique_ptr<comm::Pending>> MailCommunicator::Receive(void* data, size_t bytes, int peer,
                                                                         int tag) {
  return std::make_unique<Mail>(hub_, peer, rank_, tag, data, bytes);
}

absl::Status MailCommunicator::Barrier(comm::Clock::time_point deadline) {
  constexpr int kTag = -1;
  for (int peer = 0; peer < size_; ++peer) hub_.Put(rank_, peer, kTag, "");
  for (int peer = 0; peer < size_; ++peer) {
    auto arrived = hub_.Take(peer, rank_, kTag, deadline);
    if (!arrived.ok()) return arrived.status();
  }
  return absl::OkStatus();
}

void MailCommunicator::Abort(const absl::Status& why) {
  aborted_ = why;
  hub_.Fail();
}

absl::Status SumOverRanks(comm::Communicator& communicator, std::vector<double>& values) {
  constexpr int kTag = 1;
  const size_t bytes = values.size() * sizeof(double);
  const auto deadline = comm::Clock::now() + std::chrono::seconds(20);
  for (int peer = 0; peer < communicator.size(); ++peer) {
    auto sent = communicator.Send(values.data(), bytes, peer, kTag);
    if (!sent.ok()) return sent.status();
  }
  std::vector<double> sum(values.size(), 0.0), received(values.size());
  for (int peer = 0; peer < communicator.size(); ++peer) {
    auto pending = communicator.Receive(received.data(), bytes, peer, kTag);
    if (!pending.ok()) return pending.status();
    if (absl::Status status = (*pending)->Wait(deadline); !status.ok()) return status;
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += received[i];
  }
  values = sum;
  return absl::OkStatus();
}

FakeSession::FakeSession(std::string image, comm::Communicator& communicator, RunFunction run)
    : image_((image.size() + 7) / 8), communicator_(communicator), run_(std::move(run)) {
  std::memcpy(image_.data(), image.data(), image.size());
  executable_ = program::GetExecutable(image_.data());
  size_t bytes = 0;
  for (Mode mode : {Mode::kTrain, Mode::kGradient, Mode::kEvaluate, Mode::kInfer}) {
    const program::Program* program = program::FindProgram(*executable_, communicator.rank(), mode);
    if (program != nullptr) bytes = std::max<size_t>(bytes, program->private_bytes());
  }
  arena_.resize(bytes);
  const program::Program* reference =
      program::FindProgram(*executable_, communicator.rank(), Mode::kReferenceGradient);
  if (reference != nullptr) reference_arena_.resize(reference->private_bytes());
}

absl::StatusOr<const program::Program*> FakeSession::program(Mode mode) const {
  const program::Program* program = program::FindProgram(*executable_, communicator_.rank(), mode);
  if (program == nullptr) return absl::NotFoundError("compiled without this mode");
  return program;
}

std::vector<exec::BufferView> FakeSession::buffers(Mode mode, BufferKind kind) {
  std::vector<exec::BufferView> views;
  const program::Program* program = program::FindProgram(*executable_, communicator_.rank(), mode);
  if (program == nullptr) return views;
  std::byte* base = mode == Mode::kReferenceGradient ? reference_arena_.data() : arena_.data();
  for (const program::Buffer* buffer : *program->buffers()) {
    if (buffer->kind() == kind) views.push_back({buffer, base + buffer->offset()});
  }
  return views;
}

absl::Status FakeSession::Run(Mode mode, int64_t step, const exec::InputWriter& write) {
  const auto begin = std::chrono::steady_clock::now();
  const std::vector<exec::BufferView> inputs = buffers(mode, BufferKind::kInput);
  for (size_t i = 0; write && i < inputs.size(); ++i) {
    absl::Status status = write(i, inputs[i].data);
    if (!status.ok()) return status;
  }
  absl::Status status = run_(*this, mode, step);
  if (trace_) trace_({step, 0, begin, std::chrono::steady_clock::now()});
  return status;
}

std::byte* FakeSession::Find(Mode mode, BufferKind kind, const std::string& name) {
  for (const exec::BufferView& view : buffers(mode, kind)) {
    if (view.description->name()->str() == name) return view.data;
  }
  ADD_FAILURE() << "no buffer '" << name << "'";
  return nullptr;
}

BufferT MakeBuffer(BufferKind kind, const std::string& name, ElementType type, std::vector<int64_t> shape) {
  BufferT buffer;
  buffer.kind = kind;
  buffer.name = name;
  buffer.element_type = type;
  buffer.start.assign(shape.size(), 0);
  buffer.global_shape = shape;
  buffer.shape = std::move(shape);
  return buffer;
}

void AddBuffers(program::ProgramT& program, std::vector<BufferT> buffers) {
  for (BufferT& buffer : buffers) {
    buffer.offset = program.private_bytes;
    buffer.bytes = program::ElementCount(buffer.shape) * program::ElementBytes(buffer.element_type);
    program.private_bytes += (buffer.bytes + 63) / 64 * 64;
    program.buffers.push_back(std::make_unique<BufferT>(std::move(buffer)));
  }
}

namespace {

// Part `rank` of `total` over `ranks`: the first ranks take one more.
std::pair<int64_t, int64_t> PartOf(int64_t total, int rank, int ranks) {
  const int64_t base = total / ranks, extra = total % ranks;
  const int64_t start = rank * base + std::min<int64_t>(rank, extra);
  return {start, base + (rank < extra ? 1 : 0)};
}

BufferT Split(BufferT buffer, int64_t start, int64_t count) {
  buffer.shape[0] = count;
  buffer.start[0] = start;
  return buffer;
}

std::unique_ptr<program::ProgramT> MakeTokenProgram(Mode mode, int rank, int ranks, int64_t batch,
                                                    int64_t sequence) {
  auto program = std::make_unique<program::ProgramT>();
  program->mode = mode;
  const bool reference = mode == Mode::kReferenceGradient;
  const auto [start, count] = reference ? std::pair(int64_t{0}, batch) : PartOf(batch, rank, ranks);
  program->batch = batch;
  program->batch_start = start;
  program->local_batch = count;
  BufferT w = MakeBuffer(BufferKind::kParameter, "w", ElementType::kF32, {16});
  w.initializer = std::make_unique<program::InitializerT>();
  w.initializer->kind = program::InitializerKind::kNormal;
  w.initializer->b = 0.1;
  BufferT momentum = MakeBuffer(BufferKind::kOptimizerState, "w", ElementType::kF32, {16});
  momentum.optimizer_slot = "momentum";
  std::vector<BufferT> buffers;
  buffers.push_back(std::move(w));
  buffers.push_back(std::move(momentum));
  buffers.push_back(MakeBuffer(BufferKind::kState, "steps_seen", ElementType::kF32, {1}));
  buffers.push_back(
      Split(MakeBuffer(BufferKind::kInput, "tokens", ElementType::kI32, {batch, sequence}), start, count));
  buffers.push_back(
      Split(MakeBuffer(BufferKind::kInput, "labels", ElementType::kI32, {batch, sequence}), start, count));
  buffers.push_back(MakeBuffer(BufferKind::kScalarInput, "learning_rate", ElementType::kF32, {}));
  buffers.push_back(MakeBuffer(BufferKind::kScalarInput, "step", ElementType::kF32, {}));
  buffers.push_back(MakeBuffer(BufferKind::kScalarInput, "seed", ElementType::kI64, {}));
  buffers.push_back(MakeBuffer(BufferKind::kOutput, "loss", ElementType::kF32, {}));
  if (mode == Mode::kEvaluate)
    buffers.push_back(MakeBuffer(BufferKind::kOutput, "close", ElementType::kF32, {}));
  if (mode == Mode::kGradient || reference) {
    buffers.push_back(MakeBuffer(BufferKind::kOutput, "w", ElementType::kF32, {16}));
    buffers.back().parameter = true;
  }
  AddBuffers(*program, std::move(buffers));
  auto instruction = std::make_unique<program::InstructionT>();
  instruction->opcode = program::Opcode::kKernel;
  instruction->label = "all of it";
  program->instructions.push_back(std::move(instruction));
  return program;
}

}  // namespace

std::string TokenModelImage(int ranks, int64_t batch, int64_t sequence, const std::string& model) {
  program::ExecutableT executable;
  executable.model = model;
  executable.compiler_version = "1.0";
  executable.ranks = ranks;
  executable.precision = "f32";
  executable.optimizer = "momentum";
  executable.tokens_per_sample = sequence;
  for (int rank = 0; rank < ranks; ++rank) {
    auto programs = std::make_unique<program::RankProgramsT>();
    programs->rank = rank;
    for (Mode mode : {Mode::kTrain, Mode::kGradient, Mode::kEvaluate, Mode::kReferenceGradient}) {
      if (mode == Mode::kReferenceGradient && rank != 0) continue;
      programs->programs.push_back(static_cast<uint32_t>(executable.programs.size()));
      executable.programs.push_back(MakeTokenProgram(mode, rank, ranks, batch, sequence));
    }
    executable.rank_programs.push_back(std::move(programs));
  }
  return program::WriteExecutable(executable);
}

absl::Status RunTokenModel(FakeSession& session, Mode mode, int64_t) {
  auto found = session.program(mode);
  if (!found.ok()) return found.status();
  float* w = session.data<float>(mode, BufferKind::kParameter, "w");
  const int32_t* tokens = session.data<int32_t>(mode, BufferKind::kInput, "tokens");
  const int32_t* labels = session.data<int32_t>(mode, BufferKind::kInput, "labels");
  const int64_t sequence = (*session.executable().programs())[0]->buffers()->Get(3)->shape()->Get(1);
  std::vector<double> sums(19, 0.0);  // gradient, loss, counted labels, close ones
  for (int64_t i = 0; i < (*found)->local_batch() * sequence; ++i) {
    if (labels[i] == -100) continue;
    const double difference = w[tokens[i] % 16] - labels[i] / 256.0;
    sums[tokens[i] % 16] += 2 * difference;
    sums[16] += difference * difference;
    sums[17] += 1;
    sums[18] += std::abs(difference) < 0.2;
  }
  if (mode != Mode::kReferenceGradient) {
    if (absl::Status status = SumOverRanks(session.communicator(), sums); !status.ok()) return status;
  }
  const double counted = std::max(sums[17], 1.0);
  *session.data<float>(mode, BufferKind::kOutput, "loss") = static_cast<float>(sums[16] / counted);
  if (mode == Mode::kEvaluate) {
    *session.data<float>(mode, BufferKind::kOutput, "close") = static_cast<float>(sums[18] / counted);
    return absl::OkStatus();
  }
  if (mode != Mode::kTrain) {
    float* gradient = session.data<float>(mode, BufferKind::kOutput, "w");
    for (int i = 0; i < 16; ++i) gradient[i] = static_cast<float>(sums[i] / counted);
    return absl::OkStatus();
  }
  float* momentum = session.data<float>(mode, BufferKind::kOptimizerState, "w");
  const float rate = *session.data<float>(mode, BufferKind::kScalarInput, "learning_rate");
  for (int i = 0; i < 16; ++i) {
    momentum[i] = 0.9f * momentum[i] + static_cast<float>(sums[i] / counted);
    w[i] -= rate * momentum[i];
  }
  *session.data<float>(mode, BufferKind::kState, "steps_seen") += 1;
  return absl::OkStatus();
}

std::string AffineModelImage(int ranks, int64_t batch) {
  program::ExecutableT executable;
  executable.model = "affine";
  executable.compiler_version = "1.0";
  executable.ranks = ranks;
  executable.precision = "f32";
  for (int rank = 0; rank < ranks; ++rank) {
    auto program = std::make_unique<program::ProgramT>();
    const auto [start, count] = PartOf(batch, rank, ranks);
    program->mode = Mode::kInfer;
    program->batch = batch;
    program->batch_start = start;
    program->local_batch = count;
    std::vector<BufferT> buffers;
    buffers.push_back(
        Split(MakeBuffer(BufferKind::kInput, "x", ElementType::kF32, {batch, 2}), start, count));
    buffers.push_back(
        Split(MakeBuffer(BufferKind::kOutput, "y", ElementType::kF32, {batch, 1}), start, count));
    buffers.back().reduction = program::OutputReduction::kSharded;
    AddBuffers(*program, std::move(buffers));
    auto programs = std::make_unique<program::RankProgramsT>();
    programs->rank = rank;
    programs->programs.push_back(static_cast<uint32_t>(rank));
    executable.programs.push_back(std::move(program));
    executable.rank_programs.push_back(std::move(programs));
  }
  return program::WriteExecutable(executable);
}

absl::Status RunAffineModel(FakeSession& session, Mode mode, int64_t) {
  auto found = session.program(mode);
  if (!found.ok()) return found.status();
  const float* x = session.data<float>(mode, BufferKind::kInput, "x");
  float* y = session.data<float>(mode, BufferKind::kOutput, "y");
  for (int64_t i = 0; i < (*found)->local_batch(); ++i) y[i] = 2 * x[2 * i] + x[2 * i + 1];
  return absl::OkStatus();
}

void OnRanks(int ranks, const std::function<void(int)>& body) {
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) threads.emplace_back(body, rank);
  for (std::thread& thread : threads) thread.join();
}

}  // namespace pdc::train
