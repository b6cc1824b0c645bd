// What every device promises. A device is added to Devices(); one that this machine lacks is skipped visibly.
#include "runtime/device/device.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <functional>
#include <memory>
#include <string>

#include "runtime/device/cpu/cpu_device.h"
#include "runtime/program/reader.h"
#include "tests/runtime/testing/program_builder.h"

namespace pdc::device {
namespace {

using pdc::testing::ProgramBuilder;
using program::Access;
using program::BufferKind;
using program::Opcode;

struct Kind {
  std::string name;
  std::function<std::unique_ptr<Device>()> create;
};

std::vector<Kind> Devices() {
  return {{"cpu_1_thread", [] { return CreateCpuDevice(1); }},
          {"cpu_3_threads", [] { return CreateCpuDevice(3); }}};
}

// The kernels of test_kernels.cc as a shared object.
std::string KernelImage() {
  std::ifstream stream("tests/conformance/device/libtest_kernels.so", std::ios::binary);
  return std::string((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
}

class DeviceConformance : public ::testing::TestWithParam<Kind> {
 protected:
  void SetUp() override { device_ = GetParam().create(); }

  // Prepares the program's instructions over fresh arenas.
  absl::Status Prepare(ProgramBuilder builder) {
    section_ = program::WriteExecutable(pdc::testing::MakeExecutable({std::move(builder)}, 1));
    auto executable = program::ReadExecutable(section_);
    if (!executable.ok()) return executable.status();
    program_ = (*executable)->programs()->Get(0);
    auto private_base = device_->Allocate(program_->private_bytes());
    auto shared_base = device_->Allocate(program_->shared_bytes());
    if (!private_base.ok() || !shared_base.ok()) return absl::ResourceExhaustedError("no memory");
    arenas_ = {static_cast<std::byte*>(*private_base), static_cast<std::byte*>(*shared_base)};
    prepared_.clear();
    for (const program::Instruction* instruction : *program_->instructions()) {
      auto prepared = device_->Prepare(*program_, *instruction, arenas_);
      if (!prepared.ok()) return prepared.status();
      prepared_.push_back(*std::move(prepared));
    }
    return absl::OkStatus();
  }

  void Run() {
    for (auto& prepared : prepared_) ASSERT_TRUE(prepared->Run().ok());
  }

  float* Floats(uint32_t buffer) {
    return reinterpret_cast<float*>(arenas_.private_base + program_->buffers()->Get(buffer)->offset());
  }

  std::unique_ptr<Device> device_;
  std::string section_;
  const program::Program* program_ = nullptr;
  Arenas arenas_;
  std::vector<std::unique_ptr<Prepared>> prepared_;
};

TEST_P(DeviceConformance, AllocatesZeroedAlignedMemoryThatStays) {
  for (size_t bytes : {1, 4096, 100000}) {
    auto memory = device_->Allocate(bytes);
    ASSERT_TRUE(memory.ok()) << memory.status();
    EXPECT_EQ(reinterpret_cast<uintptr_t>(*memory) % 4096, 0u);
    auto* data = static_cast<std::byte*>(*memory);
    for (size_t i = 0; i < bytes; i += 97) ASSERT_EQ(data[i], std::byte{0});
    std::memset(data, 1, bytes);
  }
}

TEST_P(DeviceConformance, RefusesMoreMemoryThanThereIs) {
  EXPECT_EQ(device_->Allocate(size_t{1} << 60).status().code(), absl::StatusCode::kResourceExhausted);
}

TEST_P(DeviceConformance, FillsAndCopiesViewsExactly) {
  ProgramBuilder builder;
  // Large enough to be cut over threads.
  const int64_t count = 100001;
  uint32_t from = builder.Buffer(BufferKind::kInput, "x", {count + 2});
  uint32_t to = builder.Buffer(BufferKind::kActivation, "y", {count + 2});
  program::InstructionT& fill = builder.Add(Opcode::kFill, "", "fill");
  builder.Operand(fill, to, Access::kWrite);
  program::InstructionT& copy = builder.Add(Opcode::kCopy, "", "copy");
  for (uint32_t buffer : {from, to}) {
    program::OperandT& view = builder.Operand(copy, buffer, buffer == from ? Access::kRead : Access::kWrite);
    view.shape = {count};
    view.offset_elements = 1;
  }
  ASSERT_TRUE(Prepare(std::move(builder)).ok());
  for (int64_t i = 0; i < count + 2; ++i) {
    Floats(from)[i] = static_cast<float>(i + 1);
    Floats(to)[i] = -1;
  }
  Run();
  for (int64_t i = 0; i < count + 2; ++i) {
    ASSERT_EQ(Floats(to)[i], i == 0 || i == count + 1 ? 0 : static_cast<float>(i + 1)) << i;
  }
}

TEST_P(DeviceConformance, RunsALibraryCall) {
  ProgramBuilder builder;
  uint32_t a = builder.Buffer(BufferKind::kInput, "a", {2, 3});
  uint32_t b = builder.Buffer(BufferKind::kInput, "b", {3, 2});
  uint32_t c = builder.Buffer(BufferKind::kActivation, "c", {2, 2});
  program::InstructionT& matmul = builder.Add(Opcode::kLibrary, "matmul", "a b");
  builder.Operand(matmul, a, Access::kRead);
  builder.Operand(matmul, b, Access::kRead);
  builder.Operand(matmul, c, Access::kWrite);
  ASSERT_TRUE(Prepare(std::move(builder)).ok());
  for (int i = 0; i < 6; ++i) Floats(a)[i] = Floats(b)[i] = static_cast<float>(i);
  Run();
  EXPECT_EQ(std::vector<float>(Floats(c), Floats(c) + 4), (std::vector<float>{10, 13, 28, 40}));
}

ProgramBuilder ScaleProgram(int64_t extent) {
  ProgramBuilder builder;
  uint32_t x = builder.Buffer(BufferKind::kInput, "x", {10, 3});
  uint32_t y = builder.Buffer(BufferKind::kActivation, "y", {10, 3});
  program::InstructionT& kernel = builder.Add(Opcode::kKernel, "scale_rows", "scale");
  builder.Operand(kernel, x, Access::kRead);
  builder.Operand(kernel, y, Access::kWrite);
  kernel.workspace = static_cast<int32_t>(builder.Buffer(BufferKind::kTemporary, "", {10}));
  kernel.parallel_extent = extent;
  return builder;
}

TEST_P(DeviceConformance, RunsAKernelOverItsWholeExtentOnceWithItsWorkspace) {
  std::string image = KernelImage();
  ASSERT_FALSE(image.empty());
  auto* bytes = reinterpret_cast<const std::byte*>(image.data());
  ASSERT_TRUE(device_->LoadKernels(bytes, image.size(), "+sse4.2").ok());
  ASSERT_TRUE(Prepare(ScaleProgram(10)).ok());
  for (int i = 0; i < 30; ++i) Floats(0)[i] = static_cast<float>(i);
  Run();
  for (int i = 0; i < 30; ++i) EXPECT_EQ(Floats(1)[i], 2.0f * i);
  // The kernel counts in its workspace how often it has done each row.
  for (int row = 0; row < 10; ++row) EXPECT_EQ(Floats(2)[row], 1.0f);
}

TEST_P(DeviceConformance, RefusesAKernelThatTheLibraryLacks) {
  EXPECT_EQ(Prepare(ScaleProgram(10)).code(), absl::StatusCode::kNotFound);
}

TEST_P(DeviceConformance, RefusesAnImageThatIsNoSharedObject) {
  std::string image = "no shared object";
  absl::Status status =
      device_->LoadKernels(reinterpret_cast<const std::byte*>(image.data()), image.size(), "");
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
}

TEST_P(DeviceConformance, RefusesALibraryCallThatItDoesNotHave) {
  ProgramBuilder builder;
  builder.Add(Opcode::kLibrary, "no_such_call", "call");
  EXPECT_EQ(Prepare(std::move(builder)).code(), absl::StatusCode::kNotFound);
}

TEST_P(DeviceConformance, RefusesAnInstructionOfTheCommunicator) {
  ProgramBuilder builder;
  builder.Add(Opcode::kCollectiveDone, "", "done");
  EXPECT_EQ(Prepare(std::move(builder)).code(), absl::StatusCode::kInvalidArgument);
}

INSTANTIATE_TEST_SUITE_P(Devices, DeviceConformance, ::testing::ValuesIn(Devices()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace pdc::device
