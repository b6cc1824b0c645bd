// What a training run tells about itself: one record per step, as JSON lines and as lines or a bar for a
// person.
#ifndef PDC_RUNTIME_TRAIN_METRICS_H_
#define PDC_RUNTIME_TRAIN_METRICS_H_

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace pdc::train {

struct StepRecord {
  int64_t step = 0;
  double loss = 0;
  double step_time_seconds = 0;
  double tokens_per_second = 0;  // samples where samples are not token sequences
  double learning_rate = 0;
  std::optional<double> validation_loss = std::nullopt;
  std::map<std::string, double> metrics = {};  // the program's other scalar outputs ("grad_norm")
};

// {"step": n, "loss": x, "step_time": s, "tokens_per_second": x, "lr": x, "validation_loss": x, ...}; numbers
// that are not finite are null.
std::string ToJsonLine(const StepRecord& record);

// A file of JSON lines, one a step.
class MetricsLog {
 public:
  // Keeps the file's lines of steps up to `resumed_step`, which a resumed run does not repeat; 0 starts it
  // anew.
  static absl::StatusOr<std::unique_ptr<MetricsLog>> Open(const std::string& path, int64_t resumed_step);
  MetricsLog(const MetricsLog&) = delete;
  MetricsLog& operator=(const MetricsLog&) = delete;
  ~MetricsLog();

  // Reaches the file before it returns.
  absl::Status Write(const StepRecord& record);

 private:
  MetricsLog(std::string path, std::FILE* file) : path_(std::move(path)), file_(file) {}

  std::string path_;
  std::FILE* file_;
};

// "step 12/2000  loss 3.2145  lr 0.001  0.123 s  33.2k tokens/s".
std::string ToText(const StepRecord& record, int64_t total_steps, const std::string& unit);

// Shows steps: on a terminal one line that is redrawn with a bar, elsewhere a line per step.
class Progress {
 public:
  // `unit`: "tokens" or "samples". `interrupted`, if given, is not 0 once the run is to end: then what nobody reads is
  // dropped. (mpiexec, told to end, reads no more output of its ranks; one that waited for it would not save anything.)
  Progress(std::FILE* out, bool is_terminal, int64_t total_steps, std::string unit,
           const std::atomic<int>* interrupted = nullptr)
      : out_(out),
        is_terminal_(is_terminal),
        total_steps_(total_steps),
        unit_(std::move(unit)),
        interrupted_(interrupted) {}
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress();

  void Show(const StepRecord& record);
  // A line of its own that stays.
  void Note(const std::string& text);

 private:
  // Waits until there is room; false where there is none and the run was interrupted.
  bool AwaitRoom() const;

  std::FILE* out_;
  bool is_terminal_;
  int64_t total_steps_;
  std::string unit_;
  const std::atomic<int>* interrupted_;
  bool open_line_ = false;
};

// "12.3k", "4.56M".
std::string ShortNumber(double value);

}  // namespace pdc::train

#endif  // PDC_RUNTIME_TRAIN_METRICS_H_
