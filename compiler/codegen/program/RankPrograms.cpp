//===- RankPrograms.cpp - rt programs as tables of the program format -----===//

#include "compiler/codegen/program/RankPrograms.h"
#include "dialects/nn/IR/Distribution.h"
#include "dialects/nn/IR/NN.h"
#include "dialects/rt/IR/Rt.h"
#include "passes/memory/Instruction.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace pdc;
using namespace pdc::codegen;

//===----------------------------------------------------------------------===//
// Contents of constants
//===----------------------------------------------------------------------===//

template <typename T> static void append(std::vector<uint8_t> &bytes, T value) {
  const auto *raw = reinterpret_cast<const uint8_t *>(&value);
  bytes.insert(bytes.end(), raw, raw + sizeof(T));
}

static void appendBits(std::vector<uint8_t> &bytes, const llvm::APInt &bits) {
  for (unsigned begin = 0; begin < bits.getBitWidth(); begin += 8)
    bytes.push_back(
        static_cast<uint8_t>(bits.extractBitsAsZExtValue(std::min(8u, bits.getBitWidth() - begin), begin)));
}

/// Little-endian, row-major; i1 takes a byte. False where the attribute's elements cannot be read.
static bool appendElements(std::vector<uint8_t> &bytes, ElementsAttr value) {
  if (isa<FloatType>(value.getElementType())) {
    auto elements = value.tryGetValues<APFloat>();
    if (!elements)
      return false;
    for (const APFloat &element : *elements)
      appendBits(bytes, element.bitcastToAPInt());
    return true;
  }
  auto elements = value.tryGetValues<APInt>();
  if (!elements)
    return false;
  for (const APInt &element : *elements)
    appendBits(bytes, element);
  return true;
}

namespace {

/// One rt.program for one of its ranks.
class ProgramWriter {
public:
  ProgramWriter(rt::ProgramOp program, size_t rankIndex, const RankProgramsOptions &options)
      : program(program), rankIndex(rankIndex), options(options) {}

  FailureOr<program::ProgramT> write() {
    result.mode = llvm::StringSwitch<program::Mode>(program.getMode())
                      .Case("train", program::Mode::kTrain)
                      .Case("gradient", program::Mode::kGradient)
                      .Case("evaluate", program::Mode::kEvaluate)
                      .Case("infer", program::Mode::kInfer)
                      .Default(program::Mode::kReferenceGradient);
    if (!program.getPrivateBytes() || !program.getSharedBytes())
      return program.emitOpError("has no sizes of its arenas: memory must run before it is written"),
             failure();
    result.private_bytes = *program.getPrivateBytes();
    result.shared_bytes = *program.getSharedBytes();
    result.batch = program.getBatch();
    result.local_batch = program.getLocalBatch();
    result.batch_start = program.getBatchStarts()[rankIndex];
    for (rt::BufferOp buffer : program.getOps<rt::BufferOp>())
      if (failed(writeBuffer(buffer)))
        return failure();
    for (Operation &op : program.getBody().front())
      if (rt::isInstruction(&op) && failed(writeInstruction(&op)))
        return failure();
    return std::move(result);
  }

private:
  LogicalResult writeBuffer(rt::BufferOp op) {
    auto buffer = std::make_unique<program::BufferT>();
    MemRefType type = op.getType();
    int64_t rank = type.getRank();
    if (!op.getOffset())
      return op.emitOpError("has no offset: memory must run before it is written");
    buffer->name = op.getName().str();
    // The enumerations list the same cases in the same order.
    buffer->kind = static_cast<program::BufferKind>(op.getKind());
    buffer->segment = static_cast<program::Segment>(op.getSegment());
    buffer->offset = *op.getOffset();
    buffer->bytes = op.getBytes();
    buffer->element_type = passes::toElementType(type.getElementType());
    buffer->shape.assign(type.getShape().begin(), type.getShape().end());
    if (op.getGlobalShape()) {
      buffer->global_shape.assign(op.getGlobalShape()->begin(), op.getGlobalShape()->end());
      if (op.getStarts()) {
        ArrayRef<int64_t> starts = op.getStarts()->slice(rankIndex * rank, rank);
        buffer->start.assign(starts.begin(), starts.end());
      } else {
        buffer->start.assign(rank, 0);
      }
    }
    if (op.getDeclaredShape())
      buffer->declared_shape.assign(op.getDeclaredShape()->begin(), op.getDeclaredShape()->end());
    if (failed(writeContents(op, *buffer)))
      return failure();
    buffer->reduction =
        op.getSharded() ? program::OutputReduction::kSharded : program::OutputReduction::kReplicated;
    buffer->optimizer_slot = op.getSlot().value_or("").str();
    buffer->first_use = static_cast<int32_t>(op.getFirstUse().value_or(-1));
    buffer->last_use = static_cast<int32_t>(op.getLastUse().value_or(-1));
    buffer->parameter = op.getGradient();
    indices[op] = result.buffers.size();
    result.buffers.push_back(std::move(buffer));
    return success();
  }

  LogicalResult writeContents(rt::BufferOp op, program::BufferT &buffer) {
    if (op.getRankValues())
      append(buffer.constant, (*op.getRankValues())[rankIndex]);
    if (op.getValue() && !appendElements(buffer.constant, *op.getValue()))
      return op.emitOpError() << "has contents that cannot be written: " << *op.getValue();
    if (!op.isPersistent() || program.getMode() == "reference_gradient")
      return success();
    auto init = dyn_cast_or_null<nn::InitializerAttr>(op.getInitAttr());
    if (!init)
      return op.emitOpError("persists over steps and has no initializer (init)");
    ArrayRef<int64_t> shape = op.getDeclaredShape() ? *op.getDeclaredShape()
                              : op.getGlobalShape() ? *op.getGlobalShape() : op.getType().getShape();
    FailureOr<nn::Distribution> distribution = init.resolve(shape, [&] { return op.emitOpError(); });
    if (failed(distribution))
      return failure();
    buffer.initializer = std::make_unique<program::InitializerT>();
    // The enumerations list the same cases in the same order.
    buffer.initializer->kind = static_cast<program::InitializerKind>(distribution->kind);
    buffer.initializer->a = distribution->a;
    buffer.initializer->b = distribution->b;
    return success();
  }

  LogicalResult writeInstruction(Operation *op) {
    auto instruction = std::make_unique<program::InstructionT>(passes::toInstruction(
        op, [&](rt::BufferOp buffer) { return indices.lookup(buffer); }, rankIndex));
    if (auto kernel = dyn_cast<rt::KernelOp>(op)) {
      auto entry = options.kernels.find(kernel.getCallee().str());
      if (entry == options.kernels.end())
        return kernel.emitOpError() << "calls " << kernel.getCalleeAttr()
                                    << ", for which no code was generated";
      instruction->target = entry->second.symbol;
      instruction->parallel_extent = entry->second.parallelExtent;
    }
    if (auto start = dyn_cast<rt::CollectiveStartOp>(op)) {
      FailureOr<int32_t> group = groupOf(start);
      if (failed(group))
        return failure();
      instruction->group = *group;
      starts[start.getToken()] = static_cast<int32_t>(result.instructions.size());
    }
    auto message = [&](auto start) {
      instruction->peer = static_cast<int32_t>(start.getPeers()[rankIndex]);
      starts[start.getToken()] = static_cast<int32_t>(result.instructions.size());
    };
    if (auto send = dyn_cast<rt::SendStartOp>(op))
      message(send);
    if (auto receive = dyn_cast<rt::ReceiveStartOp>(op))
      message(receive);
    if (auto done = dyn_cast<rt::CollectiveDoneOp>(op))
      instruction->start_index = starts.lookup(done.getToken());
    result.instructions.push_back(std::move(instruction));
    return success();
  }

  /// The group of this rank among the collective's groups, as an index into the program's.
  FailureOr<int32_t> groupOf(rt::CollectiveStartOp start) {
    int64_t rank = program.getRanks()[rankIndex];
    for (Attribute attribute : start.getGroups()) {
      ArrayRef<int64_t> members = cast<DenseI64ArrayAttr>(attribute);
      if (!llvm::is_contained(members, rank))
        continue;
      std::vector<int32_t> ranks(members.begin(), members.end());
      for (auto [index, group] : llvm::enumerate(result.groups))
        if (group->ranks == ranks)
          return static_cast<int32_t>(index);
      result.groups.push_back(std::make_unique<program::GroupT>());
      result.groups.back()->ranks = ranks;
      return static_cast<int32_t>(result.groups.size() - 1);
    }
    return start.emitOpError() << "has no group with rank " << rank;
  }

  rt::ProgramOp program;
  size_t rankIndex;
  const RankProgramsOptions &options;
  program::ProgramT result;
  DenseMap<Operation *, uint32_t> indices;
  DenseMap<Value, int32_t> starts;
};

} // namespace

/// The signature of the kernel that `instruction` calls: it was generated for this call, or for one just like it.
static std::unique_ptr<program::KernelT> signatureOf(const program::InstructionT &instruction) {
  auto kernel = std::make_unique<program::KernelT>();
  kernel->symbol = instruction.target;
  kernel->parallel_extent = instruction.parallel_extent;
  for (const auto &operand : instruction.operands) {
    auto view = std::make_unique<program::KernelOperandT>();
    view->access = operand->access;
    view->element_type = operand->element_type;
    view->shape = operand->shape;
    view->strides = operand->strides;
    kernel->operands.push_back(std::move(view));
  }
  return kernel;
}

static void listKernels(program::ExecutableT &executable) {
  std::map<std::string, std::unique_ptr<program::KernelT>> kernels;
  for (const auto &program : executable.programs)
    for (const auto &instruction : program->instructions)
      if (instruction->opcode == program::Opcode::kKernel && !kernels.count(instruction->target))
        kernels[instruction->target] = signatureOf(*instruction);
  executable.kernels.clear();
  for (auto &[symbol, kernel] : kernels)
    executable.kernels.push_back(std::move(kernel));
}

static std::string bytesOf(const program::ProgramT &program) {
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(program::Program::Pack(builder, &program));
  return std::string(reinterpret_cast<const char *>(builder.GetBufferPointer()), builder.GetSize());
}

LogicalResult codegen::writeRankPrograms(ModuleOp module, const RankProgramsOptions &options,
                                         program::ExecutableT &executable) {
  std::map<int64_t, std::vector<uint32_t>> byRank;
  std::map<std::string, uint32_t> known;
  for (rt::ProgramOp op : module.getOps<rt::ProgramOp>()) {
    for (auto [index, rank] : llvm::enumerate(op.getRanks())) {
      FailureOr<program::ProgramT> written = ProgramWriter(op, index, options).write();
      if (failed(written))
        return failure();
      auto [entry, inserted] =
          known.try_emplace(bytesOf(*written), static_cast<uint32_t>(executable.programs.size()));
      if (inserted)
        executable.programs.push_back(std::make_unique<program::ProgramT>(std::move(*written)));
      byRank[rank].push_back(entry->second);
    }
  }
  for (auto &[rank, programs] : byRank) {
    if (rank != static_cast<int64_t>(executable.rank_programs.size()))
      return module.emitError() << "has no program for rank " << executable.rank_programs.size();
    auto entry = std::make_unique<program::RankProgramsT>();
    entry->rank = static_cast<int32_t>(rank);
    entry->programs = programs;
    executable.rank_programs.push_back(std::move(entry));
  }
  executable.ranks = static_cast<int32_t>(executable.rank_programs.size());
  listKernels(executable);
  return success();
}
