#include "runtime/train/data/readers.h"

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/train/data/mapped_file.h"
#include "runtime/train/data/npy.h"

namespace pdc::train {
namespace {

using FilePointer = std::shared_ptr<const MappedFile>;

std::string BaseName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// Windows over a file of tokens.
class WindowDataset final : public Dataset {
 public:
  WindowDataset(FilePointer file, StoredType type, int64_t begin, int64_t end, const WindowOptions& options)
      : file_(std::move(file)),
        element_bytes_(static_cast<int64_t>(StoredBytes(type))),
        begin_(begin),
        stride_(options.stride),
        size_((end - begin - options.sequence - 1) / options.stride + 1),
        fields_{{"tokens", type, {options.sequence}}, {"labels", type, {options.sequence}}} {}

  const std::vector<Field>& fields() const override { return fields_; }
  int64_t size() const override { return size_; }
  const std::byte* data(int64_t sample, size_t field) const override {
    return file_->data() + First(sample, field) * element_bytes_;
  }
  std::string Place(int64_t sample, size_t field) const override {
    const int64_t first = First(sample, field);
    return absl::StrCat("'", file_->path(), "', ", element_bytes_ == 1 ? "bytes " : "tokens ", first, " to ",
                        first + ElementCount(fields_[field].shape) - 1);
  }

 private:
  // The sample's first token in the file; labels are the tokens that follow the inputs.
  int64_t First(int64_t sample, size_t field) const {
    return begin_ + sample * stride_ + static_cast<int64_t>(field);
  }

  FilePointer file_;
  int64_t element_bytes_;
  int64_t begin_;
  int64_t stride_;
  int64_t size_;
  std::vector<Field> fields_;
};

// Arrays whose rows are the samples; one per field.
class RowDataset final : public Dataset {
 public:
  struct Column {
    FilePointer file;
    const std::byte* data;
    int64_t row_bytes;
  };

  RowDataset(std::vector<Field> fields, std::vector<Column> columns, int64_t size)
      : fields_(std::move(fields)), columns_(std::move(columns)), size_(size) {}

  const std::vector<Field>& fields() const override { return fields_; }
  int64_t size() const override { return size_; }
  const std::byte* data(int64_t sample, size_t field) const override {
    return columns_[field].data + sample * columns_[field].row_bytes;
  }
  std::string Place(int64_t sample, size_t field) const override {
    return absl::StrCat("sample ", sample, " of '", columns_[field].file->path(), "'");
  }

 private:
  std::vector<Field> fields_;
  std::vector<Column> columns_;
  int64_t size_;
};

class Cifar10Dataset final : public Dataset {
 public:
  static constexpr int64_t kImageBytes = 3 * 32 * 32;
  static constexpr int64_t kRecordBytes = 1 + kImageBytes;

  explicit Cifar10Dataset(std::vector<FilePointer> files) : files_(std::move(files)) {
    for (const FilePointer& file : files_) ends_.push_back(size() + Records(*file));
  }

  const std::vector<Field>& fields() const override { return fields_; }
  int64_t size() const override { return ends_.empty() ? 0 : ends_.back(); }
  const std::byte* data(int64_t sample, size_t field) const override {
    const auto [file, record] = Find(sample);
    return file->data() + record * kRecordBytes + (field == 0 ? 1 : 0);
  }
  std::string Place(int64_t sample, size_t field) const override {
    const auto [file, record] = Find(sample);
    return absl::StrCat("the ", fields_[field].name, " of record ", record, " of '", file->path(), "'");
  }

 private:
  std::pair<const MappedFile*, int64_t> Find(int64_t sample) const {
    size_t i = 0;
    while (sample >= ends_[i]) ++i;
    return {files_[i].get(), sample - (i == 0 ? 0 : ends_[i - 1])};
  }
  static int64_t Records(const MappedFile& file) { return static_cast<int64_t>(file.size()) / kRecordBytes; }

  std::vector<FilePointer> files_;
  std::vector<int64_t> ends_;
  std::vector<Field> fields_ = {{"image", StoredType::kU8, {3, 32, 32}}, {"label", StoredType::kU8, {}}};
};

absl::StatusOr<std::unique_ptr<Dataset>> OpenWindows(const std::string& path, StoredType type,
                                                     const WindowOptions& options) {
  if (options.sequence < 1 || options.stride < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", path, "': text needs a model whose first input is token sequences of shape ",
                     "[batch, sequence]"));
  }
  auto file = MappedFile::Open(path);
  if (!file.ok()) return file.status();
  const size_t element_bytes = StoredBytes(type);
  if ((*file)->size() % element_bytes != 0) {
    return absl::DataLossError(absl::StrCat("'", path, "' must hold a whole number of tokens of ",
                                            element_bytes, " bytes; it has ", (*file)->size(), " bytes"));
  }
  const int64_t tokens = static_cast<int64_t>((*file)->size() / element_bytes);
  const int64_t validation = static_cast<int64_t>(std::floor(tokens * options.validation_fraction));
  const int64_t begin = options.split == Split::kValidation ? tokens - validation : 0;
  const int64_t end = options.split == Split::kTrain ? tokens - validation : tokens;
  if (end - begin < options.sequence + 1) {
    const char* part = options.split == Split::kAll     ? ""
                       : options.split == Split::kTrain ? "the training part of "
                                                        : "the validation part of ";
    return absl::InvalidArgumentError(absl::StrCat(part, "'", path, "' has ", end - begin,
                                                   " tokens; one sample of ", options.sequence,
                                                   " tokens and its labels need ", options.sequence + 1));
  }
  return std::make_unique<WindowDataset>(*std::move(file), type, begin, end, options);
}

// Dimensions and first byte of an idx file. Header: two zero bytes, element type, number of dimensions, then
// each dimension as a big-endian 32-bit integer.
struct IdxArray {
  FilePointer file;
  Shape shape;
  const std::byte* data;
};

absl::StatusOr<IdxArray> ReadIdx(const std::string& path) {
  auto file = MappedFile::Open(path);
  if (!file.ok()) return file.status();
  const std::byte* bytes = (*file)->data();
  const size_t size = (*file)->size();
  if (size < 4 || bytes[0] != std::byte{0} || bytes[1] != std::byte{0}) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", path, "' is not an idx file: it does not begin with two zero bytes",
        size >= 2 && bytes[0] == std::byte{0x1f} ? " (it looks compressed; run gunzip on it)" : ""));
  }
  if (bytes[2] != std::byte{0x08}) {
    return absl::InvalidArgumentError(absl::StrCat("'", path, "': idx element type ",
                                                   static_cast<int>(bytes[2]),
                                                   " is not supported; expected 8, unsigned bytes"));
  }
  const size_t rank = static_cast<size_t>(bytes[3]);
  if (rank < 1 || rank > 8) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", path, "': idx file of ", rank, " dimensions; expected 1 to 8"));
  }
  const size_t header = 4 + 4 * rank;
  if (size < header) {
    return absl::DataLossError(
        absl::StrCat("'", path, "' is truncated: its header needs ", header, " bytes, the file has ", size));
  }
  Shape shape;
  uint64_t elements = 1;
  bool overflow = false;
  for (size_t i = 0; i < rank; ++i) {
    uint32_t dim = 0;
    for (int j = 0; j < 4; ++j) dim = dim << 8 | static_cast<uint32_t>(bytes[4 + 4 * i + j]);
    shape.push_back(dim);
    overflow |= __builtin_mul_overflow(elements, dim, &elements);
  }
  if (overflow || size - header != elements) {
    return absl::DataLossError(absl::StrCat(
        "'", path, "' holds an array of shape ", ShapeText(shape), " of bytes and must have ",
        overflow ? std::string("more than 2^64") : absl::StrCat(header + elements), " bytes; it has ", size));
  }
  return IdxArray{*std::move(file), shape, bytes + header};
}

// Joins arrays into samples; the number of samples must be the same in all.
class RowBuilder {
 public:
  absl::Status Add(FilePointer file, StoredType type, const Shape& shape, const std::byte* data) {
    const std::string path = file->path();
    if (shape.empty())
      return absl::InvalidArgumentError(absl::StrCat("'", path, "' holds one number, not samples"));
    if (shape[0] == 0) return absl::InvalidArgumentError(absl::StrCat("'", path, "' holds no samples"));
    if (!fields_.empty() && shape[0] != size_) {
      return absl::InvalidArgumentError(absl::StrCat("'", path, "' holds ", shape[0], " samples, '",
                                                     columns_[0].file->path(), "' holds ", size_));
    }
    size_ = shape[0];
    const Shape sample(shape.begin() + 1, shape.end());
    const int64_t row_bytes = ElementCount(sample) * static_cast<int64_t>(StoredBytes(type));
    fields_.push_back({BaseName(path), type, sample});
    columns_.push_back({std::move(file), data, row_bytes});
    return absl::OkStatus();
  }

  std::unique_ptr<Dataset> Build() {
    return std::make_unique<RowDataset>(std::move(fields_), std::move(columns_), size_);
  }

 private:
  std::vector<Field> fields_;
  std::vector<RowDataset::Column> columns_;
  int64_t size_ = 0;
};

bool HasIdxMagic(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return false;  // a pipe would wait for its writer
  std::ifstream in(path, std::ios::binary);
  char magic[4] = {1, 1, 1, 1};
  in.read(magic, 4);
  return magic[0] == 0 && magic[1] == 0 && magic[2] == 8 && magic[3] >= 1 && magic[3] <= 8;
}

}  // namespace

size_t StoredBytes(StoredType type) {
  switch (type) {
    case StoredType::kU8:
    case StoredType::kI8:
      return 1;
    case StoredType::kU16:
    case StoredType::kF16:
      return 2;
    case StoredType::kI32:
    case StoredType::kF32:
      return 4;
    case StoredType::kI64:
    case StoredType::kF64:
      return 8;
  }
  return 1;
}

std::string StoredTypeName(StoredType type) {
  switch (type) {
    case StoredType::kU8:
      return "u8";
    case StoredType::kI8:
      return "i8";
    case StoredType::kU16:
      return "u16";
    case StoredType::kI32:
      return "i32";
    case StoredType::kI64:
      return "i64";
    case StoredType::kF16:
      return "f16";
    case StoredType::kF32:
      return "f32";
    case StoredType::kF64:
      return "f64";
  }
  return "unknown";
}

absl::StatusOr<std::unique_ptr<Dataset>> OpenText(const std::string& path, const WindowOptions& options) {
  return OpenWindows(path, StoredType::kU8, options);
}

absl::StatusOr<std::unique_ptr<Dataset>> OpenTokens(const std::string& path, const WindowOptions& options) {
  return OpenWindows(path, StoredType::kU16, options);
}

absl::StatusOr<std::unique_ptr<Dataset>> OpenNpy(const std::vector<std::string>& paths) {
  RowBuilder rows;
  for (const std::string& path : paths) {
    auto array = ReadNpy(path);
    if (!array.ok()) return array.status();
    absl::Status status = rows.Add(array->file, array->type, array->shape, array->data);
    if (!status.ok()) return status;
  }
  return rows.Build();
}

absl::StatusOr<std::unique_ptr<Dataset>> OpenIdx(const std::vector<std::string>& paths) {
  RowBuilder rows;
  for (const std::string& path : paths) {
    auto array = ReadIdx(path);
    if (!array.ok()) return array.status();
    absl::Status status = rows.Add(array->file, StoredType::kU8, array->shape, array->data);
    if (!status.ok()) return status;
  }
  return rows.Build();
}

absl::StatusOr<std::unique_ptr<Dataset>> OpenCifar10(const std::vector<std::string>& paths) {
  std::vector<FilePointer> files;
  for (const std::string& path : paths) {
    auto file = MappedFile::Open(path);
    if (!file.ok()) return file.status();
    const int64_t size = static_cast<int64_t>((*file)->size());
    if (size == 0 || size % Cifar10Dataset::kRecordBytes != 0) {
      return absl::DataLossError(absl::StrCat("'", path, "' must hold a whole number of CIFAR-10 records of ",
                                              Cifar10Dataset::kRecordBytes, " bytes; it has ", size,
                                              " bytes"));
    }
    for (int64_t record = 0; record < size / Cifar10Dataset::kRecordBytes; ++record) {
      const int label = static_cast<int>((*file)->data()[record * Cifar10Dataset::kRecordBytes]);
      if (label > 9) {
        return absl::DataLossError(absl::StrCat("'", path, "': record ", record, " has label ", label,
                                                ", expected 0 to 9; is it a CIFAR-10 binary?"));
      }
    }
    files.push_back(*std::move(file));
  }
  return std::make_unique<Cifar10Dataset>(std::move(files));
}

DataFormat GuessFormat(const std::string& path, bool first_input_is_float) {
  const std::string name = BaseName(path);
  if (absl::EndsWith(name, ".npy")) return DataFormat::kNpy;
  if (absl::StrContains(name, "idx") || absl::StrContains(name, "ubyte") || HasIdxMagic(path)) {
    return DataFormat::kIdx;
  }
  if (absl::EndsWith(name, ".bin")) return first_input_is_float ? DataFormat::kCifar10 : DataFormat::kTokens;
  return DataFormat::kText;
}

absl::StatusOr<std::unique_ptr<Dataset>> OpenDataset(const std::vector<std::string>& paths, DataFormat format,
                                                     const WindowOptions& window) {
  if (paths.empty()) return absl::InvalidArgumentError("no data file given");
  switch (format) {
    case DataFormat::kNpy:
      return OpenNpy(paths);
    case DataFormat::kIdx:
      return OpenIdx(paths);
    case DataFormat::kCifar10:
      return OpenCifar10(paths);
    default:
      break;
  }
  if (paths.size() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("text and token data is one file; ", paths.size(), " were given: join them into one"));
  }
  return format == DataFormat::kTokens ? OpenTokens(paths[0], window) : OpenText(paths[0], window);
}

}  // namespace pdc::train
