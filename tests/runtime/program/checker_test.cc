// One test per rule: a good program, one change, one clear error.
#include <gtest/gtest.h>

#include <functional>

#include "tests/runtime/program/check.h"
#include "tests/runtime/testing/program_builder.h"

namespace pdc::program {
namespace {

using testing::LinearGradient;
using testing::MakeExecutable;
using testing::ProgramBuilder;

// The instructions of LinearGradient.
constexpr int kForward = 0, kBackward = 1, kStart = 2, kDone = 3, kCopyOut = 4;
// And its buffers.
constexpr int kW = 0, kX = 1, kY = 2, kG = 3, kOut = 4;

// Changes the program of a job of two ranks, and expects an error that holds `message`.
void ExpectError(const std::string& message, const std::function<void(ProgramT&)>& change) {
  ExecutableT executable = MakeExecutable({LinearGradient(2)}, 2);
  change(*executable.programs[0]);
  absl::Status status = Check(executable);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  EXPECT_NE(status.message().find(message), absl::string_view::npos) << status;
}

TEST(Checker, AcceptsAGoodProgram) {
  EXPECT_TRUE(Check(MakeExecutable({LinearGradient(2)}, 2)).ok())
      << Check(MakeExecutable({LinearGradient(2)}, 2));
  ExecutableT modes = MakeExecutable({LinearGradient(1), LinearGradient(1, Mode::kTrain)}, 1);
  EXPECT_TRUE(Check(modes).ok()) << Check(modes);
}

TEST(Checker, RefusesABufferOutsideItsArena) {
  ExpectError("gradient program, buffer 4 (output w): lies at [192, +32), outside its arena of 200 bytes",
              [](ProgramT& program) { program.private_bytes = 200; });
}

TEST(Checker, RefusesAMisalignedBuffer) {
  ExpectError("buffer 2 (activation y): lies at 136",
              [](ProgramT& program) { program.buffers[kY]->offset = 136; });
}

TEST(Checker, RefusesAnOffsetThatOverflows) {
  ExpectError("outside its arena", [](ProgramT& program) { program.buffers[kY]->offset = ~uint64_t{63}; });
}

TEST(Checker, RefusesABufferThatDoesNotHoldItsShape) {
  ExpectError("has 20 bytes, but its shape [3,2] takes 24",
              [](ProgramT& program) { program.buffers[kY]->bytes = 20; });
}

TEST(Checker, RefusesAShapeThatOverflows) {
  ExpectError("impossible shape", [](ProgramT& program) {
    program.buffers[kY]->shape = {int64_t{1} << 40, int64_t{1} << 40};
  });
}

TEST(Checker, RefusesAPartThatLiesOutsideOfTheWhole) {
  ExpectError("holds [3, 7) of dimension 0, which has size 6", [](ProgramT& program) {
    program.buffers[kW]->global_shape = {6, 2};
    program.buffers[kW]->start = {3, 0};
  });
}

TEST(Checker, RefusesADeclaredShapeOfOtherElements) {
  ExpectError("buffer 0 (parameter w): has the declared shape [3,3], which has other elements than [4,2]",
              [](ProgramT& program) { program.buffers[kW]->declared_shape = {3, 3}; });
  ExpectError("has the declared shape [8], which has other elements than [6,2]", [](ProgramT& program) {
    program.buffers[kW]->global_shape = {6, 2};
    program.buffers[kW]->start = {2, 0};
    program.buffers[kW]->declared_shape = {8};
  });
  ExpectError("has the declared shape [-2,-4]",
              [](ProgramT& program) { program.buffers[kW]->declared_shape = {-2, -4}; });
}

TEST(Checker, RefusesADeclaredShapeOfWhatNoCheckpointHas) {
  ExpectError("buffer 2 (activation y): has a declared shape, but is no parameter and no optimizer state",
              [](ProgramT& program) { program.buffers[kY]->declared_shape = {6}; });
}

TEST(Checker, AcceptsAParameterThatTheModelDeclaresWithAnotherShape) {
  ExecutableT executable = MakeExecutable({LinearGradient(1)}, 1);
  executable.programs[0]->buffers[kW]->declared_shape = {8};
  EXPECT_TRUE(Check(executable).ok()) << Check(executable);
}

TEST(Checker, RefusesAParameterWithoutInitializer) {
  ExpectError("has no initializer", [](ProgramT& program) { program.buffers[kW]->initializer.reset(); });
}

TEST(Checker, RefusesAConstantWithoutItsContents) {
  ExpectError("brings 0 bytes of contents for 48",
              [](ProgramT& program) { program.buffers[kX]->kind = BufferKind::kConstant; });
}

TEST(Checker, RefusesAnUnknownScalarInput) {
  ExpectError("is not one of the scalar inputs",
              [](ProgramT& program) { program.buffers[kX]->kind = BufferKind::kScalarInput; });
}

TEST(Checker, RefusesAViewOutsideItsBuffer) {
  ExpectError("instruction 0 (x w): operand 0 reaches outside of buffer 1 (input x): offset 1, shape [3,4]",
              [](ProgramT& program) { program.instructions[kForward]->operands[0]->offset_elements = 1; });
  ExpectError("reaches outside", [](ProgramT& program) {
    program.instructions[kForward]->operands[0]->strides[0] = int64_t{1} << 62;
  });
  ExpectError("reaches outside",
              [](ProgramT& program) { program.instructions[kForward]->operands[0]->strides[0] = -1; });
}

TEST(Checker, RefusesAViewOfAnotherElementType) {
  ExpectError("operand 0 views input x of f32 as i32", [](ProgramT& program) {
    program.instructions[kForward]->operands[0]->element_type = ElementType::kI32;
  });
}

TEST(Checker, RefusesAViewOfNoBuffer) {
  ExpectError("operand 0 is buffer 9 of 5",
              [](ProgramT& program) { program.instructions[kForward]->operands[0]->buffer = 9; });
}

TEST(Checker, RefusesAViewThatWritesAnElementTwice) {
  ExpectError("operand 2 writes elements more than once", [](ProgramT& program) {
    program.instructions[kForward]->operands[2]->strides = {1, 1};
  });
}

TEST(Checker, RefusesAWorkspaceThatIsNoTemporary) {
  ExpectError("its workspace, buffer 2, is no temporary",
              [](ProgramT& program) { program.instructions[kForward]->workspace = kY; });
}

TEST(Checker, RefusesAReadBeforeTheWrite) {
  ExpectError(
      "instruction 0 (x^T y): operand 1 reads buffer 2 (activation y) before it is written",
      [](ProgramT& program) { std::swap(program.instructions[kForward], program.instructions[kBackward]); });
}

TEST(Checker, RefusesAReadOfAPartThatIsNotWritten) {
  ExpectError("operand 1 reads buffer 2 (activation y) before it is written", [](ProgramT& program) {
    for (int o : {0, 2}) program.instructions[kForward]->operands[o]->shape[0] = 2;
  });
}

TEST(Checker, RefusesAnOutputThatNothingWrites) {
  ExpectError("buffer 4 (output w): is an output that no instruction writes",
              [](ProgramT& program) { program.instructions.pop_back(); });
}

TEST(Checker, RefusesBuffersThatOverlapWhileLive) {
  ExpectError("overlaps buffer",
              [](ProgramT& program) { program.buffers[kOut]->offset = program.buffers[kX]->offset; });
}

TEST(Checker, AcceptsBuffersThatOverlapOneAfterTheOther) {
  ExecutableT executable = MakeExecutable({LinearGradient(2)}, 2);
  ProgramT& program = *executable.programs[0];
  // The output is written when the activation is no longer read.
  program.buffers[kY]->first_use = kForward;
  program.buffers[kY]->last_use = kBackward;
  program.buffers[kOut]->first_use = kCopyOut;
  program.buffers[kOut]->offset = program.buffers[kY]->offset;
  EXPECT_TRUE(Check(executable).ok()) << Check(executable);
  program.buffers[kOut]->first_use = kBackward;
  EXPECT_EQ(Check(executable).code(), absl::StatusCode::kInvalidArgument);
}

TEST(Checker, RefusesAUseAfterTheLastUse) {
  ExpectError("instruction 1 (x^T y): uses buffer 2 (activation y), which is live from instruction 0 to 0",
              [](ProgramT& program) {
                program.buffers[kY]->first_use = 0;
                program.buffers[kY]->last_use = 0;
              });
}

TEST(Checker, RefusesABufferOfACollectiveThatDiesBeforeItsEnd) {
  ExpectError("instruction 3 (end of 2): uses buffer 3", [](ProgramT& program) {
    program.buffers[kG]->first_use = kBackward;
    program.buffers[kG]->last_use = kStart;
  });
}

TEST(Checker, RefusesALibraryCallThatWritesWhatItReads) {
  ExpectError("instruction 0 (x w): writes operand 2 over operand 0",
              [](ProgramT& program) { program.instructions[kForward]->operands[2]->buffer = kX; });
}

TEST(Checker, RefusesACopyOfAnotherSize) {
  ExpectError("copies 32 bytes into 16", [](ProgramT& program) {
    program.instructions[kCopyOut]->operands[1]->shape = {2, 2};
  });
}

TEST(Checker, RefusesACollectiveThatNothingEnds) {
  ExpectError("instruction 2 (all_reduce of buffer 3): is started and never ended", [](ProgramT& program) {
    program.instructions.erase(program.instructions.begin() + kDone);
    program.instructions.pop_back();
    program.buffers[kOut]->kind = BufferKind::kActivation;
  });
}

TEST(Checker, RefusesAnEndOfNothing) {
  ExpectError("ends instruction 1, which is no operation in flight",
              [](ProgramT& program) { program.instructions[kDone]->start_index = 1; });
  ExpectError("which is no operation in flight", [](ProgramT& program) {
    program.instructions.push_back(std::make_unique<InstructionT>(*program.instructions[kDone]));
  });
}

TEST(Checker, RefusesATouchOfMemoryThatACollectiveWorksOn) {
  ExpectError(
      "instruction 3 (gradient of w): reads memory that instruction 2 started to work on",
      [](ProgramT& program) { std::swap(program.instructions[kDone], program.instructions[kCopyOut]); });
}

TEST(Checker, RefusesACollectiveInThePrivateArena) {
  ExpectError("operand 0 of a collective must lie in the shared arena", [](ProgramT& program) {
    program.buffers[kG]->segment = Segment::kPrivate;
    program.buffers[kG]->offset = 256;
    program.private_bytes = 320;
  });
}

TEST(Checker, RefusesAnUnknownCollective) {
  ExpectError("'all_redcue' is not one of all_reduce",
              [](ProgramT& program) { program.instructions[kStart]->target = "all_redcue"; });
}

TEST(Checker, RefusesCountsThatDoNotAddUp) {
  ExpectError("has 1 'counts' of 8 elements together, expected 2 of 8", [](ProgramT& program) {
    program.instructions[kStart]->target = "all_gather";
    auto counts = std::make_unique<IntegerAttributeT>();
    counts->name = "counts";
    counts->values = {8};
    program.instructions[kStart]->integers.push_back(std::move(counts));
  });
}

TEST(Checker, RefusesAGroupOutsideTheJob) {
  ExpectError("group 0: rank 2 is not one of 0 to 1", [](ProgramT& program) {
    program.groups[0]->ranks = {0, 2};
  });
  ExpectError("works on group 3 of 1", [](ProgramT& program) { program.instructions[kStart]->group = 3; });
}

TEST(Checker, RefusesARankOutsideTheGroupOfItsCollective) {
  ExpectError("rank 1 runs it and is no member of group 0",
              [](ProgramT& program) { program.groups[0]->ranks = {0}; });
}

TEST(Checker, RefusesAPeerOutsideTheJob) {
  ExpectError("has peer 2 in a job of 2 ranks", [](ProgramT& program) {
    program.instructions[kStart]->opcode = Opcode::kSend;
    program.instructions[kStart]->peer = 2;
  });
}

TEST(Checker, RefusesATagBelowZero) {
  ExpectError("has tag -1, expected one from 0 to 1073741822", [](ProgramT& program) {
    program.instructions[kStart]->opcode = Opcode::kSend;
    program.instructions[kStart]->peer = 1;
    program.instructions[kStart]->tag = -1;
  });
}

TEST(Checker, RefusesARootOutsideTheGroup) {
  ExpectError("has root 2 in a group of 2", [](ProgramT& program) {
    program.instructions[kStart]->target = "broadcast";
    program.instructions[kStart]->root = 2;
  });
}

TEST(Checker, RefusesAReferenceProgramThatCommunicates) {
  ExpectError("a reference program runs on one device",
              [](ProgramT& program) { program.mode = Mode::kReferenceGradient; });
}

TEST(Checker, RefusesMembersThatStartDifferentCollectives) {
  ExecutableT executable = MakeExecutable({LinearGradient(2), LinearGradient(2)}, 2);
  executable.rank_programs[0]->programs = {0};
  executable.rank_programs[1]->programs = {1};
  EXPECT_TRUE(Check(executable).ok()) << Check(executable);
  executable.programs[1]->instructions[kStart]->reduce = ReduceOp::kMax;
  absl::Status status = Check(executable);
  EXPECT_NE(status.message().find("rank 0 starts all_reduce 8 x f32, counts [], sum, root 0, tag 0, rank 1 starts "
                                  "all_reduce 8 x f32, counts [], max, root 0, tag 0 at instruction 2 (all_reduce of buffer 3)"),
            absl::string_view::npos)
      << status;
}

TEST(Checker, RefusesPersistentBuffersThatMoveBetweenModes) {
  ExecutableT executable = MakeExecutable({LinearGradient(1), LinearGradient(1, Mode::kTrain)}, 1);
  ProgramT& train = *executable.programs[1];
  train.private_bytes = 320;
  train.buffers[kW]->offset = 256;
  absl::Status status = Check(executable);
  EXPECT_NE(status.message().find("buffer 0 (parameter w): differs in place"), absl::string_view::npos)
      << status;
}

TEST(Checker, RefusesAModeWhoseActivationsLieOverAnotherModesParameters) {
  ExecutableT executable = MakeExecutable({LinearGradient(1), LinearGradient(1, Mode::kTrain)}, 1);
  auto momentum = std::make_unique<BufferT>(*executable.programs[1]->buffers[kW]);
  momentum->kind = BufferKind::kOptimizerState;
  momentum->offset = 256;
  executable.programs[1]->private_bytes = 320;
  executable.programs[1]->buffers.push_back(std::move(momentum));
  absl::Status status = Check(executable);
  EXPECT_NE(status.message().find("below the end of what persists over steps, 288"), absl::string_view::npos)
      << status;
}

InputT InputOf(const std::string& name, std::vector<int64_t> shape) {
  InputT input;
  input.name = name;
  input.shape = std::move(shape);
  return input;
}

TEST(Checker, RefusesInputsThatAreNotTheModels) {
  const auto with = [](const std::vector<InputT>& inputs) {
    return [inputs](ProgramT& program) {
      for (const InputT& input : inputs) program.inputs.push_back(std::make_unique<InputT>(input));
    };
  };
  const std::vector<int64_t> shape = MakeExecutable({LinearGradient(2)}, 2).programs[0]->buffers[kX]->global_shape;
  ExpectError("gradient program, buffer 1 (input x): is of no input that the program states", with({InputOf("z", shape)}));
  ExpectError("has another type or whole shape than the input of its name", with({InputOf("x", {3, 9})}));
  ExpectError("two inputs have the name 'x'", with({InputOf("x", shape), InputOf("x", shape)}));
  ExecutableT good = MakeExecutable({LinearGradient(2)}, 2);
  with({InputOf("labels", {9}), InputOf("x", shape)})(*good.programs[0]);
  EXPECT_TRUE(Check(good).ok()) << Check(good);
}

TEST(Checker, GivesAnInputItsMemoryFromItsFirstUseOn) {
  ExpectError("overlaps buffer", [](ProgramT& program) {
    program.buffers[kX]->first_use = -1;
    program.buffers[kX]->offset = program.buffers[kW]->offset;
  });
  ExpectError("uses buffer 1 (input x), which is live from instruction 1",
              [](ProgramT& program) { program.buffers[kX]->first_use = 1; });
}

TEST(Checker, RefusesARankWithoutProgramsAndTwoOfOneMode) {
  ExecutableT executable = MakeExecutable({LinearGradient(2)}, 2);
  executable.rank_programs.pop_back();
  EXPECT_NE(Check(executable).message().find("listed for 1 of 2 ranks"), absl::string_view::npos);
  executable = MakeExecutable({LinearGradient(1), LinearGradient(1)}, 1);
  EXPECT_NE(Check(executable).message().find("two programs of one mode"), absl::string_view::npos);
  executable = MakeExecutable({LinearGradient(1)}, 1);
  executable.rank_programs[0]->programs = {1};
  EXPECT_NE(Check(executable).message().find("runs program 1 of 1"), absl::string_view::npos);
}

// One kernel that adds x to y in place; its signature is that of the call.
ExecutableT WithKernel() {
  ProgramBuilder builder(Mode::kInfer);
  uint32_t x = builder.Buffer(BufferKind::kInput, "x", {4, 1}), y = builder.Buffer(BufferKind::kOutput, "y", {4, 1});
  builder.Operand(builder.Add(Opcode::kFill, "", "zeros"), y, Access::kWrite);
  InstructionT& call = builder.Add(Opcode::kKernel, "fusion_add", "add");
  call.parallel_extent = 4;
  builder.Operand(call, x, Access::kRead);
  builder.Operand(call, y, Access::kReadWrite);
  auto kernel = std::make_unique<KernelT>();
  kernel->symbol = "fusion_add";
  kernel->parallel_extent = 4;
  for (const auto& operand : call.operands) {
    auto view = std::make_unique<KernelOperandT>();
    view->access = operand->access;
    view->element_type = operand->element_type;
    view->shape = operand->shape;
    view->strides = operand->strides;
    kernel->operands.push_back(std::move(view));
  }
  ExecutableT executable = MakeExecutable({builder}, 1);
  executable.kernels.push_back(std::move(kernel));
  return executable;
}

TEST(Checker, AcceptsAKernelThatIsCalledAsItWasGenerated) {
  ExecutableT executable = WithKernel();
  // The stride of a dimension of one element says nothing.
  executable.programs[0]->instructions[1]->operands[0]->strides[1] = 7;
  EXPECT_TRUE(Check(executable).ok()) << Check(executable);
}

void ExpectKernelError(const std::string& message, const std::function<void(ExecutableT&, InstructionT&)>& change) {
  ExecutableT executable = WithKernel();
  change(executable, *executable.programs[0]->instructions[1]);
  absl::Status status = Check(executable);
  EXPECT_NE(status.message().find(message), absl::string_view::npos) << status;
}

TEST(Checker, RefusesAKernelOfAnotherSize) {
  ExpectKernelError("instruction 1 (add): operand 0 is kRead f32 [3,1] with strides [1,1], and its kernel was made for "
                    "kRead f32 [4,1] with strides [1,1]",
                    [](ExecutableT&, InstructionT& call) { call.operands[0]->shape[0] = 3; });
}

TEST(Checker, RefusesAKernelOfAnotherExtent) {
  ExpectKernelError("has parallel extent 5, and its kernel was made for 4",
                    [](ExecutableT&, InstructionT& call) { call.parallel_extent = 5; });
}

TEST(Checker, RefusesAKernelWithAnotherNumberOfOperands) {
  ExpectKernelError("has 1 operands, and its kernel was made for 2",
                    [](ExecutableT&, InstructionT& call) { call.operands.erase(call.operands.begin()); });
}

TEST(Checker, RefusesAKernelWithoutASignatureAndOneWithTwo) {
  ExpectKernelError("calls kernel 'fusion_other', of which the executable has no signature",
                    [](ExecutableT&, InstructionT& call) { call.target = "fusion_other"; });
  ExpectKernelError("kernel 'fusion_add' has two signatures", [](ExecutableT& executable, InstructionT&) {
    executable.kernels.push_back(std::make_unique<KernelT>(*executable.kernels[0]));
  });
}

TEST(Checker, RefusesARankThatHasNotWrittenItsPartOfAnAllGather) {
  ProgramBuilder builder(Mode::kInfer);
  int32_t group = builder.Group({0, 1});
  uint32_t gathered = builder.Buffer(BufferKind::kActivation, "g", {5}, Segment::kShared);
  InstructionT& fill = builder.Add(Opcode::kFill, "", "part");
  OperandT& part = builder.Operand(fill, gathered, Access::kWrite);
  part.shape = {2};
  int32_t start = builder.StartCollective("all_gather", gathered, group);
  auto counts = std::make_unique<IntegerAttributeT>();
  counts->name = "counts";
  counts->values = {2, 3};
  builder.get().instructions[start]->integers.push_back(std::move(counts));
  builder.Done(start);
  ProgramBuilder second = builder;
  second.get().instructions[0]->operands[0]->shape = {3};
  second.get().instructions[0]->operands[0]->offset_elements = 2;
  ExecutableT executable = MakeExecutable({builder, second}, 2);
  executable.rank_programs[0]->programs = {0};
  executable.rank_programs[1]->programs = {1};
  EXPECT_TRUE(Check(executable).ok()) << Check(executable);
  executable.rank_programs[1]->programs = {0};
  EXPECT_NE(Check(executable).message().find("rank 1 has not written what it brings to this all_gather"),
            absl::string_view::npos)
      << Check(executable);
}

TEST(Checker, RefusesARootThatHasNotWrittenWhatItBroadcasts) {
  ProgramBuilder builder(Mode::kInfer);
  uint32_t buffer = builder.Buffer(BufferKind::kActivation, "b", {5}, Segment::kShared);
  int32_t start = builder.StartCollective("broadcast", buffer, builder.Group({0, 1}));
  builder.get().instructions[start]->root = 1;
  builder.Done(start);
  EXPECT_NE(Check(MakeExecutable({builder}, 2)).message().find("rank 1 has not written what it brings to this broadcast"),
            absl::string_view::npos);
}

}  // namespace
}  // namespace pdc::program
