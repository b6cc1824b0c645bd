#include "runtime/train/trace.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "nlohmann/json.hpp"
#include "runtime/base/status.h"
#include "runtime/program/view.h"
#include "runtime/train/atomic_file.h"
#include "runtime/train/collect.h"

namespace pdc::train {
namespace {

const char* Category(program::Opcode opcode) {
  switch (opcode) {
    case program::Opcode::kKernel:
      return "kernel";
    case program::Opcode::kLibrary:
      return "library";
    case program::Opcode::kFill:
    case program::Opcode::kCopy:
      return "memory";
    default:
      return "communication";
  }
}

std::string Quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

double Microseconds(std::chrono::steady_clock::duration duration) {
  return std::chrono::duration<double, std::micro>(duration).count();
}

}  // namespace

TraceRecorder::TraceRecorder(const program::Program& program, int rank, int64_t steps)
    : program_(program), rank_(rank) {
  const int64_t instructions = std::max<uint32_t>(program::Size(program.instructions()), 1);
  events_.reserve(static_cast<size_t>(instructions * steps));
}

absl::Status TraceRecorder::Start(exec::Session& session) {
  PDC_RETURN_IF_ERROR(session.communicator().Barrier(session.deadline()));
  origin_ = std::chrono::steady_clock::now();
  session.set_trace([this](const exec::InstructionEvent& event) {
    if (events_.size() < events_.capacity()) events_.push_back(event);
  });
  return absl::OkStatus();
}

std::string TraceRecorder::Events() const {
  std::string text = absl::StrFormat(
      R"({"name":"process_name","ph":"M","pid":%d,"tid":0,"args":{"name":"rank %d"}})", rank_, rank_);
  for (const exec::InstructionEvent& event : events_) {
    const bool known = event.instruction >= 0 &&
                       static_cast<uint32_t>(event.instruction) < program::Size(program_.instructions());
    if (!known) continue;
    const program::Instruction& instruction = *program_.instructions()->Get(event.instruction);
    absl::StrAppendFormat(&text,
                          ",\n"
                          R"({"name":%s,"cat":"%s","ph":"X","pid":%d,"tid":0,"ts":%.3f,"dur":%.3f,)"
                          R"("args":{"step":%d,"instruction":%d}})",
                          Quoted(std::string(program::Text(instruction.label()))),
                          Category(instruction.opcode()), rank_, Microseconds(event.begin - origin_),
                          Microseconds(event.end - event.begin), event.step, event.instruction);
  }
  return text;
}

absl::Status WriteTrace(const std::string& path, exec::Session& session, const TraceRecorder& recorder) {
  PDC_ASSIGN_OR_RETURN(const std::vector<std::string> events,
                       GatherTexts(session.communicator(), session.deadline(), recorder.Events()));
  if (session.communicator().rank() != 0) return absl::OkStatus();
  PDC_ASSIGN_OR_RETURN(auto file, AtomicFile::Create(path));
  const auto write = [&](const std::string& text) { return file->Write(text.data(), text.size()); };
  PDC_RETURN_IF_ERROR(write("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n"));
  for (size_t rank = 0; rank < events.size(); ++rank) {
    PDC_RETURN_IF_ERROR(write(absl::StrCat(rank == 0 ? "" : ",\n", events[rank])));
  }
  PDC_RETURN_IF_ERROR(write("\n]}\n"));
  return file->Commit();
}

}  // namespace pdc::train
