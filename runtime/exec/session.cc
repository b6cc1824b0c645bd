#include "runtime/exec/session.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/exec/agreement.h"
#include "runtime/exec/instruction_list.h"
#include "runtime/exec/memory.h"
#include "runtime/program/checker.h"
#include "runtime/program/container.h"
#include "runtime/program/reader.h"
#include "runtime/program/view.h"

namespace pdc::exec {
namespace {

using program::BufferKind;
using program::Executable;
using program::Mode;
using program::Program;

constexpr size_t kModes = static_cast<size_t>(Mode::MAX) + 1;

absl::StatusOr<const Executable*> ReadAndCheck(const program::Sections& sections) {
  auto found = sections.find(program::kProgramSection);
  if (found == sections.end()) return absl::DataLossError("the executable's payload has no program section");
  PDC_ASSIGN_OR_RETURN(const Executable* executable, program::ReadExecutable(found->second));
  PDC_RETURN_IF_ERROR(program::CheckExecutable(*executable));
  return executable;
}

absl::Status CheckRanks(const Executable& executable, int size) {
  if (executable.ranks() == size) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("this executable was compiled for ", executable.ranks(), " ranks and runs on ", size,
                   "; start it with mpiexec -n ", executable.ranks(), ", or compile it with --ranks=", size));
}

class SessionOnDevice final : public Session {
 public:
  SessionOnDevice(device::Device& device, comm::Communicator& communicator, SessionOptions options)
      : device_(device), communicator_(communicator), options_(std::move(options)) {}

  absl::Status Open(std::string_view image) {
    // Every rank comes to the same judgement of the same payload, so it is compared first: a rank that turned
    // away alone would leave the others waiting.
    PDC_RETURN_IF_ERROR(CompareOverRanks(communicator_, program::PayloadHash(image), deadline()));
    PDC_ASSIGN_OR_RETURN(program::Sections sections, program::ReadPayload(image));
    PDC_ASSIGN_OR_RETURN(executable_, ReadAndCheck(sections));
    PDC_RETURN_IF_ERROR(CheckRanks(*executable_, communicator_.size()));
    PDC_RETURN_IF_ERROR(MakeGroups());
    PDC_RETURN_IF_ERROR(MakeArenas());
    auto kernels = sections.find(program::kKernelsSection);
    if (kernels == sections.end() || kernels->second.empty()) return absl::OkStatus();
    return device_.LoadKernels(reinterpret_cast<const std::byte*>(kernels->second.data()),
                               kernels->second.size(), program::Text(executable_->cpu_features()));
  }

  const Executable& executable() const override { return *executable_; }

  absl::StatusOr<const Program*> program(Mode mode) const override {
    std::string_view name = program::ModeName(mode);
    if (!opened_for(mode)) {
      return absl::NotFoundError(absl::StrCat("this session was opened without the program for '",
                                              std::string(name), "': its memory has no room for it"));
    }
    const Program* found = program::FindProgram(*executable_, communicator_.rank(), mode);
    if (found != nullptr) return found;
    return absl::NotFoundError(
        absl::StrCat("this executable was compiled without a program for '", std::string(name), "'"));
  }

  std::vector<BufferView> buffers(Mode mode, BufferKind kind) override {
    std::vector<BufferView> views;
    absl::StatusOr<const Program*> found = program(mode);
    if (!found.ok() || !EnsureArenas(mode).ok() || (*found)->buffers() == nullptr) return views;
    for (const program::Buffer* buffer : *(*found)->buffers()) {
      if (buffer->kind() == kind) views.push_back({buffer, Address(arenas_for(mode), *buffer)});
    }
    return views;
  }

  absl::Status Run(Mode mode, int64_t step, const InputWriter& write) override {
    PDC_RETURN_IF_ERROR(failure_);
    PDC_RETURN_IF_ERROR(program(mode).status());
    absl::Status status = RunOnce(mode, step, write);
    if (!status.ok()) failure_ = status;
    return status;
  }

  void set_trace(std::function<void(const InstructionEvent&)> trace) override { trace_ = std::move(trace); }
  comm::Communicator& communicator() override { return communicator_; }
  comm::Clock::time_point deadline() const override { return comm::Clock::now() + options_.timeout; }

 private:
  bool opened_for(Mode mode) const {
    return options_.modes.empty() ||
           std::find(options_.modes.begin(), options_.modes.end(), mode) != options_.modes.end();
  }

  device::Arenas& arenas_for(Mode mode) {
    return mode == Mode::kReferenceGradient ? reference_arenas_ : arenas_;
  }

  // All ranks walk the programs of the whole job in one order, so that the members of each group make it
  // together.
  absl::Status MakeGroups() {
    for (uint32_t p = 0; p < program::Size(executable_->programs()); ++p) {
      const Program& program = *executable_->programs()->Get(p);
      for (uint32_t g = 0; g < program::Size(program.groups()); ++g) {
        absl::Span<const int> ranks = program::Span(program.groups()->Get(g)->ranks());
        std::vector<int> key(ranks.begin(), ranks.end());
        bool member = std::find(key.begin(), key.end(), communicator_.rank()) != key.end();
        if (!member || groups_.count(key) != 0) continue;
        PDC_ASSIGN_OR_RETURN(groups_[key], communicator_.CreateGroup(key));
      }
    }
    return absl::OkStatus();
  }

  absl::Status MakeArenas() {
    uint64_t private_bytes = 0, shared_bytes = 0;
    for (Mode mode : program::EnumValuesMode()) {
      if (mode == Mode::kReferenceGradient || !opened_for(mode)) continue;
      const Program* found = program::FindProgram(*executable_, communicator_.rank(), mode);
      if (found == nullptr) continue;
      private_bytes = std::max(private_bytes, found->private_bytes());
      shared_bytes = std::max(shared_bytes, found->shared_bytes());
    }
    PDC_ASSIGN_OR_RETURN(void* private_base, device_.Allocate(private_bytes));
    PDC_ASSIGN_OR_RETURN(void* shared_base, communicator_.AllocateShared(shared_bytes));
    arenas_ = {static_cast<std::byte*>(private_base), static_cast<std::byte*>(shared_base)};
    return absl::OkStatus();
  }

  // A reference program communicates with nobody: both of its arenas are memory of the device.
  absl::Status EnsureArenas(Mode mode) {
    if (mode != Mode::kReferenceGradient || has_reference_arenas_) return absl::OkStatus();
    PDC_ASSIGN_OR_RETURN(const Program* found, program(mode));
    PDC_ASSIGN_OR_RETURN(void* private_base, device_.Allocate(found->private_bytes()));
    PDC_ASSIGN_OR_RETURN(void* shared_base, device_.Allocate(found->shared_bytes()));
    reference_arenas_ = {static_cast<std::byte*>(private_base), static_cast<std::byte*>(shared_base)};
    has_reference_arenas_ = true;
    return absl::OkStatus();
  }

  // Constants of one program may lie where another keeps its activations.
  void WriteConstants(Mode mode, const Program& program) {
    bool reference = mode == Mode::kReferenceGradient;
    Mode& last = reference ? last_reference_mode_ : last_mode_;
    bool& written = reference ? wrote_reference_constants_ : wrote_constants_;
    if (written && last == mode) return;
    last = mode;
    written = true;
    exec::WriteConstants(program, arenas_for(mode));
  }

  absl::Status RunOnce(Mode mode, int64_t step, const InputWriter& write) {
    PDC_ASSIGN_OR_RETURN(const Program* found, program(mode));
    PDC_RETURN_IF_ERROR(EnsureArenas(mode));
    std::unique_ptr<InstructionList>& list = lists_[static_cast<size_t>(mode)];
    if (list == nullptr) {
      PDC_ASSIGN_OR_RETURN(
          list, InstructionList::Prepare(*found, device_, communicator_, groups_, arenas_for(mode)));
    }
    WriteConstants(mode, *found);
    return list->Run(step, options_.timeout, write, trace_);
  }

  device::Device& device_;
  comm::Communicator& communicator_;
  SessionOptions options_;
  const Executable* executable_ = nullptr;
  Groups groups_;
  device::Arenas arenas_, reference_arenas_;
  bool has_reference_arenas_ = false;
  Mode last_mode_ = Mode::kTrain, last_reference_mode_ = Mode::kReferenceGradient;
  bool wrote_constants_ = false, wrote_reference_constants_ = false;
  std::array<std::unique_ptr<InstructionList>, kModes> lists_;
  std::function<void(const InstructionEvent&)> trace_;
  absl::Status failure_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Session>> Session::Create(std::string_view image, device::Device& device,
                                                         comm::Communicator& communicator,
                                                         SessionOptions options) {
  auto session = std::make_unique<SessionOnDevice>(device, communicator, std::move(options));
  absl::Status status = session->Open(image);
  if (!status.ok()) return AtPlace(status, {.rank = communicator.rank()});
  return session;
}

}  // namespace pdc::exec
