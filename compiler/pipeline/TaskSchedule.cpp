//===- TaskSchedule.cpp - which schedule --schedule names -----------------===//

#include "compiler/pipeline/TaskSchedule.h"
#include "compiler/schedule/Schedule.h"
#include "llvm/ADT/StringRef.h"

using namespace pdc;
using namespace pdc::pipeline;

template <typename... Args> static llvm::Error error(const char *format, const Args &...args) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), format, args...);
}

/// "interleaved:chunks=3"
static llvm::Expected<std::pair<std::string, int>> parseName(llvm::StringRef text) {
  auto [name, setting] = text.split(':');
  if (name == "zb")
    name = "zb-h1";
  int chunks = name == "interleaved" ? 2 : 1;
  if (!setting.empty()) {
    auto [key, value] = setting.split('=');
    if (key != "chunks" || value.getAsInteger(10, chunks) || chunks < 1 || chunks > 1024)
      return error("--schedule=%s: expected chunks=N after the colon, N from 1 to 1024", text.str().c_str());
  }
  return std::pair(name.str(), chunks);
}

llvm::Expected<TaskSchedule> pipeline::makeTaskSchedule(const CompileOptions &options) {
  int64_t stages = options.parallel.pipeline;
  TaskSchedule result;
  result.microBatches = options.microBatches.value_or(stages);
  if (stages == 1 && result.microBatches == 1 && options.schedule.empty()) {
    result.name = "none";
    return result;
  }
  auto named = parseName(options.schedule.empty() ? (stages == 1 ? "accumulation" : "1f1b") : options.schedule);
  if (!named)
    return named.takeError();
  auto [name, chunks] = *named;
  if (name == "pipedream" || name == "bidirectional")
    return error("--schedule=%s is not supported yet: executables run gpipe, 1f1b, interleaved, zb-h1 and zb-h2",
                 options.schedule.c_str());
  try {
    schedule::Schedule made = schedule::makeSchedule(
        name, {static_cast<int>(stages), static_cast<int>(result.microBatches), chunks});
    result.tasks = schedule::toString(made);
  } catch (const schedule::ScheduleError &refused) {
    return error("--schedule=%s --micro-batches=%lld, %lld stages: %s", name.c_str(),
                 static_cast<long long>(result.microBatches), static_cast<long long>(stages), refused.what());
  }
  result.name = name;
  return result;
}
