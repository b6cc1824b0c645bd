#include "runtime/train/checkpoint/parts.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/program/reader.h"

namespace pdc::train {
namespace {

// "[128, 384] f32", and "as [128, 3, 128]" where parts are parts of another shape.
std::string TypeText(const TensorInfo& info, const Shape& shape) {
  std::string text = absl::StrCat(ShapeText(info.shape), " ", ElementTypeName(info.type));
  if (shape != info.shape) absl::StrAppend(&text, " as ", ShapeText(shape));
  return text;
}

absl::Status AddPart(int rank, const program::Buffer& buffer, std::map<std::string, PartedValue>& values) {
  const std::string name = PersistentName(buffer);
  Part part{rank, LocalStart(buffer), LocalShape(buffer)};
  TensorInfo info{name, buffer.element_type(), DeclaredShape(buffer)};
  const Shape shape = GlobalShape(buffer);
  const auto [entry, is_new] = values.try_emplace(name, PartedValue{info, shape, {}});
  PartedValue& value = entry->second;
  if (!is_new && (value.info.type != info.type || value.info.shape != info.shape || value.shape != shape)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", name, "' is ", TypeText(info, shape), " on rank ", rank, " and ",
        TypeText(value.info, value.shape), " on rank ", value.parts[0].rank));
  }
  PDC_RETURN_IF_ERROR(
      Annotate(ForEachContiguousRun(shape, part.start, part.shape, [](int64_t, int64_t, int64_t) {}),
               absl::StrCat("'", name, "' on rank ", rank)));
  const bool held = std::any_of(value.parts.begin(), value.parts.end(), [&](const Part& other) {
    return other.start == part.start && other.shape == part.shape;
  });
  if (!held) value.parts.push_back(std::move(part));
  return absl::OkStatus();
}

bool Overlap(const Part& a, const Part& b) {
  for (size_t i = 0; i < a.shape.size(); ++i) {
    if (a.start[i] + a.shape[i] <= b.start[i] || b.start[i] + b.shape[i] <= a.start[i]) return false;
  }
  return true;
}

// Leaves of all ranks' parts those that make up the value. Where stages of a pipeline share a parameter, each stage's
// parts cover it, along other borders where their layouts differ: those of the stage with the lowest ranks stay.
absl::Status ChooseCover(PartedValue& value) {
  std::vector<Part> chosen;
  int64_t covered = 0;
  bool overlap = false;
  for (Part& part : value.parts) {
    if (std::any_of(chosen.begin(), chosen.end(), [&](const Part& other) { return Overlap(part, other); })) {
      overlap = true;
      continue;
    }
    covered += ElementCount(part.shape);
    chosen.push_back(std::move(part));
  }
  value.parts = std::move(chosen);
  if (covered == ElementCount(value.shape)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "the ranks' parts of '", value.info.name, "' hold ", covered, " of its ", ElementCount(value.info.shape),
      " elements", overlap ? "; others overlap these" : ""));
}

}  // namespace

absl::StatusOr<std::map<std::string, PartedValue>> FindParts(const program::Executable& executable,
                                                             program::Mode mode, program::BufferKind kind) {
  std::map<std::string, PartedValue> values;
  for (int rank = 0; rank < executable.ranks(); ++rank) {
    const program::Program* program = program::FindProgram(executable, rank, mode);
    if (program == nullptr || program->buffers() == nullptr) continue;
    for (const program::Buffer* buffer : *program->buffers()) {
      if (buffer->kind() == kind && ElementCount(LocalShape(*buffer)) > 0) {
        PDC_RETURN_IF_ERROR(AddPart(rank, *buffer, values));
      }
    }
  }
  for (auto& [name, value] : values) PDC_RETURN_IF_ERROR(ChooseCover(value));
  return values;
}

absl::Status ExtractPart(const std::byte* whole, const Shape& global, const Shape& start, const Shape& shape,
                         size_t element_bytes, std::byte* part) {
  return ForEachContiguousRun(global, start, shape, [&](int64_t from, int64_t to, int64_t count) {
    std::memcpy(part + to * element_bytes, whole + from * element_bytes, count * element_bytes);
  });
}

absl::Status GatherToRankZero(comm::Communicator& communicator, comm::Clock::time_point deadline,
                              const PartedValue& value, const std::byte* local,
                              const std::function<absl::Status(const std::byte*)>& use) {
  const int rank = communicator.rank();
  const size_t element_bytes = ElementBytes(value.info.type);
  if (rank != 0) {
    for (const Part& part : value.parts) {
      if (part.rank != rank) continue;
      PDC_ASSIGN_OR_RETURN(
          auto sent, communicator.Send(local, ElementCount(part.shape) * element_bytes, 0, kTrainerTag));
      PDC_RETURN_IF_ERROR(sent->Wait(deadline));
    }
    return absl::OkStatus();
  }
  if (value.parts.size() == 1 && value.parts[0].rank == 0) return use(local);
  std::vector<std::byte> whole(value.info.bytes());
  std::vector<std::byte> received;
  for (const Part& part : value.parts) {
    const std::byte* source = local;
    if (part.rank != 0) {
      received.resize(ElementCount(part.shape) * element_bytes);
      PDC_ASSIGN_OR_RETURN(auto pending,
                           communicator.Receive(received.data(), received.size(), part.rank, kTrainerTag));
      PDC_RETURN_IF_ERROR(pending->Wait(deadline));
      source = received.data();
    }
    PDC_RETURN_IF_ERROR(ForEachContiguousRun(
        value.shape, part.start, part.shape, [&](int64_t to, int64_t from, int64_t count) {
          std::memcpy(whole.data() + to * element_bytes, source + from * element_bytes,
                      count * element_bytes);
        }));
  }
  return use(whole.data());
}

}  // namespace pdc::train
