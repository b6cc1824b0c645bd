// Readers of data set files. All map their files and check sizes against headers before a sample is used:
// INVALID_ARGUMENT for a file of another kind, DATA_LOSS for one that is truncated or too long; both name the
// file, the bytes expected and the bytes found.
#ifndef PDC_RUNTIME_TRAIN_DATA_READERS_H_
#define PDC_RUNTIME_TRAIN_DATA_READERS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/train/data/dataset.h"

namespace pdc::train {

// Which part of a text or token file. The validation part is the last `validation_fraction` of its tokens.
enum class Split { kAll, kTrain, kValidation };

struct WindowOptions {
  int64_t sequence = 0;  // tokens of a sample
  int64_t stride = 1;    // tokens between the beginnings of two samples
  Split split = Split::kAll;
  double validation_fraction = 0;
};

// Plain text, one token a byte. A sample is a window of sequence + 1 bytes: field "tokens" is its first
// `sequence` bytes, "labels" its last `sequence`. Tokens after the last whole window are not used.
absl::StatusOr<std::unique_ptr<Dataset>> OpenText(const std::string& path, const WindowOptions& options);

// The same over a headerless file of little-endian uint16 tokens.
absl::StatusOr<std::unique_ptr<Dataset>> OpenTokens(const std::string& path, const WindowOptions& options);

// One field for each .npy file; dimension 0 of all files is the samples.
absl::StatusOr<std::unique_ptr<Dataset>> OpenNpy(const std::vector<std::string>& paths);

// One field for each MNIST idx file of unsigned bytes; dimension 0 of all files is the samples.
absl::StatusOr<std::unique_ptr<Dataset>> OpenIdx(const std::vector<std::string>& paths);

// CIFAR-10 binaries, one after the other: fields "image" [3, 32, 32] and "label".
absl::StatusOr<std::unique_ptr<Dataset>> OpenCifar10(const std::vector<std::string>& paths);

enum class DataFormat { kAuto, kText, kTokens, kNpy, kIdx, kCifar10 };

// kAuto: .npy by name; idx by name ("idx" or "ubyte") or magic number; a .bin file is CIFAR-10 when
// `first_input_is_float`, uint16 tokens otherwise; all else is text.
DataFormat GuessFormat(const std::string& path, bool first_input_is_float);

// `window` is used by kText and kTokens only. INVALID_ARGUMENT when the number of files does not suit the
// format.
absl::StatusOr<std::unique_ptr<Dataset>> OpenDataset(const std::vector<std::string>& paths, DataFormat format,
                                                     const WindowOptions& window);

}  // namespace pdc::train

#endif  // PDC_RUNTIME_TRAIN_DATA_READERS_H_
