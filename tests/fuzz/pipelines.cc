#include "tests/fuzz/pipelines.h"

#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "tests/runtime/testing/program_builder.h"

namespace pdc::fuzz {
namespace {

using program::Access;
using program::BufferKind;
using program::InstructionT;
using program::Opcode;
using program::OperandT;
using program::Segment;
using schedule::TaskKind;
using testing::ProgramBuilder;

constexpr int64_t kRows = 3, kWidth = 4;

class StageProgram {
 public:
  StageProgram(const schedule::Schedule& schedule, int rank, bool tag_each)
      : schedule_(schedule), rank_(rank), tag_each_(tag_each), last_(rank + 1 == static_cast<int>(schedule.ranks.size())) {}

  ProgramBuilder Build() {
    weight_ = builder_.Buffer(BufferKind::kParameter, "w" + std::to_string(rank_), {kWidth, kWidth});
    gradient_ = builder_.Buffer(BufferKind::kGradient, "g", {kWidth, kWidth}, Segment::kShared);
    out_ = builder_.Buffer(BufferKind::kOutput, "w", {kWidth, kWidth});
    builder_.Operand(builder_.Add(Opcode::kFill, "", "zero gradient"), gradient_, Access::kWrite);
    for (const schedule::Task& task : schedule_.ranks[rank_]) {
      if (task.kind == TaskKind::Forward) Forward(task.microBatch);
      if (task.kind == TaskKind::Backward) Backward(task.microBatch);
    }
    for (int32_t send : sends_) builder_.Done(send);
    std::vector<int> all(schedule_.ranks.size());
    std::iota(all.begin(), all.end(), 0);
    builder_.Done(builder_.StartCollective("all_reduce", gradient_, builder_.Group(all)));
    Copy(gradient_, out_, "gradient");
    return builder_;
  }

 private:
  uint32_t Activation(const std::string& name) {
    return builder_.Buffer(BufferKind::kActivation, name, {kRows, kWidth}, Segment::kShared);
  }

  int32_t Message(Opcode opcode, uint32_t buffer, int peer, int direction, int micro_batch) {
    bool is_send = opcode == Opcode::kSend;
    InstructionT& message = builder_.Add(opcode, "", (is_send ? "send " : "receive ") + std::to_string(micro_batch));
    builder_.Operand(message, buffer, is_send ? Access::kRead : Access::kWrite);
    message.peer = peer;
    message.tag = direction + (tag_each_ ? 2 * micro_batch : 0);
    return static_cast<int32_t>(builder_.get().instructions.size()) - 1;
  }

  void Copy(uint32_t from, uint32_t to, const std::string& label) {
    InstructionT& copy = builder_.Add(Opcode::kCopy, "", label);
    builder_.Operand(copy, from, Access::kRead);
    builder_.Operand(copy, to, Access::kWrite);
  }

  static void Transpose(OperandT& operand) {
    std::swap(operand.shape[0], operand.shape[1]);
    std::swap(operand.strides[0], operand.strides[1]);
  }

  void Forward(int i) {
    std::string name = std::to_string(i);
    x_[i] = rank_ == 0 ? builder_.Buffer(BufferKind::kInput, "x" + name, {kRows, kWidth}) : Activation("x" + name);
    if (rank_ > 0) builder_.Done(Message(Opcode::kReceive, x_[i], rank_ - 1, 0, i));
    y_[i] = Activation("y" + name);
    InstructionT& forward = builder_.Add(Opcode::kLibrary, "matmul", "forward " + name);
    builder_.Operand(forward, x_[i], Access::kRead);
    builder_.Operand(forward, weight_, Access::kRead);
    builder_.Operand(forward, y_[i], Access::kWrite);
    if (!last_) sends_.push_back(Message(Opcode::kSend, y_[i], rank_ + 1, 0, i));
  }

  void Backward(int i) {
    std::string name = std::to_string(i);
    uint32_t dy = y_[i];  // the loss is half the square of the output
    if (!last_) {
      dy = Activation("dy" + name);
      builder_.Done(Message(Opcode::kReceive, dy, rank_ + 1, 1, i));
    }
    InstructionT& weights = builder_.Add(Opcode::kLibrary, "matmul", "weight gradient " + name);
    Transpose(builder_.Operand(weights, x_[i], Access::kRead));
    builder_.Operand(weights, dy, Access::kRead);
    builder_.Operand(weights, gradient_, Access::kReadWrite);
    auto accumulate = std::make_unique<program::IntegerAttributeT>();
    accumulate->name = "accumulate";
    accumulate->values = {1};
    weights.integers.push_back(std::move(accumulate));
    if (rank_ == 0) return;
    uint32_t dx = Activation("dx" + name);
    InstructionT& inputs = builder_.Add(Opcode::kLibrary, "matmul", "input gradient " + name);
    builder_.Operand(inputs, dy, Access::kRead);
    Transpose(builder_.Operand(inputs, weight_, Access::kRead));
    builder_.Operand(inputs, dx, Access::kWrite);
    sends_.push_back(Message(Opcode::kSend, dx, rank_ - 1, 1, i));
  }

  const schedule::Schedule& schedule_;
  const int rank_;
  const bool tag_each_, last_;
  ProgramBuilder builder_{program::Mode::kTrain};
  uint32_t weight_ = 0, gradient_ = 0, out_ = 0;
  std::map<int, uint32_t> x_, y_;  // by micro-batch
  std::vector<int32_t> sends_;
};

}  // namespace

program::ExecutableT MakePipeline(const schedule::Schedule& schedule, bool tag_each) {
  std::vector<ProgramBuilder> programs;
  for (size_t rank = 0; rank < schedule.ranks.size(); ++rank)
    programs.push_back(StageProgram(schedule, static_cast<int>(rank), tag_each).Build());
  program::ExecutableT executable = testing::MakeExecutable(programs, static_cast<int>(schedule.ranks.size()));
  for (size_t rank = 0; rank < schedule.ranks.size(); ++rank)
    executable.rank_programs[rank]->programs = {static_cast<uint32_t>(rank)};
  return executable;
}

}  // namespace pdc::fuzz
