#include "runtime/train/checkpoint/checkpoint.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "nlohmann/json.hpp"
#include "runtime/base/status.h"
#include "runtime/train/atomic_file.h"
#include "runtime/train/checkpoint/parts.h"
#include "runtime/train/checkpoint/safetensors.h"
#include "xxhash.h"

namespace pdc::train {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using program::BufferKind;

constexpr char kModelFile[] = "model.safetensors";
constexpr char kOptimizerFile[] = "optimizer.safetensors";
constexpr char kStateFile[] = "state.json";
constexpr char kLatest[] = "latest";
constexpr char kTemporaryPrefix[] = ".unfinished-";
constexpr char kReplacedPrefix[] = ".replaced-";
constexpr char kLatestTemporaryPrefix[] = "latest.tmp-";  // as AtomicFile writes `latest`
constexpr int kFormat = 1;

std::string StepName(int64_t step) { return absl::StrFormat("step-%08d", step); }

std::optional<int64_t> ParseStepName(const std::string& name) {
  int64_t step = 0;
  if (!absl::StartsWith(name, "step-") || !absl::SimpleAtoi(name.substr(5), &step)) return std::nullopt;
  return step >= 0 && StepName(step) == name ? std::optional(step) : std::nullopt;
}

std::string TextHash(const std::string& text) {
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  return absl::StrFormat("%016x%016x", hash.high64, hash.low64);
}

absl::Status FileSystemError(const std::error_code& error, const std::string& action,
                             const std::string& path) {
  return FileError(error.value(), action, path);
}

// This rank's buffers of some kinds, by persistent name.
std::map<std::string, exec::BufferView> LocalBuffers(exec::Session& session, program::Mode mode,
                                                     const std::vector<BufferKind>& kinds) {
  std::map<std::string, exec::BufferView> buffers;
  for (BufferKind kind : kinds) {
    for (const exec::BufferView& view : session.buffers(mode, kind)) {
      if (ElementCount(LocalShape(*view.description)) > 0) buffers[PersistentName(*view.description)] = view;
    }
  }
  return buffers;
}

// Collective. The digest is meaningful on rank 0.
absl::StatusOr<FileDigest> WriteTensors(const std::string& path, exec::Session& session, program::Mode mode,
                                        const std::vector<BufferKind>& kinds,
                                        const std::map<std::string, std::string>& metadata) {
  std::map<std::string, PartedValue> values;
  for (BufferKind kind : kinds) {
    PDC_ASSIGN_OR_RETURN(auto found, FindParts(session.executable(), mode, kind));
    values.merge(found);
  }
  const std::map<std::string, exec::BufferView> local = LocalBuffers(session, mode, kinds);
  std::unique_ptr<SafetensorsWriter> writer;
  if (session.communicator().rank() == 0) {
    std::vector<TensorInfo> tensors;
    for (const auto& [name, value] : values) tensors.push_back(value.info);
    PDC_ASSIGN_OR_RETURN(writer, SafetensorsWriter::Create(path, tensors, metadata));
  }
  for (const auto& [name, value] : values) {
    const auto mine = local.find(name);
    const std::byte* data = mine == local.end() ? nullptr : mine->second.data;
    const size_t bytes = value.info.bytes();
    PDC_RETURN_IF_ERROR(
        GatherToRankZero(session.communicator(), session.deadline(), value, data,
                         [&](const std::byte* whole) { return writer->Append(whole, bytes); }));
  }
  if (writer == nullptr) return FileDigest();
  return writer->Finish();
}

json DigestJson(const FileDigest& digest) { return {{"bytes", digest.bytes}, {"xxh3", digest.xxh3}}; }

std::string StateText(const TrainingState& state, const FileDigest& model, const FileDigest& optimizer) {
  json content = {{"format", kFormat},
                  {"step", state.step},
                  {"seed", state.seed},
                  {"samples_consumed", state.samples_consumed},
                  {"dataset_size", state.dataset_size},
                  {"model", state.model},
                  {"compiler_version", state.compiler_version},
                  {"optimizer", state.optimizer},
                  {"files", {{kModelFile, DigestJson(model)}, {kOptimizerFile, DigestJson(optimizer)}}}};
  content["xxh3"] = TextHash(content.dump());
  return content.dump(1) + "\n";
}

absl::Status Damaged(const std::string& path, const std::string& what) {
  return absl::DataLossError(absl::StrCat("checkpoint file '", path, "' is damaged: ", what));
}

std::string TextOf(const MappedFile& file) {
  return std::string(reinterpret_cast<const char*>(file.data()), file.size());
}

// The first word of DIR/latest; empty where there is none.
absl::StatusOr<std::string> ReadLatest(const std::string& path) {
  const auto file = MappedFile::Open(path);
  if (absl::IsNotFound(file.status())) return std::string();
  if (!file.ok()) return file.status();
  std::istringstream words(TextOf(**file));
  std::string name;
  words >> name;
  return name;
}

absl::StatusOr<json> ReadState(const std::string& path) {
  // Mapped, as this refuses pipes and devices, which a stream would wait for.
  PDC_ASSIGN_OR_RETURN(const std::shared_ptr<const MappedFile> file, MappedFile::Open(path));
  json content = json::parse(TextOf(*file), nullptr, /*allow_exceptions=*/false);
  if (!content.is_object() || !content.contains("xxh3")) return Damaged(path, "it is not whole JSON");
  const json hash = content["xxh3"];
  content.erase("xxh3");
  if (hash != TextHash(content.dump(-1, ' ', false, json::error_handler_t::replace))) {
    return Damaged(path, "its contents do not have the hash that it states");
  }
  if (content.value("format", 0) != kFormat) {
    return absl::InvalidArgumentError(absl::StrCat("checkpoint file '", path, "' has format ",
                                                   content.value("format", 0), ", expected ", kFormat));
  }
  return content;
}

absl::Status CheckFile(const std::string& path, const json& expected) {
  PDC_ASSIGN_OR_RETURN(const std::shared_ptr<const MappedFile> file, MappedFile::Open(path));
  const uint64_t bytes = expected["bytes"].get<uint64_t>();
  if (file->size() != bytes) {
    return Damaged(path, absl::StrCat("it must have ", bytes, " bytes, it has ", file->size()));
  }
  const std::string hash = expected["xxh3"].get<std::string>();
  const std::string found = DigestOf(*file).xxh3;
  if (found == hash) return absl::OkStatus();
  return Damaged(path, absl::StrCat("its contents have the hash ", found, ", expected ", hash));
}

// Copies this rank's part of a tensor, whose type and shape have been compared.
absl::Status Place(const SafetensorsFile::Tensor& tensor, const exec::BufferView& view) {
  const program::Buffer& buffer = *view.description;
  return ExtractPart(tensor.data, GlobalShape(buffer), LocalStart(buffer), LocalShape(buffer),
                     ElementBytes(buffer.element_type()), view.data);
}

bool SameTensor(const TensorInfo& info, const program::Buffer& buffer) {
  return info.type == buffer.element_type() && info.shape == DeclaredShape(buffer);
}

absl::Status LoadExactly(const SafetensorsFile& file, const std::map<std::string, exec::BufferView>& buffers,
                         const std::set<std::string>& names_of_all_ranks) {
  for (const auto& [name, view] : buffers) {
    const SafetensorsFile::Tensor* tensor = file.Find(name);
    if (tensor == nullptr) {
      return absl::NotFoundError(absl::StrCat("'", file.path(), "' has no tensor '", name,
                                              "'; is it a checkpoint of another model or optimizer?"));
    }
    const program::Buffer& buffer = *view.description;
    if (!SameTensor(tensor->info, buffer)) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", file.path(), "': tensor '", name, "' is ", ShapeText(tensor->info.shape), " ",
                       ElementTypeName(tensor->info.type), ", the model needs ",
                       ShapeText(DeclaredShape(buffer)), " ", ElementTypeName(buffer.element_type())));
    }
    PDC_RETURN_IF_ERROR(Place(*tensor, view));
  }
  for (const auto& [name, tensor] : file.tensors()) {
    if (!names_of_all_ranks.contains(name)) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", file.path(), "' has the tensor '", name,
                       "', which the model does not have; is it a checkpoint of ", "another model?"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::set<std::string>> NamesOfAllRanks(exec::Session& session, program::Mode mode,
                                                      const std::vector<BufferKind>& kinds) {
  std::set<std::string> names;
  for (BufferKind kind : kinds) {
    PDC_ASSIGN_OR_RETURN(const auto values, FindParts(session.executable(), mode, kind));
    for (const auto& [name, value] : values) names.insert(name);
  }
  return names;
}

bool IsFloat(program::ElementType type) {
  return type == program::ElementType::kF32 || type == program::ElementType::kF64 ||
         type == program::ElementType::kBF16 || type == program::ElementType::kF16;
}

void StoreConverted(program::ElementType type, double value, std::byte* data, int64_t index) {
  const float narrow = static_cast<float>(value);
  if (type == program::ElementType::kF64) {
    std::memcpy(data + index * 8, &value, 8);
  } else if (type == program::ElementType::kBF16) {
    const uint16_t bits = FloatToBf16(narrow);
    std::memcpy(data + index * 2, &bits, 2);
  } else {
    std::memcpy(data + index * 4, &narrow, 4);
  }
}

absl::Status PlaceConverted(const SafetensorsFile& file, const SafetensorsFile::Tensor& tensor,
                            const exec::BufferView& view) {
  const program::Buffer& buffer = *view.description;
  const program::ElementType from = tensor.info.type, to = buffer.element_type();
  if (tensor.info.shape != DeclaredShape(buffer)) {
    return absl::InvalidArgumentError(absl::StrCat("'", file.path(), "': tensor '", tensor.info.name,
                                                   "' has shape ", ShapeText(tensor.info.shape),
                                                   ", the model needs ", ShapeText(DeclaredShape(buffer))));
  }
  if (from == to) return Place(tensor, view);
  if (!IsFloat(from) || !IsFloat(to) || to == program::ElementType::kF16) {
    return absl::InvalidArgumentError(absl::StrCat("'", file.path(), "': tensor '", tensor.info.name, "' is ",
                                                   ElementTypeName(from), " and cannot become ",
                                                   ElementTypeName(to)));
  }
  return ForEachContiguousRun(GlobalShape(buffer), LocalStart(buffer), LocalShape(buffer),
                              [&](int64_t source, int64_t target, int64_t count) {
                                for (int64_t i = 0; i < count; ++i) {
                                  StoreConverted(to, ElementAsDouble(from, tensor.data, source + i),
                                                 view.data, target + i);
                                }
                              });
}

}  // namespace

std::vector<int64_t> CheckpointFolder::Steps() const {
  std::vector<int64_t> steps;
  std::error_code error;
  for (fs::directory_iterator it(path_, error), end; !error && it != end; it.increment(error)) {
    if (const std::optional<int64_t> step = ParseStepName(it->path().filename().string()))
      steps.push_back(*step);
  }
  std::sort(steps.begin(), steps.end());
  return steps;
}

absl::StatusOr<std::string> CheckpointFolder::Find(std::optional<int64_t> step) const {
  const std::vector<int64_t> steps = Steps();
  if (steps.empty()) {
    return absl::NotFoundError(absl::StrCat("there is no checkpoint in '", path_, "'"));
  }
  std::string name;
  if (step.has_value()) {
    name = StepName(*step);
  } else {
    PDC_ASSIGN_OR_RETURN(name, ReadLatest(absl::StrCat(path_, "/", kLatest)));
    if (name.empty()) name = StepName(steps.back());
  }
  const std::optional<int64_t> wanted = ParseStepName(name);
  if (!wanted || !std::binary_search(steps.begin(), steps.end(), *wanted)) {
    return absl::NotFoundError(absl::StrCat("there is no checkpoint '", name, "' in '", path_,
                                            "'; it has those of steps ", absl::StrJoin(steps, ", ")));
  }
  return absl::StrCat(path_, "/", name);
}

absl::StatusOr<FolderLock> CheckpointFolder::Prepare() const {
  std::error_code error;
  fs::create_directories(path_, error);
  if (error) return FileSystemError(error, "create the checkpoint folder", path_);
  if (access(path_.c_str(), W_OK) != 0) return FileError(errno, "write into the checkpoint folder", path_);
  PDC_ASSIGN_OR_RETURN(FolderLock lock, FolderLock::Take(path_));
  std::vector<fs::path> left_behind;
  for (fs::directory_iterator it(path_, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (absl::StartsWith(name, kTemporaryPrefix) || absl::StartsWith(name, kReplacedPrefix) ||
        absl::StartsWith(name, kLatestTemporaryPrefix)) {
      left_behind.push_back(it->path());
    }
  }
  for (const fs::path& path : left_behind) fs::remove_all(path, error);
  return lock;
}

absl::Status CheckpointFolder::Save(exec::Session& session, program::Mode mode,
                                    const TrainingState& state) const {
  const bool writes = session.communicator().rank() == 0;
  const std::string temporary =
      absl::StrCat(path_, "/", kTemporaryPrefix, StepName(state.step), "-", getpid());
  std::error_code error;
  if (writes) {
    fs::remove_all(temporary, error);
    fs::create_directories(temporary, error);
    if (error) return FileSystemError(error, "create", temporary);
  }
  const std::map<std::string, std::string> metadata = {{"format", "pdc"},
                                                       {"model", state.model},
                                                       {"pdc_version", state.compiler_version},
                                                       {"seed", absl::StrCat(state.seed)},
                                                       {"step", absl::StrCat(state.step)}};
  const auto write = [&]() -> absl::Status {
    PDC_ASSIGN_OR_RETURN(const FileDigest model,
                         WriteTensors(absl::StrCat(temporary, "/", kModelFile), session, mode,
                                      {BufferKind::kParameter, BufferKind::kState}, metadata));
    PDC_ASSIGN_OR_RETURN(const FileDigest optimizer,
                         WriteTensors(absl::StrCat(temporary, "/", kOptimizerFile), session, mode,
                                      {BufferKind::kOptimizerState}, metadata));
    if (!writes) return absl::OkStatus();
    PDC_ASSIGN_OR_RETURN(auto file, AtomicFile::Create(absl::StrCat(temporary, "/", kStateFile)));
    const std::string text = StateText(state, model, optimizer);
    PDC_RETURN_IF_ERROR(file->Write(text.data(), text.size()));
    PDC_RETURN_IF_ERROR(file->Commit());
    return Publish(temporary, state.step);
  };
  const absl::Status status = write();
  if (!status.ok() && writes) fs::remove_all(temporary, error);
  return Annotate(status, absl::StrCat("checkpoint of step ", state.step));
}

absl::Status CheckpointFolder::Publish(const std::string& temporary, int64_t step) const {
  const std::string final_path = absl::StrCat(path_, "/", StepName(step));
  const std::string replaced = absl::StrCat(path_, "/", kReplacedPrefix, StepName(step));
  std::error_code error;
  if (fs::exists(final_path, error)) {
    fs::remove_all(replaced, error);
    fs::rename(final_path, replaced, error);
    if (error) return FileSystemError(error, "replace", final_path);
  }
  fs::rename(temporary, final_path, error);
  if (error) return FileSystemError(error, "rename to", final_path);
  PDC_RETURN_IF_ERROR(SyncFolder(path_));
  PDC_ASSIGN_OR_RETURN(auto latest, AtomicFile::Create(absl::StrCat(path_, "/", kLatest)));
  const std::string name = StepName(step) + "\n";
  PDC_RETURN_IF_ERROR(latest->Write(name.data(), name.size()));
  PDC_RETURN_IF_ERROR(latest->Commit());
  fs::remove_all(replaced, error);
  return RemoveOld(step);
}

absl::Status CheckpointFolder::RemoveOld(int64_t newest) const {
  std::vector<int64_t> steps = Steps();
  std::erase(steps, newest);
  const int64_t others = std::max(keep_, 1) - 1;
  for (size_t i = 0; i + others < steps.size(); ++i) {
    std::error_code error;
    const std::string path = absl::StrCat(path_, "/", StepName(steps[i]));
    fs::remove_all(path, error);
    if (error) return FileSystemError(error, "remove the old checkpoint", path);
  }
  return absl::OkStatus();
}

absl::StatusOr<TrainingState> CheckCheckpoint(const std::string& folder) {
  const std::string path = absl::StrCat(folder, "/", kStateFile);
  PDC_ASSIGN_OR_RETURN(const json content, ReadState(path));
  // The hash is right, so the fields have the types that Save() gave them.
  TrainingState state;
  state.step = content["step"].get<int64_t>();
  state.seed = content["seed"].get<uint64_t>();
  state.samples_consumed = content["samples_consumed"].get<int64_t>();
  state.dataset_size = content["dataset_size"].get<int64_t>();
  state.model = content["model"].get<std::string>();
  state.compiler_version = content["compiler_version"].get<std::string>();
  state.optimizer = content["optimizer"].get<std::string>();
  for (const auto& [name, digest] : content["files"].items()) {
    PDC_RETURN_IF_ERROR(CheckFile(absl::StrCat(folder, "/", name), digest));
  }
  return state;
}

absl::Status LoadCheckpoint(const std::string& folder, LoadPart part, exec::Session& session,
                            program::Mode mode) {
  const auto load = [&](const char* name, const std::vector<BufferKind>& kinds) -> absl::Status {
    PDC_ASSIGN_OR_RETURN(const SafetensorsFile file, SafetensorsFile::Open(absl::StrCat(folder, "/", name)));
    PDC_ASSIGN_OR_RETURN(const std::set<std::string> names, NamesOfAllRanks(session, mode, kinds));
    return LoadExactly(file, LocalBuffers(session, mode, kinds), names);
  };
  PDC_RETURN_IF_ERROR(load(kModelFile, {BufferKind::kParameter, BufferKind::kState}));
  if (part == LoadPart::kModel) return absl::OkStatus();
  return load(kOptimizerFile, {BufferKind::kOptimizerState});
}

absl::Status LoadParameters(const std::string& path, exec::Session& session, program::Mode mode) {
  PDC_ASSIGN_OR_RETURN(const SafetensorsFile file, SafetensorsFile::Open(path));
  std::vector<std::string> missing;
  for (const auto& [name, view] : LocalBuffers(session, mode, {BufferKind::kParameter})) {
    if (file.Find(name) == nullptr) missing.push_back(absl::StrCat("'", name, "'"));
  }
  if (!missing.empty()) {
    const size_t count = missing.size();
    missing.resize(std::min<size_t>(count, 5));
    return absl::NotFoundError(absl::StrCat("'", path, "' lacks ", count, " parameters of the model: ",
                                            absl::StrJoin(missing, ", "), count > 5 ? ", ..." : ""));
  }
  for (const auto& [name, view] : LocalBuffers(session, mode, {BufferKind::kParameter, BufferKind::kState})) {
    const SafetensorsFile::Tensor* tensor = file.Find(name);
    if (tensor != nullptr) PDC_RETURN_IF_ERROR(PlaceConverted(file, *tensor, view));
  }
  return absl::OkStatus();
}

}  // namespace pdc::train
