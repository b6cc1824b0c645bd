// Data sets: numbered samples of fixed shape, whose fields lie ready in memory-mapped files.
#ifndef PDC_RUNTIME_TRAIN_DATA_DATASET_H_
#define PDC_RUNTIME_TRAIN_DATA_DATASET_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/train/buffers.h"

namespace pdc::train {

// Elements as files store them (little-endian).
enum class StoredType { kU8, kI8, kU16, kI32, kI64, kF16, kF32, kF64 };

size_t StoredBytes(StoredType type);
std::string StoredTypeName(StoredType type);

// One field of a sample.
struct Field {
  std::string name;  // "tokens", "labels", "image"; for .npy the file's name
  StoredType type = StoredType::kU8;
  Shape shape;  // of one sample; empty for a scalar
};

// Thread-safe: all members are const.
class Dataset {
 public:
  virtual ~Dataset() = default;
  virtual const std::vector<Field>& fields() const = 0;
  // Number of samples; at least 1.
  virtual int64_t size() const = 0;
  // The elements of a field of a sample, dense and row-major; not aligned. Requires 0 <= sample < size().
  virtual const std::byte* data(int64_t sample, size_t field) const = 0;
  // Where a user finds a field of a sample, as part of a sentence: "sample 3 of 'images.npy'".
  virtual std::string Place(int64_t sample, size_t field) const = 0;
};

}  // namespace pdc::train

#endif  // PDC_RUNTIME_TRAIN_DATA_DATASET_H_
