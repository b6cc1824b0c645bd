// NumPy's .npy files: dense arrays with a header. Format versions 1.0, 2.0 and 3.0, C order, little-endian.
#ifndef PDC_RUNTIME_TRAIN_DATA_NPY_H_
#define PDC_RUNTIME_TRAIN_DATA_NPY_H_

#include <cstddef>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/program/program_generated.h"
#include "runtime/train/buffers.h"
#include "runtime/train/data/dataset.h"
#include "runtime/train/data/mapped_file.h"

namespace pdc::train {

struct NpyArray {
  std::shared_ptr<const MappedFile> file;
  StoredType type;
  Shape shape;
  const std::byte* data;  // within `file`
};

// INVALID_ARGUMENT for a file that is not .npy or an element type that is not supported; DATA_LOSS when the
// file's size is not what its header asks for. Both name the file.
absl::StatusOr<NpyArray> ReadNpy(const std::string& path);

// Writes to a temporary name and renames. bf16 is widened to f32.
absl::Status WriteNpy(const std::string& path, program::ElementType type, const Shape& shape,
                      const std::byte* data);

}  // namespace pdc::train

#endif  // PDC_RUNTIME_TRAIN_DATA_NPY_H_
