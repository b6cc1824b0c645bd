// safetensors files: named tensors behind a JSON header, as other tools read and write them. Layout: 8 bytes
// length of the header (little-endian), the header, the tensors' bytes without gaps
// (https://github.com/huggingface/safetensors).
#ifndef PDC_RUNTIME_TRAIN_CHECKPOINT_SAFETENSORS_H_
#define PDC_RUNTIME_TRAIN_CHECKPOINT_SAFETENSORS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/program/program_generated.h"
#include "runtime/train/atomic_file.h"
#include "runtime/train/buffers.h"
#include "runtime/train/data/mapped_file.h"

namespace pdc::train {

struct TensorInfo {
  std::string name;
  program::ElementType type = program::ElementType::kF32;
  Shape shape;

  size_t bytes() const { return ElementCount(shape) * ElementBytes(type); }
};

// Size and content hash of a file.
struct FileDigest {
  uint64_t bytes = 0;
  std::string xxh3;  // XXH3 of 128 bits over the whole file, hexadecimal
};

FileDigest DigestOf(const MappedFile& file);

// Writes tensors one after the other; the file appears under its name when Finish() succeeds.
class SafetensorsWriter {
 public:
  // `metadata` becomes the header's "__metadata__". INVALID_ARGUMENT for a name that stands twice.
  static absl::StatusOr<std::unique_ptr<SafetensorsWriter>> Create(
      const std::string& path, const std::vector<TensorInfo>& tensors,
      const std::map<std::string, std::string>& metadata);
  ~SafetensorsWriter();

  // The next bytes of the tensors, in the order in which they were declared.
  absl::Status Append(const std::byte* data, size_t bytes);
  // FAILED_PRECONDITION when bytes are missing.
  absl::StatusOr<FileDigest> Finish();

 private:
  struct HashState;
  SafetensorsWriter(std::string path, std::unique_ptr<AtomicFile> file, size_t data_bytes);
  absl::Status WriteHashed(const void* data, size_t bytes);

  std::string path_;
  std::unique_ptr<AtomicFile> file_;
  std::unique_ptr<HashState> hash_;
  uint64_t written_ = 0;
  size_t missing_bytes_;
};

// A mapped file whose header has been checked: every tensor lies inside, has the size of its shape, and none
// overlap.
class SafetensorsFile {
 public:
  struct Tensor {
    TensorInfo info;
    const std::byte* data;  // not aligned
  };

  // DATA_LOSS that names the file for one that is truncated or damaged.
  static absl::StatusOr<SafetensorsFile> Open(const std::string& path);

  const std::string& path() const { return file_->path(); }
  const MappedFile& file() const { return *file_; }
  const std::map<std::string, Tensor>& tensors() const { return tensors_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  // Null when there is no tensor of this name.
  const Tensor* Find(const std::string& name) const;

 private:
  std::shared_ptr<const MappedFile> file_;
  std::map<std::string, Tensor> tensors_;
  std::map<std::string, std::string> metadata_;
};

}  // namespace pdc::train

#endif  // PDC_RUNTIME_TRAIN_CHECKPOINT_SAFETENSORS_H_
