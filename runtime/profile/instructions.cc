#include "runtime/profile/instructions.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/device/cpu/cpu_device.h"
#include "runtime/exec/memory.h"
#include "runtime/program/call_name.h"
#include "runtime/program/container.h"
#include "runtime/program/reader.h"
#include "runtime/program/view.h"

namespace pdc::profile {

namespace {

using program::Program;

constexpr int kThreads = 1;  // as of all that is measured
constexpr int kFewestRounds = 3;
constexpr int kMostRounds = 41;

double Budget(bool quick) { return quick ? 0.2 : 1.5; }

// kKernel, kLibrary, kFill and kCopy: what a device runs. The others are of the communicator.
bool Computes(program::Opcode opcode) {
  switch (opcode) {
    case program::Opcode::kKernel:
    case program::Opcode::kLibrary:
    case program::Opcode::kFill:
    case program::Opcode::kCopy:
      return true;
    case program::Opcode::kCollectiveStart:
    case program::Opcode::kCollectiveDone:
    case program::Opcode::kSend:
    case program::Opcode::kReceive:
      return false;
  }
  return false;
}

// An instruction and the times of its runs.
struct Timed {
  std::string call;
  std::unique_ptr<device::Prepared> prepared;
  std::vector<double> seconds;
};

absl::StatusOr<std::unique_ptr<device::Device>> OpenDevice(const launcher::Image& image) {
  const program::Executable& executable = image.executable();
  std::unique_ptr<device::Device> device = device::CreateCpuDevice(kThreads);
  PDC_ASSIGN_OR_RETURN(program::Sections sections, program::ReadPayload(image.payload()));
  const auto kernels = sections.find(program::kKernelsSection);
  if (kernels == sections.end() || kernels->second.empty()) return device;
  PDC_RETURN_IF_ERROR(device->LoadKernels(reinterpret_cast<const std::byte*>(kernels->second.data()),
                                          kernels->second.size(), program::Text(executable.cpu_features())));
  return device;
}

absl::StatusOr<device::Arenas> MakeArenas(const Program& program, device::Device& device) {
  PDC_ASSIGN_OR_RETURN(void* private_base, device.Allocate(program.private_bytes()));
  PDC_ASSIGN_OR_RETURN(void* shared_base, device.Allocate(program.shared_bytes()));
  const device::Arenas arenas = {static_cast<std::byte*>(private_base), static_cast<std::byte*>(shared_base)};
  exec::WriteConstants(program, arenas);
  return arenas;
}

// Ids are rows of a table in an order that prefetching does not guess; step and learning rate are those of a first step, since
// optimizers divide by what is 0 before it. Other buffers may have been where these lie.
void WriteInputs(const Program& program, const device::Arenas& arenas) {
  for (uint32_t i = 0; i < program::Size(program.buffers()); ++i) {
    const program::Buffer& buffer = *program.buffers()->Get(i);
    if (buffer.kind() == program::BufferKind::kScalarInput && buffer.element_type() == program::ElementType::kF32) {
      *reinterpret_cast<float*>(exec::Address(arenas, buffer)) = program::Text(buffer.name()) == "step" ? 1.0f : 1e-3f;
    }
    if (buffer.id_limit() <= 0 || buffer.element_type() != program::ElementType::kI32) continue;
    auto* ids = reinterpret_cast<int32_t*>(exec::Address(arenas, buffer));
    const auto count = static_cast<int64_t>(buffer.bytes() / sizeof(int32_t));
    for (int64_t k = 0; k < count; ++k) ids[k] = static_cast<int32_t>(k * 7919 % buffer.id_limit());
  }
}

absl::StatusOr<std::vector<Timed>> Prepare(const Program& program, device::Device& device,
                                           const device::Arenas& arenas) {
  std::vector<Timed> list;
  for (uint32_t i = 0; i < program::Size(program.instructions()); ++i) {
    const program::Instruction& instruction = *program.instructions()->Get(i);
    if (!Computes(instruction.opcode())) continue;
    Timed timed;
    const std::unique_ptr<program::InstructionT> unpacked(instruction.UnPack());
    timed.call = program::CallName(*unpacked);
    PDC_ASSIGN_OR_RETURN(timed.prepared, device.Prepare(program, instruction, arenas));
    list.push_back(std::move(timed));
  }
  return list;
}

absl::Status RunRound(std::vector<Timed>& list, bool counts) {
  double begin = Now();
  for (Timed& timed : list) {
    PDC_RETURN_IF_ERROR(timed.prepared->Run());
    const double end = Now();
    if (counts) timed.seconds.push_back(end - begin);
    begin = end;
  }
  return absl::OkStatus();
}

absl::Status RunRounds(const Program& program, const device::Arenas& arenas, double budget_seconds,
                       std::vector<Timed>& list) {
  double spent = 0;
  for (int round = -1; round < kMostRounds && (round < kFewestRounds || spent < budget_seconds); ++round) {
    WriteInputs(program, arenas);
    const double begin = Now();
    PDC_RETURN_IF_ERROR(RunRound(list, round >= 0));  // the first one warms up
    if (round >= 0) spent += Now() - begin;
  }
  return absl::OkStatus();
}

}  // namespace

const Program* FindStep(const program::Executable& executable, int rank) {
  const Program* train = program::FindProgram(executable, rank, program::Mode::kTrain);
  return train != nullptr ? train : program::FindProgram(executable, rank, program::Mode::kInfer);
}

absl::Status MeasureInstructions(const launcher::Image& image, const Program& program, bool quick,
                                 std::map<std::string, Sample>* calls) {
  PDC_ASSIGN_OR_RETURN(std::unique_ptr<device::Device> device, OpenDevice(image));
  PDC_ASSIGN_OR_RETURN(device::Arenas arenas, MakeArenas(program, *device));
  PDC_ASSIGN_OR_RETURN(std::vector<Timed> list, Prepare(program, *device, arenas));
  PDC_RETURN_IF_ERROR(RunRounds(program, arenas, Budget(quick), list));
  std::map<std::string, std::vector<double>> seconds;
  for (Timed& timed : list) {
    std::vector<double>& all = seconds[timed.call];
    all.insert(all.end(), timed.seconds.begin(), timed.seconds.end());
  }
  for (auto& [call, all] : seconds) (*calls)[call] = Summarize(std::move(all));
  return absl::OkStatus();
}

}  // namespace pdc::profile
