#include "runtime/train/checkpoint/safetensors.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "nlohmann/json.hpp"
#include "runtime/base/status.h"
#include "xxhash.h"

namespace pdc::train {
namespace {

using nlohmann::json;
using program::ElementType;

constexpr uint64_t kMaximumHeaderBytes = 100'000'000;  // what the format's own library accepts
constexpr char kMetadata[] = "__metadata__";

struct KnownType {
  ElementType type;
  const char* text;
};
constexpr KnownType kTypes[] = {
    {ElementType::kF32, "F32"}, {ElementType::kF64, "F64"}, {ElementType::kBF16, "BF16"},
    {ElementType::kF16, "F16"}, {ElementType::kI32, "I32"}, {ElementType::kI64, "I64"},
    {ElementType::kI8, "I8"},   {ElementType::kU8, "U8"},   {ElementType::kI1, "BOOL"},
};

const char* TypeText(ElementType type) {
  for (const KnownType& known : kTypes) {
    if (known.type == type) return known.text;
  }
  return "F32";
}

std::optional<ElementType> ParseType(const std::string& text) {
  for (const KnownType& known : kTypes) {
    if (text == known.text) return known.type;
  }
  return std::nullopt;
}

std::string HashText(XXH128_hash_t hash) { return absl::StrFormat("%016x%016x", hash.high64, hash.low64); }

absl::Status Damaged(const std::string& path, const std::string& what) {
  return absl::DataLossError(absl::StrCat("'", path, "' is not a whole safetensors file: ", what));
}

std::string Header(const std::vector<TensorInfo>& tensors,
                   const std::map<std::string, std::string>& metadata) {
  json header = json::object();
  if (!metadata.empty()) header[kMetadata] = metadata;
  uint64_t offset = 0;
  for (const TensorInfo& tensor : tensors) {
    header[tensor.name] = {{"dtype", TypeText(tensor.type)},
                           {"shape", tensor.shape},
                           {"data_offsets", {offset, offset + tensor.bytes()}}};
    offset += tensor.bytes();
  }
  std::string text = header.dump(-1, ' ', false, json::error_handler_t::replace);
  text.append((8 - text.size() % 8) % 8, ' ');
  return text;
}

bool IsCount(const json& value) {
  return value.is_number_unsigned() && value.get<uint64_t>() < uint64_t{1} << 56;
}

// One entry of the header; offsets are from the first byte of data.
absl::StatusOr<SafetensorsFile::Tensor> ParseTensor(const std::string& path, const std::string& name,
                                                    const json& entry, const std::byte* data,
                                                    uint64_t data_bytes) {
  const auto bad = [&](const std::string& what) {
    return Damaged(path, absl::StrCat("tensor '", name, "' ", what));
  };
  if (!entry.is_object() || !entry.contains("dtype") || !entry.contains("shape") ||
      !entry.contains("data_offsets")) {
    return bad("has no dtype, shape or data_offsets");
  }
  const json &dtype = entry["dtype"], &shape = entry["shape"], &offsets = entry["data_offsets"];
  const std::optional<ElementType> type =
      dtype.is_string() ? ParseType(dtype.get<std::string>()) : std::optional<ElementType>();
  if (!type)
    return bad(
        absl::StrCat("has the unknown dtype ", dtype.dump(-1, ' ', true, json::error_handler_t::replace)));
  if (!shape.is_array() || !std::all_of(shape.begin(), shape.end(), IsCount))
    return bad("has a malformed shape");
  if (!offsets.is_array() || offsets.size() != 2 || !std::all_of(offsets.begin(), offsets.end(), IsCount)) {
    return bad("has malformed data_offsets");
  }
  SafetensorsFile::Tensor tensor{{name, *type, shape.get<Shape>()}, nullptr};
  uint64_t bytes = ElementBytes(*type);
  for (int64_t dim : tensor.info.shape) {
    if (__builtin_mul_overflow(bytes, static_cast<uint64_t>(dim), &bytes))
      return bad("has a shape that overflows");
  }
  const uint64_t begin = offsets[0].get<uint64_t>(), end = offsets[1].get<uint64_t>();
  if (begin > end || end - begin != bytes) {
    return bad(absl::StrCat("of shape ", ShapeText(tensor.info.shape), " must have ", bytes,
                            " bytes; its offsets are ", begin, " and ", end));
  }
  if (end > data_bytes) {
    return bad(
        absl::StrCat("ends at byte ", end, " of the data, the file has ", data_bytes, " bytes of data"));
  }
  tensor.data = data + begin;
  return tensor;
}

// Tensors must cover the data without gaps or overlaps.
absl::Status CheckCovered(const std::string& path,
                          const std::map<std::string, SafetensorsFile::Tensor>& tensors,
                          const std::byte* data, uint64_t data_bytes) {
  std::vector<std::pair<uint64_t, uint64_t>> ranges;
  for (const auto& [name, tensor] : tensors) {
    const uint64_t begin = static_cast<uint64_t>(tensor.data - data);
    if (tensor.info.bytes() > 0) ranges.emplace_back(begin, begin + tensor.info.bytes());
  }
  std::sort(ranges.begin(), ranges.end());
  uint64_t covered = 0;
  for (const auto& [begin, end] : ranges) {
    if (begin != covered)
      return Damaged(path, absl::StrCat("tensors overlap or leave a gap at byte ", covered));
    covered = end;
  }
  if (covered == data_bytes) return absl::OkStatus();
  return Damaged(path,
                 absl::StrCat("its tensors take ", covered, " bytes, it has ", data_bytes, " bytes of data"));
}

}  // namespace

FileDigest DigestOf(const MappedFile& file) {
  return {file.size(), HashText(XXH3_128bits(file.data(), file.size()))};
}

struct SafetensorsWriter::HashState {
  XXH3_state_t state;
};

SafetensorsWriter::SafetensorsWriter(std::string path, std::unique_ptr<AtomicFile> file, size_t data_bytes)
    : path_(std::move(path)),
      file_(std::move(file)),
      hash_(std::make_unique<HashState>()),
      missing_bytes_(data_bytes) {
  XXH3_128bits_reset(&hash_->state);
}

SafetensorsWriter::~SafetensorsWriter() = default;

absl::StatusOr<std::unique_ptr<SafetensorsWriter>> SafetensorsWriter::Create(
    const std::string& path, const std::vector<TensorInfo>& tensors,
    const std::map<std::string, std::string>& metadata) {
  std::set<std::string> names;
  size_t data_bytes = 0;
  for (const TensorInfo& tensor : tensors) {
    if (tensor.name == kMetadata || !names.insert(tensor.name).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", path, "': tensor '", tensor.name, "' cannot be written under this name twice"));
    }
    data_bytes += tensor.bytes();
  }
  PDC_ASSIGN_OR_RETURN(std::unique_ptr<AtomicFile> file, AtomicFile::Create(path));
  std::unique_ptr<SafetensorsWriter> writer(new SafetensorsWriter(path, std::move(file), data_bytes));
  const std::string header = Header(tensors, metadata);
  const uint64_t length = header.size();
  PDC_RETURN_IF_ERROR(writer->WriteHashed(&length, sizeof(length)));
  PDC_RETURN_IF_ERROR(writer->WriteHashed(header.data(), header.size()));
  return writer;
}

absl::Status SafetensorsWriter::WriteHashed(const void* data, size_t bytes) {
  XXH3_128bits_update(&hash_->state, data, bytes);
  written_ += bytes;
  return file_->Write(data, bytes);
}

absl::Status SafetensorsWriter::Append(const std::byte* data, size_t bytes) {
  if (bytes > missing_bytes_) {
    return absl::FailedPreconditionError(absl::StrCat("'", path_, "': more data than its tensors hold"));
  }
  missing_bytes_ -= bytes;
  return WriteHashed(data, bytes);
}

absl::StatusOr<FileDigest> SafetensorsWriter::Finish() {
  if (missing_bytes_ != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("'", path_, "': ", missing_bytes_, " bytes were not written"));
  }
  PDC_RETURN_IF_ERROR(file_->Commit());
  return FileDigest{written_, HashText(XXH3_128bits_digest(&hash_->state))};
}

absl::StatusOr<SafetensorsFile> SafetensorsFile::Open(const std::string& path) {
  SafetensorsFile result;
  PDC_ASSIGN_OR_RETURN(result.file_, MappedFile::Open(path));
  const std::byte* bytes = result.file_->data();
  const uint64_t size = result.file_->size();
  uint64_t length = 0;
  if (size < sizeof(length)) return Damaged(path, absl::StrCat("it has ", size, " bytes"));
  std::memcpy(&length, bytes, sizeof(length));
  if (length > kMaximumHeaderBytes || length > size - sizeof(length)) {
    return Damaged(path, absl::StrCat("its header should have ", length, " bytes, the file has ", size));
  }
  const char* text = reinterpret_cast<const char*>(bytes) + sizeof(length);
  const json header = json::parse(text, text + length, nullptr, /*allow_exceptions=*/false);
  if (!header.is_object()) return Damaged(path, "its header is not a JSON object");
  const std::byte* data = bytes + sizeof(length) + length;
  const uint64_t data_bytes = size - sizeof(length) - length;
  for (const auto& [name, entry] : header.items()) {
    if (name == kMetadata) {
      if (!entry.is_object()) return Damaged(path, "its metadata is not a JSON object");
      for (const auto& [key, value] : entry.items()) {
        if (value.is_string()) result.metadata_[key] = value.get<std::string>();
      }
      continue;
    }
    PDC_ASSIGN_OR_RETURN(Tensor tensor, ParseTensor(path, name, entry, data, data_bytes));
    result.tensors_.emplace(name, std::move(tensor));
  }
  PDC_RETURN_IF_ERROR(CheckCovered(path, result.tensors_, data, data_bytes));
  return result;
}

const SafetensorsFile::Tensor* SafetensorsFile::Find(const std::string& name) const {
  const auto found = tensors_.find(name);
  return found == tensors_.end() ? nullptr : &found->second;
}

}  // namespace pdc::train
