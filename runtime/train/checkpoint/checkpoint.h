// Checkpoints of a training run. A folder holds
//
//   step-00001000/model.safetensors      parameters and model state under their model names, in the logical layout
//   step-00001000/optimizer.safetensors  "optimizer.<slot>.<parameter>"
//   step-00001000/state.json             step, seed, data position, sizes and content hashes of the files, its own hash
//   latest                               the name of the newest one
//
// A checkpoint is written under a temporary name, flushed to the disk and renamed, then `latest` is replaced
// the same way: whatever happens, what `latest` names is whole. Nothing of a checkpoint whose size or hash is
// not right is used.
#ifndef PDC_RUNTIME_TRAIN_CHECKPOINT_CHECKPOINT_H_
#define PDC_RUNTIME_TRAIN_CHECKPOINT_CHECKPOINT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/exec/session.h"
#include "runtime/train/checkpoint/folder_lock.h"

namespace pdc::train {

// What a run needs besides the tensors to continue as if never stopped.
struct TrainingState {
  int64_t step = 0;  // steps done
  uint64_t seed = 0;
  int64_t samples_consumed = 0;  // the data position, see data/shuffle.h
  int64_t dataset_size = 0;      // samples; 0 where not known
  std::string model = {};
  std::string compiler_version = {};
  std::string optimizer = {};
};

class CheckpointFolder {
 public:
  // Nothing is touched before the first Save(). `keep` checkpoints stay; at least 1.
  CheckpointFolder(std::string path, int keep) : path_(std::move(path)), keep_(keep) {}

  // Steps of the whole checkpoints, ascending.
  std::vector<int64_t> Steps() const;
  // Folder of a step, or of the newest when `step` is not given. NOT_FOUND names the folder and what it has
  // instead.
  absl::StatusOr<std::string> Find(std::optional<int64_t> step) const;

  // Rank 0, before training: makes the folder, holds other runs off while the lock lives, and removes what
  // unfinished saves left behind.
  absl::StatusOr<FolderLock> Prepare() const;

  // Collective over all ranks: rank 0 gathers and writes. `mode` is a program that has the optimizer state.
  absl::Status Save(exec::Session& session, program::Mode mode, const TrainingState& state) const;

 private:
  absl::Status Publish(const std::string& temporary, int64_t step) const;
  absl::Status RemoveOld(int64_t newest) const;

  std::string path_;
  int keep_;
};

// Checks sizes and hashes of the checkpoint in `folder` (from CheckpointFolder::Find) and reads its
// state.json.
absl::StatusOr<TrainingState> CheckCheckpoint(const std::string& folder);

// Which persistent buffers a load fills.
enum class LoadPart {
  kModel,       // parameters and model state
  kEverything,  // and optimizer state
};

// Fills this rank's buffers from a checkpoint that CheckCheckpoint() accepted. Each must be there with its
// element type and global shape; tensors that the program does not have are an error too (the checkpoint is
// of another model).
absl::Status LoadCheckpoint(const std::string& folder, LoadPart part, exec::Session& session,
                            program::Mode mode);

// Fills parameters, and model state where the file has it, from any safetensors file; floating-point elements
// are converted. NOT_FOUND lists parameters that the file lacks.
absl::Status LoadParameters(const std::string& path, exec::Session& session, program::Mode mode);

}  // namespace pdc::train

#endif  // PDC_RUNTIME_TRAIN_CHECKPOINT_CHECKPOINT_H_
