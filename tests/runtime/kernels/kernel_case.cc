#include "tests/runtime/kernels/kernel_case.h"

#include <cmath>
#include <cstring>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/memory.h"
#include "runtime/base/status.h"
#include "runtime/kernels/library.h"
#include "runtime/kernels/native/bf16.h"
#include "runtime/kernels/reference/reference.h"
#include "runtime/program/view.h"

namespace pdc::kernels {
namespace {

using program::ElementType;

double Element(ElementType type, const std::byte* data, size_t index) {
  if (type == ElementType::kF32) return reinterpret_cast<const float*>(data)[index];
  if (type == ElementType::kI64) return static_cast<double>(reinterpret_cast<const int64_t*>(data)[index]);
  if (type == ElementType::kBF16) return native::Bf16ToFloat(reinterpret_cast<const uint16_t*>(data)[index]);
  return reinterpret_cast<const int32_t*>(data)[index];
}

// Keeps a packed instruction alive.
class Packed {
 public:
  explicit Packed(const program::InstructionT& instruction) {
    builder_.Finish(program::Instruction::Pack(builder_, &instruction));
  }
  const program::Instruction& get() const {
    return *flatbuffers::GetRoot<program::Instruction>(builder_.GetBufferPointer());
  }

 private:
  flatbuffers::FlatBufferBuilder builder_;
};

std::vector<std::byte*> Addresses(std::vector<std::vector<std::byte>>& contents) {
  std::vector<std::byte*> addresses;
  for (std::vector<std::byte>& buffer : contents) addresses.push_back(buffer.data());
  return addresses;
}

}  // namespace

std::vector<int64_t> DenseStrides(const std::vector<int64_t>& shape) {
  std::vector<int64_t> strides(shape.size());
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= shape[i];
  }
  return strides;
}

KernelCase::KernelCase(std::string target, uint64_t seed) : random_(seed) {
  instruction_.opcode = program::Opcode::kLibrary;
  instruction_.target = std::move(target);
}

KernelCase& KernelCase::Add(Dims shape, Dims strides, ElementType type, program::Access access) {
  auto operand = std::make_unique<program::OperandT>();
  operand->buffer = static_cast<uint32_t>(contents_.size());
  operand->access = access;
  operand->element_type = type;
  int64_t elements = 1;
  for (size_t d = 0; d < shape.size(); ++d) elements += strides[d] * (shape[d] - 1);
  operand->shape = std::move(shape);
  operand->strides = std::move(strides);
  instruction_.operands.push_back(std::move(operand));
  std::vector<std::byte> data(std::max<int64_t>(elements, 1) * program::ElementBytes(type));
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (int64_t i = 0; i < elements; ++i) {
    float value = uniform(random_);
    if (type == ElementType::kF32) {
      std::memcpy(&data[i * 4], &value, 4);
    } else {
      uint16_t bits = native::FloatToBf16(value);
      std::memcpy(&data[i * 2], &bits, 2);
    }
  }
  contents_.push_back(std::move(data));
  return *this;
}

KernelCase& KernelCase::Read(Dims shape, ElementType type) {
  Dims strides = DenseStrides(shape);
  return Add(std::move(shape), std::move(strides), type, program::Access::kRead);
}

KernelCase& KernelCase::Write(Dims shape, ElementType type) {
  Dims strides = DenseStrides(shape);
  return Add(std::move(shape), std::move(strides), type, program::Access::kWrite);
}

KernelCase& KernelCase::ReadView(Dims shape, Dims strides, ElementType type) {
  return Add(std::move(shape), std::move(strides), type, program::Access::kRead);
}

KernelCase& KernelCase::WriteView(Dims shape, Dims strides, ElementType type) {
  return Add(std::move(shape), std::move(strides), type, program::Access::kWrite);
}

KernelCase& KernelCase::Ids(Dims shape, int32_t limit, int32_t least) {
  Read(std::move(shape));
  instruction_.operands.back()->element_type = ElementType::kI32;
  std::uniform_int_distribution<int32_t> uniform(least, limit - 1);
  for (size_t i = 0; i < contents_.back().size(); i += 4) {
    int32_t id = uniform(random_);
    std::memcpy(&contents_.back()[i], &id, 4);
  }
  return *this;
}

KernelCase& KernelCase::Scalar(int64_t value) {
  Read({});
  instruction_.operands.back()->element_type = ElementType::kI64;
  contents_.back().resize(sizeof(value));
  std::memcpy(contents_.back().data(), &value, sizeof(value));
  return *this;
}

KernelCase& KernelCase::WriteIds(Dims shape) {
  Write(std::move(shape));
  instruction_.operands.back()->element_type = ElementType::kI32;
  return *this;
}

KernelCase& KernelCase::Attribute(std::string name, Dims values) {
  auto attribute = std::make_unique<program::IntegerAttributeT>();
  attribute->name = std::move(name);
  attribute->values = std::move(values);
  instruction_.integers.push_back(std::move(attribute));
  return *this;
}

KernelCase& KernelCase::Threads(int threads) {
  threads_ = threads;
  return *this;
}

absl::Status KernelCase::RunOnce(std::vector<std::vector<std::byte>>* contents) const {
  *contents = contents_;
  Packed packed(instruction_);
  PDC_ASSIGN_OR_RETURN(int64_t workspace_bytes, WorkspaceBytes(instruction_, threads_));
  PDC_ASSIGN_OR_RETURN(HugeMemory workspace, HugeMemory::Allocate(workspace_bytes));
  Binding binding{Addresses(*contents), workspace.data(), workspace_bytes, Workers(threads_)};
  PDC_ASSIGN_OR_RETURN(std::unique_ptr<Call> call, PrepareCall(packed.get(), binding));
  return call->Run();
}

absl::Status KernelCase::Compare(double tolerance) const {
  std::vector<std::vector<std::byte>> found, again, expected = contents_;
  PDC_RETURN_IF_ERROR(RunOnce(&found));
  PDC_RETURN_IF_ERROR(RunOnce(&again));
  if (found != again) return absl::InternalError("two runs gave different bits");
  Packed packed(instruction_);
  PDC_RETURN_IF_ERROR(reference::Run(packed.get(), Addresses(expected)));
  for (size_t o = 0; o < expected.size(); ++o) {
    ElementType type = instruction_.operands[o]->element_type;
    for (size_t i = 0; i < expected[o].size() / program::ElementBytes(type); ++i) {
      double reference = Element(type, expected[o].data(), i), value = Element(type, found[o].data(), i);
      if (std::abs(value - reference) <= tolerance * (1 + std::abs(reference))) continue;
      return absl::InternalError(absl::StrCat(instruction_.target, ": element ", i, " of operand ", o, " is ",
                                              value, ", the reference has ", reference));
    }
  }
  return absl::OkStatus();
}

}  // namespace pdc::kernels
