#include "runtime/profile/compute.h"

#include <unistd.h>

#include <cstring>
#include <memory>
#include <utility>

#include "runtime/base/memory.h"
#include "runtime/base/status.h"
#include "runtime/base/workers.h"
#include "runtime/kernels/library.h"
#include "runtime/profile/loops.h"
#include "runtime/program/call_name.h"
#include "runtime/program/view.h"

namespace pdc::profile {

namespace {

using program::Access;
using program::ElementType;
using Dims = std::vector<int64_t>;

double Budget(bool quick) { return quick ? 0.05 : 0.25; }

// Matrices of about one, for all element types; ids of zero.
void FillOperand(ElementType type, std::byte* data, size_t bytes) {
  if (type == ElementType::kI32) return;
  auto* f32 = reinterpret_cast<float*>(data);
  auto* bf16 = reinterpret_cast<uint16_t*>(data);
  for (size_t i = 0; i < bytes / program::ElementBytes(type); ++i) {
    if (type == ElementType::kF32) f32[i] = static_cast<float>(i % 7) * 0.25f - 0.75f;
    if (type == ElementType::kBF16) bf16[i] = static_cast<uint16_t>(i % 2 == 0 ? 0x3f00 : 0xbf40);
  }
}

// One library call with memory of its own.
class LibraryCall {
 public:
  explicit LibraryCall(std::string target) {
    instruction_.opcode = program::Opcode::kLibrary;
    instruction_.target = std::move(target);
  }

  LibraryCall& Operand(Dims shape, ElementType type, Access access) {
    auto operand = std::make_unique<program::OperandT>();
    operand->buffer = static_cast<uint32_t>(instruction_.operands.size());
    operand->access = access;
    operand->element_type = type;
    operand->strides.resize(shape.size());
    int64_t stride = 1;
    for (size_t i = shape.size(); i-- > 0; stride *= shape[i]) operand->strides[i] = stride;
    operand->shape = std::move(shape);
    instruction_.operands.push_back(std::move(operand));
    return *this;
  }
  LibraryCall& Attribute(std::string name, Dims values) {
    auto attribute = std::make_unique<program::IntegerAttributeT>();
    attribute->name = std::move(name);
    attribute->values = std::move(values);
    instruction_.integers.push_back(std::move(attribute));
    return *this;
  }

  // Allocates, and makes the call ready.
  absl::Status Prepare() {
    constexpr int kThreads = 1;
    kernels::Binding binding;
    for (const auto& operand : instruction_.operands) {
      PDC_ASSIGN_OR_RETURN(HugeMemory memory, HugeMemory::Allocate(BytesOf(*operand)));
      FillOperand(operand->element_type, memory.data(), memory.bytes());
      binding.operands.push_back(memory.data());
      memory_.push_back(std::move(memory));
    }
    PDC_ASSIGN_OR_RETURN(int64_t workspace_bytes, kernels::WorkspaceBytes(instruction_, kThreads));
    PDC_ASSIGN_OR_RETURN(HugeMemory workspace, HugeMemory::Allocate(static_cast<size_t>(workspace_bytes)));
    binding.workspace = workspace.data();
    binding.workspace_bytes = workspace_bytes;
    binding.workers = Workers(kThreads);
    memory_.push_back(std::move(workspace));
    builder_.Finish(program::Instruction::Pack(builder_, &instruction_));
    PDC_ASSIGN_OR_RETURN(call_, kernels::PrepareCall(packed(), binding));
    return absl::OkStatus();
  }

  absl::Status Run() { return call_->Run(); }
  double flops() const { return kernels::Flops(packed()); }
  std::byte* operand(size_t i) { return memory_[i].data(); }

  std::string name() const { return program::CallName(instruction_); }

  double bytes() const {
    double bytes = 0;
    for (const auto& operand : instruction_.operands) bytes += static_cast<double>(BytesOf(*operand));
    return bytes;
  }

 private:
  static size_t BytesOf(const program::OperandT& operand) {
    size_t bytes = program::ElementBytes(operand.element_type);
    for (int64_t size : operand.shape) bytes *= static_cast<size_t>(size);
    return bytes;
  }
  const program::Instruction& packed() const {
    return *flatbuffers::GetRoot<program::Instruction>(builder_.GetBufferPointer());
  }

  program::InstructionT instruction_;
  flatbuffers::FlatBufferBuilder builder_;
  std::vector<HugeMemory> memory_;
  std::unique_ptr<kernels::Call> call_;
};

absl::StatusOr<ComputePoint> MeasureCall(LibraryCall& call, const char* op_class, ElementType type,
                                         double budget_seconds) {
  PDC_RETURN_IF_ERROR(call.Prepare());
  ComputePoint point;
  point.op_class = op_class;
  point.precision = type == ElementType::kBF16 ? "bf16" : "f32";
  point.call = call.name();
  point.flops = call.flops();
  point.bytes = call.bytes();
  PDC_ASSIGN_OR_RETURN(point.sample, Measure([&call] { return call.Run(); }, budget_seconds));
  return point;
}

absl::StatusOr<ComputePoint> MeasureMatmul(int64_t m, int64_t n, int64_t k, ElementType type,
                                           double budget_seconds) {
  LibraryCall call("matmul");
  call.Operand({m, k}, type, Access::kRead)
      .Operand({k, n}, type, Access::kRead)
      .Operand({m, n}, type, Access::kWrite);
  return MeasureCall(call, "matmul", type, budget_seconds);
}

// A 3x3 convolution with padding, of `channels` to as many.
absl::StatusOr<ComputePoint> MeasureConvolution(int64_t images, int64_t channels, int64_t size,
                                                ElementType type, double budget_seconds) {
  LibraryCall call("conv2d");
  call.Operand({images, channels, size, size}, type, Access::kRead)
      .Operand({channels, channels, 3, 3}, type, Access::kRead)
      .Operand({images, channels, size, size}, type, Access::kWrite)
      .Attribute("padding", {1, 1, 1, 1});
  return MeasureCall(call, "convolution", type, budget_seconds);
}

// 2x2 windows that do not overlap.
absl::StatusOr<ComputePoint> MeasurePooling(int64_t images, int64_t channels, int64_t size, double budget_seconds) {
  LibraryCall call("max_pool2d");
  call.Operand({images, channels, size, size}, ElementType::kF32, Access::kRead)
      .Operand({images, channels, size / 2, size / 2}, ElementType::kF32, Access::kWrite)
      .Attribute("kernel", {2, 2})
      .Attribute("stride", {2, 2});
  return MeasureCall(call, "pooling", ElementType::kF32, budget_seconds);
}

// Rows of 256 numbers from a table of 16 MiB, in an order that prefetching does not guess.
absl::StatusOr<ComputePoint> MeasureGather(int64_t rows, double budget_seconds) {
  constexpr int64_t kTable = 16384, kWidth = 256;
  LibraryCall call("embedding");
  call.Operand({kTable, kWidth}, ElementType::kF32, Access::kRead)
      .Operand({rows}, ElementType::kI32, Access::kRead)
      .Operand({rows, kWidth}, ElementType::kF32, Access::kWrite);
  PDC_RETURN_IF_ERROR(call.Prepare());
  auto* ids = reinterpret_cast<int32_t*>(call.operand(1));
  for (int64_t i = 0; i < rows; ++i) ids[i] = static_cast<int32_t>(i * 7919 % kTable);
  ComputePoint point;
  point.op_class = "gather";
  point.precision = "f32";
  // The table is not read as a whole.
  point.bytes = 2.0 * static_cast<double>(rows * kWidth) * sizeof(float);
  PDC_ASSIGN_OR_RETURN(point.sample, Measure([&call] { return call.Run(); }, budget_seconds));
  return point;
}

// The classes that memory limits, over `bytes` read and written. What a loop writes its cache fetches first, and that counts
// as in compiler/cost/OpWork.h; memcpy() writes large copies past the caches.
absl::Status MeasureLoops(size_t bytes, float* x, float* y, double budget_seconds,
                          std::vector<ComputePoint>* points) {
  const auto half = static_cast<int64_t>(bytes / 2 / sizeof(float));
  const auto whole = static_cast<int64_t>(bytes / sizeof(float));
  volatile float sink = 0;
  auto add = [&](const char* op_class, const std::function<void()>& body, double fetched = 0) -> absl::Status {
    ComputePoint point;
    point.op_class = op_class;
    point.precision = "f32";
    point.bytes = fetched + static_cast<double>(bytes);
    auto run = [&body] {
      body();
      return absl::OkStatus();
    };
    PDC_ASSIGN_OR_RETURN(point.sample, Measure(run, budget_seconds));
    points->push_back(std::move(point));
    return absl::OkStatus();
  };
  PDC_RETURN_IF_ERROR(add("elementwise", [&] { Elementwise(y, x, half); }, static_cast<double>(bytes) / 2));
  PDC_RETURN_IF_ERROR(add("reduction", [&] { sink = Sum(x, whole); }));
  return add("copy", [&] { std::memcpy(y, x, bytes / 2); });
}

}  // namespace

absl::StatusOr<std::vector<ComputePoint>> MeasureLibraryCalls(bool quick) {
  const double budget = Budget(quick);
  std::vector<ComputePoint> points;
  // A precision that this processor has no code for is not measured.
  auto add = [&points](absl::StatusOr<ComputePoint> point) -> absl::Status {
    if (point.ok()) points.push_back(std::move(*point));
    return absl::IsUnimplemented(point.status()) ? absl::OkStatus() : point.status();
  };
  for (ElementType type : {ElementType::kF32, ElementType::kBF16}) {
    const std::vector<int64_t> sizes =
        quick ? std::vector<int64_t>{64, 256, 1024} : std::vector<int64_t>{32, 64, 128, 256, 512, 1024, 1536};
    for (int64_t size : sizes) PDC_RETURN_IF_ERROR(add(MeasureMatmul(size, size, size, type, budget)));
  }
  // Early layers have few channels and large images, late ones many and small.
  struct Layer {
    int64_t images, channels, size;
  };
  const std::vector<Layer> layers =
      quick ? std::vector<Layer>{{1, 16, 16}, {4, 64, 28}}
            : std::vector<Layer>{{1, 16, 16}, {2, 32, 28}, {4, 64, 28}, {4, 64, 56}, {8, 256, 28}};
  for (const Layer& layer : layers) {
    PDC_RETURN_IF_ERROR(
        add(MeasureConvolution(layer.images, layer.channels, layer.size, ElementType::kF32, budget)));
  }
  for (int64_t size : {16, 64}) PDC_RETURN_IF_ERROR(add(MeasurePooling(8, 16, size, budget / 2)));
  return points;
}

namespace {

// Last-level caches of servers hold hundreds of megabytes, which a rank may have for itself. Yet not so much that the ranks
// of a small machine would not find it.
size_t LargestArrays(bool quick) {
  const auto memory = static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGESIZE));
  size_t bytes = (quick ? size_t{64} : size_t{1024}) << 20;
  while (bytes > memory / 16) bytes /= 2;
  return bytes;
}

}  // namespace

absl::StatusOr<std::vector<ComputePoint>> MeasureMoves(bool quick) {
  const double budget = Budget(quick);
  std::vector<ComputePoint> points;
  const size_t largest = LargestArrays(quick);
  PDC_ASSIGN_OR_RETURN(HugeMemory x, HugeMemory::Allocate(largest));
  PDC_ASSIGN_OR_RETURN(HugeMemory y, HugeMemory::Allocate(largest / 2));
  std::vector<size_t> bytes = quick ? std::vector<size_t>{16 << 10, 1 << 20, 16 << 20}
                                    : std::vector<size_t>{4 << 10, 32 << 10, 256 << 10, 2 << 20, 16 << 20, 64 << 20};
  bytes.push_back(largest);
  for (size_t size : bytes) {
    PDC_RETURN_IF_ERROR(MeasureLoops(size, reinterpret_cast<float*>(x.data()),
                                     reinterpret_cast<float*>(y.data()), budget / 2, &points));
  }
  for (int64_t rows : {16, 256, 4096}) {
    PDC_ASSIGN_OR_RETURN(ComputePoint gather, MeasureGather(rows, budget / 2));
    points.push_back(std::move(gather));
  }
  return points;
}

int64_t VectorLanes() {
  if (__builtin_cpu_supports("avx512f")) return 16;
  return __builtin_cpu_supports("avx2") ? 8 : 4;
}

absl::StatusOr<Sample> MeasureInstruction(bool quick) {
  LibraryCall call("copy_view");
  call.Operand({16}, ElementType::kF32, Access::kRead).Operand({16}, ElementType::kF32, Access::kWrite);
  PDC_RETURN_IF_ERROR(call.Prepare());
  return Measure([&call] { return call.Run(); }, Budget(quick) / 2);
}

absl::StatusOr<ComputePoint> MeasureMemory(bool quick) {
  const auto count = static_cast<int64_t>(LargestArrays(quick) / 4 / sizeof(float));
  PDC_ASSIGN_OR_RETURN(HugeMemory memory, HugeMemory::Allocate(3 * count * sizeof(float)));
  auto* a = reinterpret_cast<float*>(memory.data());
  ComputePoint point;
  point.op_class = "triad";
  point.precision = "f32";
  point.bytes = 4.0 * static_cast<double>(count) * sizeof(float);  // fetched before it is written, too
  auto run = [a, count] {
    Triad(a, a + count, a + 2 * count, count);
    return absl::OkStatus();
  };
  PDC_ASSIGN_OR_RETURN(point.sample, Measure(run, 2 * Budget(quick)));
  return point;
}

}  // namespace pdc::profile
