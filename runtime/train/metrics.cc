#include "runtime/train/metrics.h"

#include <poll.h>

#include <cerrno>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "nlohmann/json.hpp"
#include "runtime/base/status.h"
#include "runtime/train/atomic_file.h"
#include "runtime/train/data/mapped_file.h"

namespace pdc::train {
namespace {

using nlohmann::ordered_json;

constexpr int kBarWidth = 24;

// To a line's beginning, clear it, and cut at the right edge what is too long: a line that is wrapped would not be
// redrawn in place.
constexpr char kRedraw[] = "\r\x1b[K\x1b[?7l";
constexpr char kWrapAgain[] = "\x1b[?7h";

// The lines of steps up to `last_step`.
std::string LinesUpTo(const std::string& path, int64_t last_step) {
  std::ifstream in(path);
  std::string kept, line;
  while (std::getline(in, line)) {
    const nlohmann::json record = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
    const bool has_step = record.is_object() && record.contains("step") && record["step"].is_number_integer();
    if (has_step && record["step"].get<int64_t>() <= last_step) absl::StrAppend(&kept, line, "\n");
  }
  return kept;
}

}  // namespace

std::string ToJsonLine(const StepRecord& record) {
  ordered_json json = {{"step", record.step},
                       {"loss", record.loss},
                       {"step_time", record.step_time_seconds},
                       {"tokens_per_second", record.tokens_per_second},
                       {"lr", record.learning_rate}};
  if (record.validation_loss) json["validation_loss"] = *record.validation_loss;
  for (const auto& [name, value] : record.metrics) json[name] = value;
  return json.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

absl::StatusOr<std::unique_ptr<MetricsLog>> MetricsLog::Open(const std::string& path, int64_t resumed_step) {
  std::error_code error;
  if (resumed_step > 0 && std::filesystem::is_regular_file(path, error)) {
    const std::string kept = LinesUpTo(path, resumed_step);
    PDC_ASSIGN_OR_RETURN(auto file, AtomicFile::Create(path));
    PDC_RETURN_IF_ERROR(file->Write(kept.data(), kept.size()));
    PDC_RETURN_IF_ERROR(file->Commit());
  }
  PDC_ASSIGN_OR_RETURN(const int fd, OpenForWriting(path, /*append=*/resumed_step > 0));
  std::FILE* file = fdopen(fd, resumed_step > 0 ? "a" : "w");
  return std::unique_ptr<MetricsLog>(new MetricsLog(path, file));
}

MetricsLog::~MetricsLog() { std::fclose(file_); }

absl::Status MetricsLog::Write(const StepRecord& record) {
  const std::string line = ToJsonLine(record) + "\n";
  if (std::fwrite(line.data(), 1, line.size(), file_) != line.size() || std::fflush(file_) != 0) {
    return FileError(errno, "write", path_);
  }
  return absl::OkStatus();
}

std::string ShortNumber(double value) {
  if (value >= 1e9) return absl::StrFormat("%.3gG", value / 1e9);
  if (value >= 1e6) return absl::StrFormat("%.3gM", value / 1e6);
  if (value >= 1e3) return absl::StrFormat("%.3gk", value / 1e3);
  return absl::StrFormat("%.3g", value);
}

std::string ToText(const StepRecord& record, int64_t total_steps, const std::string& unit) {
  std::string text = absl::StrFormat("step %d/%d  loss %.4f  lr %.3g  %.3f s  %s %s/s", record.step,
                                     total_steps, record.loss, record.learning_rate, record.step_time_seconds,
                                     ShortNumber(record.tokens_per_second), unit);
  for (const auto& [name, value] : record.metrics) absl::StrAppendFormat(&text, "  %s %.4g", name, value);
  if (record.validation_loss) absl::StrAppendFormat(&text, "  validation loss %.4f", *record.validation_loss);
  return text;
}

Progress::~Progress() {
  if (open_line_) std::fputc('\n', out_);
  std::fflush(out_);
}

bool Progress::AwaitRoom() const {
  constexpr int kPollMilliseconds = 100;
  pollfd room = {fileno(out_), POLLOUT, 0};
  if (interrupted_ == nullptr || room.fd < 0) return true;
  for (;;) {
    const int ready = poll(&room, 1, kPollMilliseconds);
    if (ready > 0 || (ready < 0 && errno != EINTR)) return true;
    if (*interrupted_ != 0) return false;
  }
}

void Progress::Show(const StepRecord& record) {
  if (!AwaitRoom()) return;
  const std::string text = ToText(record, total_steps_, unit_);
  if (!is_terminal_) {
    std::fprintf(out_, "%s\n", text.c_str());
    std::fflush(out_);
    return;
  }
  const double done =
      total_steps_ > 0 ? static_cast<double>(record.step) / static_cast<double>(total_steps_) : 1;
  const int filled = static_cast<int>(done * kBarWidth);
  const std::string bar = std::string(filled, '=') + std::string(kBarWidth - filled, ' ');
  std::fprintf(out_, "%s[%s] %s%s", kRedraw, bar.c_str(), text.c_str(), kWrapAgain);
  // A validation loss is worth keeping on the screen.
  open_line_ = !record.validation_loss.has_value();
  if (!open_line_) std::fputc('\n', out_);
  std::fflush(out_);
}

void Progress::Note(const std::string& text) {
  if (!AwaitRoom()) return;
  std::fprintf(out_, "%s%s\n", open_line_ ? "\n" : "", text.c_str());
  std::fflush(out_);
  open_line_ = false;
}

}  // namespace pdc::train
