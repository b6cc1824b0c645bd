#include "runtime/device/cpu/cpu_device.h"

#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/base/memory.h"
#include "runtime/base/status.h"
#include "runtime/base/workers.h"
#include "runtime/device/cpu/features.h"
#include "runtime/device/cpu/kernel_library.h"
#include "runtime/kernels/library.h"
#include "runtime/program/view.h"

namespace pdc::device {
namespace {

using program::Instruction;
using program::Opcode;
using program::Operand;
using program::Program;

// What a thread moves at least: below this, starting threads costs more than it gains.
constexpr int64_t kBytesPerPart = 64 << 10;

class PreparedKernel : public Prepared {
 public:
  PreparedKernel(KernelFunction function, std::vector<void*> arguments, int64_t extent, Workers workers)
      : function_(function), arguments_(std::move(arguments)), extent_(extent), workers_(workers) {}

  absl::Status Run() override {
    workers_.ParallelFor(extent_,
                         [this](IndexRange range) { function_(arguments_.data(), range.begin, range.end); });
    return absl::OkStatus();
  }

 private:
  KernelFunction function_;
  std::vector<void*> arguments_;
  int64_t extent_;
  Workers workers_;
};

class PreparedCall : public Prepared {
 public:
  explicit PreparedCall(std::unique_ptr<kernels::Call> call) : call_(std::move(call)) {}
  absl::Status Run() override { return call_->Run(); }

 private:
  std::unique_ptr<kernels::Call> call_;
};

// kFill and kCopy, cut at 64-byte lines so that no two threads write to one.
class PreparedMove : public Prepared {
 public:
  // A null `from` stands for zeros.
  PreparedMove(const std::byte* from, std::byte* to, int64_t bytes, Workers workers)
      : from_(from), to_(to), bytes_(bytes), workers_(workers) {}

  absl::Status Run() override {
    if (bytes_ < 2 * kBytesPerPart) {
      Move({0, bytes_});
      return absl::OkStatus();
    }
    workers_.ParallelFor((bytes_ + 63) / 64, [this](IndexRange lines) {
      Move({lines.begin * 64, lines.end * 64 < bytes_ ? lines.end * 64 : bytes_});
    });
    return absl::OkStatus();
  }

 private:
  void Move(IndexRange range) {
    size_t bytes = static_cast<size_t>(range.end - range.begin);
    if (bytes == 0) return;
    if (from_ == nullptr) {
      std::memset(to_ + range.begin, 0, bytes);
    } else {
      std::memcpy(to_ + range.begin, from_ + range.begin, bytes);
    }
  }

  const std::byte* from_;
  std::byte* to_;
  int64_t bytes_;
  Workers workers_;
};

// Resolves the addresses of one instruction.
class Resolver {
 public:
  Resolver(const Program& program, const Instruction& instruction, const Arenas& arenas)
      : program_(program), instruction_(instruction), arenas_(arenas) {}

  std::byte* BufferAddress(uint32_t index) const {
    const program::Buffer& buffer = *program_.buffers()->Get(index);
    bool shared = buffer.segment() == program::Segment::kShared;
    return (shared ? arenas_.shared_base : arenas_.private_base) + buffer.offset();
  }

  const Operand& operand(uint32_t index) const { return *instruction_.operands()->Get(index); }

  std::byte* OperandAddress(uint32_t index) const {
    const Operand& view = operand(index);
    return BufferAddress(view.buffer()) + view.offset_elements() * program::ElementBytes(view.element_type());
  }

  int64_t OperandBytes(uint32_t index) const {
    const Operand& view = operand(index);
    return program::ElementCount(program::Span(view.shape())) * program::ElementBytes(view.element_type());
  }

  std::vector<std::byte*> OperandAddresses() const {
    std::vector<std::byte*> addresses;
    for (uint32_t i = 0; i < program::Size(instruction_.operands()); ++i)
      addresses.push_back(OperandAddress(i));
    return addresses;
  }

 private:
  const Program& program_;
  const Instruction& instruction_;
  const Arenas& arenas_;
};

class CpuDevice : public Device {
 public:
  explicit CpuDevice(int threads) : workers_(threads) {}

  std::string name() const override { return "cpu"; }

  absl::StatusOr<void*> Allocate(size_t bytes) override {
    PDC_ASSIGN_OR_RETURN(HugeMemory memory, HugeMemory::Allocate(bytes));
    memory_.push_back(std::move(memory));
    return memory_.back().data();
  }

  absl::Status LoadKernels(const std::byte* image, size_t bytes, std::string_view features) override {
    PDC_RETURN_IF_ERROR(CheckCpuFeatures(features));
    PDC_ASSIGN_OR_RETURN(kernels_, KernelLibrary::Load(image, bytes));
    return absl::OkStatus();
  }

  absl::StatusOr<std::unique_ptr<Prepared>> Prepare(const Program& program, const Instruction& instruction,
                                                    const Arenas& arenas) override {
    Resolver resolver(program, instruction, arenas);
    switch (instruction.opcode()) {
      case Opcode::kKernel:
        return PrepareKernel(resolver, instruction);
      case Opcode::kLibrary:
        return PrepareLibrary(resolver, program, instruction);
      case Opcode::kFill:
        return std::make_unique<PreparedMove>(nullptr, resolver.OperandAddress(0), resolver.OperandBytes(0),
                                              workers_);
      case Opcode::kCopy:
        return std::make_unique<PreparedMove>(resolver.OperandAddress(0), resolver.OperandAddress(1),
                                              resolver.OperandBytes(0), workers_);
      default:
        return absl::InvalidArgumentError(
            absl::StrCat(program::EnumNameOpcode(instruction.opcode()), " is no instruction of a device"));
    }
  }

 private:
  absl::StatusOr<std::unique_ptr<Prepared>> PrepareKernel(const Resolver& resolver,
                                                          const Instruction& instruction) {
    PDC_ASSIGN_OR_RETURN(KernelFunction function, kernels_.Find(program::Text(instruction.target())));
    std::vector<void*> arguments;
    for (std::byte* address : resolver.OperandAddresses()) arguments.push_back(address);
    if (instruction.workspace() >= 0) arguments.push_back(resolver.BufferAddress(instruction.workspace()));
    return std::make_unique<PreparedKernel>(function, std::move(arguments), instruction.parallel_extent(),
                                            workers_);
  }

  absl::StatusOr<std::unique_ptr<Prepared>> PrepareLibrary(const Resolver& resolver, const Program& program,
                                                           const Instruction& instruction) {
    kernels::Binding binding;
    binding.operands = resolver.OperandAddresses();
    binding.workers = workers_;
    if (instruction.workspace() >= 0) {
      binding.workspace = resolver.BufferAddress(instruction.workspace());
      binding.workspace_bytes =
          static_cast<int64_t>(program.buffers()->Get(instruction.workspace())->bytes());
    }
    PDC_ASSIGN_OR_RETURN(std::unique_ptr<kernels::Call> call, kernels::PrepareCall(instruction, binding));
    return std::make_unique<PreparedCall>(std::move(call));
  }

  Workers workers_;
  KernelLibrary kernels_;
  std::vector<HugeMemory> memory_;
};

}  // namespace

std::unique_ptr<Device> CreateCpuDevice(int threads) { return std::make_unique<CpuDevice>(threads); }

}  // namespace pdc::device
