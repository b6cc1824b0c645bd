// The options of an executable's commands.
#ifndef PDC_RUNTIME_TRAIN_OPTIONS_H_
#define PDC_RUNTIME_TRAIN_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/program/program_generated.h"
#include "runtime/train/data/convert.h"
#include "runtime/train/data/readers.h"
#include "runtime/train/schedule.h"

namespace pdc::train {

enum class Command { kTrain, kEval, kInfer, kBench, kVerify };

// How ranks run and meet.
struct RuntimeOptions {
  double timeout_seconds = 60;        // of every wait for peers
  int threads = 0;                    // per rank; 0: what the executable was compiled for
  std::string communicator = "auto";  // auto, mpi, shared_memory, hierarchical
  std::vector<program::Mode> modes;   // the programs that the command runs; empty: any
};

struct DataOptions {
  std::vector<std::string> files;
  std::vector<std::string> validation_files;  // instead of a part of `files`
  DataFormat format = DataFormat::kAuto;
  double validation_fraction = 0.1;  // of text and token files
  Split split = Split::kAll;         // what eval and verify use of text and token files
  Normalization normalization;
  bool shuffle = true;
};

struct Options {
  Command command = Command::kTrain;
  RuntimeOptions runtime;
  DataOptions data;
  uint64_t seed = 0;
  bool seed_given = false;
  int64_t steps = 0;

  LearningRateSchedule schedule;  // `peak` is --lr before scaling
  bool scale_learning_rate = false;
  int64_t base_batch = 256;

  std::string checkpoint;                  // folder; empty: none
  std::optional<int64_t> checkpoint_step;  // the newest if not given
  int64_t checkpoint_every = 0;            // steps; 0: at the end only
  int keep = 3;
  bool resume = false;
  std::string init_from;  // a safetensors file

  int64_t eval_every = 0;     // steps; 0: never
  int64_t eval_batches = 20;  // 0: all

  std::string log;
  std::string trace;
  int64_t trace_steps = 10;
  std::string json;

  std::vector<std::string> inputs;   // infer
  std::vector<std::string> outputs;  // infer
  int64_t warmup = 3;                // bench, steps
  std::optional<double> tolerance;   // verify
};

}  // namespace pdc::train

#endif  // PDC_RUNTIME_TRAIN_OPTIONS_H_
