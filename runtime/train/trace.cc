#include "runtime/train/trace.h"

#include <algorithm>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/comm/gather.h"
#include "runtime/program/view.h"
#include "runtime/train/atomic_file.h"

namespace pdc::train {
namespace {

TraceLane LaneOf(program::Opcode opcode) {
  switch (opcode) {
    case program::Opcode::kKernel:
    case program::Opcode::kLibrary:
    case program::Opcode::kFill:
    case program::Opcode::kCopy:
      return TraceLane::kCompute;
    default:
      return TraceLane::kCommunication;
  }
}

}  // namespace

absl::Status TraceRecorder::Start(exec::Session& session) {
  const int64_t instructions = std::max<uint32_t>(program::Size(program_.instructions()), 1);
  PDC_RETURN_IF_ERROR(session.communicator().Barrier(session.deadline()));
  trace_ = std::make_unique<Trace>(session.communicator().rank(), Trace::Clock::now(),
                                   static_cast<size_t>(instructions * steps_));
  session.set_trace([this](const exec::InstructionEvent& event) { Add(event); });
  return absl::OkStatus();
}

void TraceRecorder::Add(const exec::InstructionEvent& event) {
  if (event.instruction < 0 ||
      static_cast<uint32_t>(event.instruction) >= program::Size(program_.instructions())) {
    return;
  }
  const program::Instruction& instruction = *program_.instructions()->Get(event.instruction);
  trace_->Add(LaneOf(instruction.opcode()), program::Text(instruction.label()), event.step, event.instruction,
              event.begin, event.end);
}

absl::Status TraceRecorder::Write(const std::string& path, exec::Session& session) const {
  PDC_ASSIGN_OR_RETURN(const std::vector<std::string> parts,
                       comm::GatherText(session.communicator(), trace_->Part(), session.deadline()));
  if (session.communicator().rank() != 0) return absl::OkStatus();
  const std::string text = JoinTraces(parts);
  PDC_ASSIGN_OR_RETURN(auto file, AtomicFile::Create(path));
  PDC_RETURN_IF_ERROR(file->Write(text.data(), text.size()));
  return file->Commit();
}

}  // namespace pdc::train
