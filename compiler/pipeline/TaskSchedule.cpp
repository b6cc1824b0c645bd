//===- TaskSchedule.cpp - which schedule --schedule names -----------------===//

#include "compiler/pipeline/TaskSchedule.h"
#include "compiler/schedule/Schedule.h"
#include "compiler/simulate/Simulation.h"
#include "passes/pipeline/PipelinePass.h"
#include "llvm/ADT/StringRef.h"

using namespace pdc;
using namespace pdc::pipeline;

template <typename... Args> static llvm::Error error(const char *format, const Args &...args) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), format, args...);
}

namespace {
struct Named {
  std::string name;
  int chunks = 1; // of a rank
  bool verticalSync = false;
  int mostInFlight = 0; // 0: as many as stages
  std::string replicas = {}; // "round-robin", "split", or not said
};

constexpr char kMessageDriven[] = "message-driven";
constexpr char kRoundRobin[] = "round-robin", kSplit[] = "split";

/// Whether replicas can take micro-batches in turn (compiler/schedule/RoundRobin.cpp).
bool hasTurns(llvm::StringRef name) { return name == "gpipe" || name == "1f1b" || name == "pipedream"; }
} // namespace

/// Those of a pipeline, and whether `name` is one of them or what a single stage does.
static std::pair<std::string, bool> listNames(const std::string &name) {
  const std::string accumulation = "accumulation";
  std::string names;
  for (const schedule::ScheduleInfo &info : schedule::allSchedules())
    if (info.name != accumulation)
      names += std::string(info.name) + ", ";
  names += kMessageDriven;
  bool isKnown = name == accumulation || llvm::StringRef(", " + names + ", ").contains(", " + name + ", ");
  return {names, isKnown};
}

/// "chunks=3", at least 1.
static bool readSetting(llvm::StringRef setting, llvm::StringRef key, int &value) {
  auto [name, number] = setting.split('=');
  return name == key && !number.getAsInteger(10, value) && value >= 1;
}

/// "interleaved:chunks=3", "pipedream:vertical-sync", "message-driven:in-flight=4", "1f1b:round-robin"
static llvm::Expected<Named> parseName(llvm::StringRef text) {
  auto [name, setting] = text.split(':');
  Named named{name == "zb" ? "zb-h1" : name.str()};
  if (name == "interleaved")
    named.chunks = 2;
  if (setting.empty() && !text.ends_with(":"))
    return named;
  if (setting == kRoundRobin || setting == kSplit) {
    if (!hasTurns(name))
      return error("--schedule=%s: only replicas of gpipe, 1f1b and pipedream can take whole micro-batches in turn; those of others "
                   "split each",
                   text.str().c_str());
    named.replicas = setting.str();
    return named;
  }
  if (name == "pipedream") {
    if (setting != "vertical-sync")
      return error("--schedule=%s: expected vertical-sync, round-robin or split after the colon, or nothing", text.str().c_str());
    named.verticalSync = true;
    return named;
  }
  if (name == kMessageDriven) {
    if (!readSetting(setting, "in-flight", named.mostInFlight))
      return error("--schedule=%s: expected in-flight=N after the colon, N at least 1", text.str().c_str());
    return named;
  }
  if (hasTurns(name) && !setting.starts_with("chunks="))
    return error("--schedule=%s: expected round-robin or split after the colon, or nothing", text.str().c_str());
  if (!readSetting(setting, "chunks", named.chunks) || named.chunks > 1024)
    return error("--schedule=%s: expected chunks=N after the colon, N from 1 to 1024", text.str().c_str());
  return named;
}

std::pair<std::string, int64_t> pipeline::scheduleAndChunks(llvm::StringRef text) {
  auto named = parseName(text);
  if (named)
    return {named->chunks > 1 || named->name == "zb-h1" || !named->replicas.empty() ? named->name : text.str(), named->chunks};
  llvm::consumeError(named.takeError());
  return {text.str(), 1};
}

std::string pipeline::withTurns(llvm::StringRef text) {
  llvm::StringRef name = text.split(':').first;
  return hasTurns(name) ? (name + ":" + kRoundRobin).str() : "";
}

bool pipeline::leavesTurnsOpen(llvm::StringRef text) { return hasTurns(text) && text != "pipedream"; }

bool pipeline::isSearchedSchedule(llvm::StringRef text) {
  return llvm::is_contained({"", "auto", "accumulation", "1f1b", "gpipe", "zb-h1", "interleaved"}, scheduleAndChunks(text).first);
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
  const std::string &name = named->name;
  if (auto [names, isKnown] = listNames(name); !isKnown)
    return error("--schedule=%s: there is no schedule '%s'; there are %s", options.schedule.c_str(), name.c_str(),
                 names.c_str());
  if (name == "pipedream" && stages > 1 && options.clipNorm > 0)
    return error("--schedule=%s and --clip-norm do not go together: every update would wait for the norm of the gradients "
                 "of all stages, and there is no flush",
                 options.schedule.c_str());
  bool isMessageDriven = name == kMessageDriven;
  try {
    // Of an order that follows from times only the stages are known yet: those of 1F1B.
    schedule::Schedule made = schedule::makeSchedule(
        isMessageDriven ? "1f1b" : name, {static_cast<int>(stages), static_cast<int>(result.microBatches), named->chunks});
    result.tasks = schedule::toString(made);
  } catch (const schedule::ScheduleError &refused) {
    return error("--schedule=%s --micro-batches=%lld, %lld stages: %s", name.c_str(),
                 static_cast<long long>(result.microBatches), static_cast<long long>(stages), refused.what());
  }
  result.name = named->verticalSync ? name + ":vertical-sync" : name;
  if (name == "interleaved")
    result.name += ":chunks=" + std::to_string(named->chunks);
  result.verticalSync = named->verticalSync;
  result.takesTurns = named->replicas == kRoundRobin;
  if (!named->replicas.empty())
    result.name += ":" + named->replicas;
  if (isMessageDriven) {
    result.mostInFlight = named->mostInFlight > 0 ? named->mostInFlight : static_cast<int>(stages);
    result.name += ":in-flight=" + std::to_string(result.mostInFlight);
  }
  return result;
}

/// In the order that messages would arrive in.
static passes::OrderFinder messageDrivenOrder(int microBatches, int mostInFlight) {
  return [=](llvm::ArrayRef<passes::ChunkSeconds> chunks) -> llvm::Expected<std::string> {
    std::vector<simulate::ChunkTimes> times;
    for (const passes::ChunkSeconds &chunk : chunks)
      times.push_back({chunk.forward, chunk.backwardInput, chunk.backwardWeight, 0, chunk.sendForward, chunk.sendBackward});
    return schedule::toString(simulate::messageDriven(times, microBatches, mostInFlight));
  };
}

/// The schedule of so many replicas of each stage.
static passes::TurnsFinder roundRobinOrder(const TaskSchedule &schedule) {
  std::string name = llvm::StringRef(schedule.name).split(':').first.str();
  return [name, microBatches = static_cast<int>(schedule.microBatches)](llvm::ArrayRef<int64_t> replicas) -> llvm::Expected<std::string> {
    try {
      return schedule::toString(schedule::roundRobin(name, std::vector<int>(replicas.begin(), replicas.end()), microBatches));
    } catch (const schedule::ScheduleError &refused) {
      return error("--schedule=%s:%s: %s", name.c_str(), kRoundRobin, refused.what());
    }
  };
}

std::unique_ptr<mlir::Pass>
pipeline::createPipelinePass(const TaskSchedule &schedule, std::shared_ptr<const passes::MessageCosts> costs) {
  passes::PipelinePassOptions options;
  options.order = schedule.tasks;
  options.verticalSync = schedule.verticalSync;
  passes::OrderFinder find;
  if (schedule.mostInFlight > 0)
    find = messageDrivenOrder(static_cast<int>(schedule.microBatches), schedule.mostInFlight);
  passes::TurnsFinder findTurns;
  if (schedule.takesTurns)
    findTurns = roundRobinOrder(schedule);
  return passes::createPipelinePass(options, std::move(find), std::move(findTurns), std::move(costs));
}
