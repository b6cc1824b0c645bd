// Hand-made rank programs for tests.
#ifndef PDC_TESTS_RUNTIME_TESTING_PROGRAM_BUILDER_H_
#define PDC_TESTS_RUNTIME_TESTING_PROGRAM_BUILDER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/program/program_generated.h"

namespace pdc::testing {

// Lays buffers one after the other, each live throughout.
class ProgramBuilder {
 public:
  using Dims = std::vector<int64_t>;

  explicit ProgramBuilder(program::Mode mode = program::Mode::kTrain);

  // Returns the buffer's index. Persistent kinds get a zero initializer.
  uint32_t Buffer(program::BufferKind kind, std::string name, Dims shape,
                  program::Segment segment = program::Segment::kPrivate,
                  program::ElementType type = program::ElementType::kF32);
  uint32_t Constant(const std::vector<float>& values);

  program::InstructionT& Add(program::Opcode opcode, std::string target, std::string label);
  // Dense views of whole buffers.
  program::OperandT& Operand(program::InstructionT& instruction, uint32_t buffer, program::Access access);

  // kCollectiveStart over the whole buffer; returns its index.
  int32_t StartCollective(std::string target, uint32_t buffer, int32_t group);
  void Done(int32_t start_index);
  int32_t Group(std::vector<int> ranks);

  program::ProgramT& get() { return program_; }

 private:
  program::ProgramT program_;
};

// An executable of `ranks` ranks that all run the same programs.
program::ExecutableT MakeExecutable(std::vector<ProgramBuilder> programs, int ranks);

// The payload; the result stays aligned to 8 bytes when moved or kept.
std::string MakePayload(const program::ExecutableT& executable, std::string_view kernels = {});

// One linear layer, data-parallel over `ranks`: loss gradient of |x w|^2 / 2 with respect to w.
//   parameter w[4,2]; input x[3,4]; y = x w; g = x^T y; all_reduce of g; output "w" := g.
ProgramBuilder LinearGradient(int ranks, program::Mode mode = program::Mode::kGradient);

}  // namespace pdc::testing

#endif  // PDC_TESTS_RUNTIME_TESTING_PROGRAM_BUILDER_H_
