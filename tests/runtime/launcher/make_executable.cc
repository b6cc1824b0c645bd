// Writes a payload for the test of the launcher: make_executable PAYLOAD RANKS. Its train program takes token
// sequences, does not look at them, and gives as loss the sum over the ranks of the parameter "w", which
// begins as 1.5; its state "last_step" becomes the step's number.
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>

#include "tests/runtime/testing/program_builder.h"

int main(int argc, char** argv) {
  using namespace pdc::program;
  if (argc != 3) return 2;
  const int ranks = std::atoi(argv[2]);
  pdc::testing::ProgramBuilder train(Mode::kTrain);
  const uint32_t w = train.Buffer(BufferKind::kParameter, "w", {1});
  const uint32_t last_step = train.Buffer(BufferKind::kState, "last_step", {1});
  train.Buffer(BufferKind::kInput, "tokens", {2, 4}, Segment::kPrivate, ElementType::kI32);
  train.Buffer(BufferKind::kInput, "labels", {2, 4}, Segment::kPrivate, ElementType::kI32);
  const uint32_t step = train.Buffer(BufferKind::kScalarInput, "step", {});
  const uint32_t sum = train.Buffer(BufferKind::kActivation, "sum", {1}, Segment::kShared);
  const uint32_t loss = train.Buffer(BufferKind::kOutput, "loss", {1});
  train.get().buffers[w]->initializer->kind = InitializerKind::kConstant;
  train.get().buffers[w]->initializer->a = 1.5;
  const auto copy = [&](uint32_t from, uint32_t to, const char* label) {
    InstructionT& instruction = train.Add(Opcode::kCopy, "", label);
    train.Operand(instruction, from, Access::kRead);
    train.Operand(instruction, to, Access::kWrite);
  };
  copy(w, sum, "contribution");
  std::vector<int> all;
  for (int rank = 0; rank < ranks; ++rank) all.push_back(rank);
  train.Done(train.StartCollective("all_reduce", sum, train.Group(all)));
  copy(sum, loss, "loss");
  copy(step, last_step, "step");
  ExecutableT executable = pdc::testing::MakeExecutable({train}, ranks);
  executable.model = "launcher_test";
  executable.tokens_per_sample = 4;
  std::ofstream out(argv[1], std::ios::binary);
  out << pdc::testing::MakePayload(executable);
  return out.flush() ? 0 : 1;
}
