// Small facts about the buffers of a program, shared by the parts of the trainer.
#ifndef PDC_RUNTIME_TRAIN_BUFFERS_H_
#define PDC_RUNTIME_TRAIN_BUFFERS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "runtime/program/program_generated.h"
#include "runtime/program/view.h"

namespace pdc::train {

using Shape = std::vector<int64_t>;

using program::ElementBytes;
// "f32", "bf16", "i64"...
std::string ElementTypeName(program::ElementType type);

// Product of the dimensions; 1 for a scalar.
int64_t ElementCount(const Shape& shape);
// "[16, 128]".
std::string ShapeText(const Shape& shape);

// The name in the model or its signature.
std::string NameOf(const program::Buffer& buffer);
// The part that this rank holds.
Shape LocalShape(const program::Buffer& buffer);
// The whole value; the local shape where the program states none.
Shape GlobalShape(const program::Buffer& buffer);
// The whole value's shape in the model and in checkpoints: the same elements in the same order as GlobalShape().
Shape DeclaredShape(const program::Buffer& buffer);
// Where the local part begins in the whole; zeros where the program states nothing.
Shape LocalStart(const program::Buffer& buffer);

// The name of a persistent buffer in checkpoints and for its random stream: the parameter's or state's name,
// or "optimizer.<slot>.<parameter>".
std::string PersistentName(const program::Buffer& buffer);

// Calls `run(global_element, local_element, count)` for each run of elements that is contiguous both in the
// whole value (row-major `global`) and in the part of shape `local` that begins at `start`, in ascending
// order. INVALID_ARGUMENT when the part does not lie inside the whole.
absl::Status ForEachContiguousRun(const Shape& global, const Shape& start, const Shape& local,
                                  const std::function<void(int64_t, int64_t, int64_t)>& run);

// Round to nearest, ties to even; NaN stays NaN.
uint16_t FloatToBf16(float value);
float Bf16ToFloat(uint16_t bits);

// The value of element `index` as a double; element types that are not numbers of this project give NaN.
double ElementAsDouble(program::ElementType type, const std::byte* data, int64_t index);

}  // namespace pdc::train

#endif  // PDC_RUNTIME_TRAIN_BUFFERS_H_
