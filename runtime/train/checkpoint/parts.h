// Which rank holds which part of each persistent value, and moving the parts between ranks and whole values.
#ifndef PDC_RUNTIME_TRAIN_CHECKPOINT_PARTS_H_
#define PDC_RUNTIME_TRAIN_CHECKPOINT_PARTS_H_

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/comm/communicator.h"
#include "runtime/program/program_generated.h"
#include "runtime/train/buffers.h"
#include "runtime/train/checkpoint/safetensors.h"

namespace pdc::train {

struct Part {
  int rank;
  Shape start;
  Shape shape;
};

// A value and parts that cover it, each element once; each part is held by the lowest of the ranks that have it.
struct PartedValue {
  TensorInfo info;  // as checkpoints and the model have it
  Shape shape;      // that parts are parts of: as many elements as info.shape, in the same order
  std::vector<Part> parts;
};

// The buffers of one kind in all ranks' programs of a mode, by name: persistent buffers by PersistentName(),
// outputs by their own names. The same on all ranks. INVALID_ARGUMENT when ranks disagree about a shape or
// type, or no parts, taken in the order of ranks, cover a value exactly.
absl::StatusOr<std::map<std::string, PartedValue>> FindParts(const program::Executable& executable,
                                                             program::Mode mode, program::BufferKind kind);

// Collective over all ranks. On rank 0 calls `use` with the whole value (valid during the call); other ranks
// send what they hold. `local` is this rank's part, or null when it holds none.
absl::Status GatherToRankZero(comm::Communicator& communicator, comm::Clock::time_point deadline,
                              const PartedValue& value, const std::byte* local,
                              const std::function<absl::Status(const std::byte*)>& use);

// Copies the part of `whole` (a dense value of shape `global`) that begins at `start` to `part`.
absl::Status ExtractPart(const std::byte* whole, const Shape& global, const Shape& start, const Shape& shape,
                         size_t element_bytes, std::byte* part);

// The message tag of the trainer's own point-to-point messages; programs use smaller ones.
inline constexpr int kTrainerTag = 32000;

}  // namespace pdc::train

#endif  // PDC_RUNTIME_TRAIN_CHECKPOINT_PARTS_H_
