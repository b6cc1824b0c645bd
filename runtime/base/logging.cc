#include "runtime/base/logging.h"

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <string>

namespace pdc {

namespace {

LogLevel LevelOfEnvironment() {
  const char* text = std::getenv("PDC_LOG_LEVEL");
  if (text == nullptr) return LogLevel::kInfo;
  if (std::strcmp(text, "debug") == 0) return LogLevel::kDebug;
  if (std::strcmp(text, "warning") == 0) return LogLevel::kWarning;
  if (std::strcmp(text, "error") == 0) return LogLevel::kError;
  return LogLevel::kInfo;
}

std::atomic<int> log_rank{-1};

std::atomic<LogLevel>& Threshold() {
  static std::atomic<LogLevel> threshold{LevelOfEnvironment()};
  return threshold;
}

const char* Name(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return "debug: ";
    case LogLevel::kInfo:
      return "";
    case LogLevel::kWarning:
      return "warning: ";
    case LogLevel::kError:
      return "error: ";
  }
  return "";
}

}  // namespace

void SetLogRank(int rank) { log_rank.store(rank, std::memory_order_relaxed); }

void SetLogLevel(LogLevel level) { Threshold().store(level, std::memory_order_relaxed); }

bool IsLogged(LogLevel level) { return level >= Threshold().load(std::memory_order_relaxed); }

void Log(LogLevel level, const std::string& message) {
  if (!IsLogged(level)) return;
  const int rank = log_rank.load(std::memory_order_relaxed);
  std::string line;
  if (rank >= 0) line += "[rank " + std::to_string(rank) + "] ";
  line += Name(level);
  line += message;
  line += '\n';
  // Logging has nobody to report its own failure to.
  [[maybe_unused]] ssize_t written = write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace pdc
