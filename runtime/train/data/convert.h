// From the elements that files store to the elements that a program's inputs take.
#ifndef PDC_RUNTIME_TRAIN_DATA_CONVERT_H_
#define PDC_RUNTIME_TRAIN_DATA_CONVERT_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "runtime/program/program_generated.h"
#include "runtime/train/data/dataset.h"

namespace pdc::train {

// value -> (value - mean) / deviation, per channel: the channel is dimension 0 of a sample. Empty: no
// normalization; one number: the same for all channels.
struct Normalization {
  std::vector<double> mean;
  std::vector<double> deviation;
};

// INVALID_ARGUMENT when `from` cannot become `to`: integers become any number, floating-point numbers become
// floating-point numbers only, and u8 becomes a fraction in [0, 1] (value / 255) when `to` is floating-point.
absl::Status CheckConversion(StoredType from, program::ElementType to);

// `count` elements, in `channels` runs of equal length for the normalization (which applies to floating-point
// `to`). OUT_OF_RANGE for an integer that `to` cannot hold. Requires CheckConversion.
absl::Status Convert(StoredType from, const std::byte* source, int64_t count, int64_t channels,
                     const Normalization& normalization, program::ElementType to, std::byte* destination);

// Writes `value` into elements [0, count) of integer or floating-point type `to`.
void FillConstant(program::ElementType to, double value, int64_t count, std::byte* destination);

}  // namespace pdc::train

#endif  // PDC_RUNTIME_TRAIN_DATA_CONVERT_H_
