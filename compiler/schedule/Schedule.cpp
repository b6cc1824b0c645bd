//===- Schedule.cpp - names, checks and words of schedules ----------------===//

#include "compiler/schedule/Schedule.h"
#include "compiler/schedule/Build.h"
#include <algorithm>
#include <map>
#include <numeric>

using namespace pdc::schedule;

Schedule pdc::schedule::onePipeline(int stages, int microBatches) {
  if (stages < 1 || microBatches < 1)
    throw ScheduleError("a schedule has at least one stage and one micro-batch, not " +
                        std::to_string(stages) + " and " + std::to_string(microBatches));
  Schedule schedule;
  schedule.microBatches = microBatches;
  schedule.ranks.resize(stages);
  schedule.rankOf.resize(stages);
  std::iota(schedule.rankOf.begin(), schedule.rankOf.end(), 0);
  for (int chunk = 0; chunk < stages; ++chunk)
    schedule.next.push_back(chunk + 1 < stages ? chunk + 1 : -1);
  return schedule;
}

void pdc::schedule::appendOneForwardOneBackward(std::vector<Task> &tasks, int chunk, int firstMicroBatch,
                                                int forwards, int warmUp) {
  int forward = 0, backward = 0;
  for (; forward < std::min(warmUp, forwards); ++forward)
    tasks.push_back({TaskKind::Forward, firstMicroBatch + forward, chunk});
  for (; forward < forwards; ++forward, ++backward) {
    tasks.push_back({TaskKind::Forward, firstMicroBatch + forward, chunk});
    tasks.push_back({TaskKind::Backward, firstMicroBatch + backward, chunk});
  }
  for (; backward < forwards; ++backward)
    tasks.push_back({TaskKind::Backward, firstMicroBatch + backward, chunk});
}

std::vector<Task> pdc::schedule::withUpdates(const std::vector<Task> &tasks) {
  std::vector<Task> updating;
  for (const Task &task : tasks) {
    updating.push_back(task);
    if (task.kind == TaskKind::Backward)
      updating.push_back({TaskKind::Update, task.microBatch, task.chunk});
  }
  return updating;
}

int Schedule::nextOf(int chunk, int microBatch) const {
  int first = next[chunk];
  if (first < 0 || replicas.empty())
    return first;
  int stage = 0;
  for (int before = 0; before < first; ++stage)
    before += replicas[stage];
  return first + microBatch % replicas[stage];
}

int Schedule::previousOf(int chunk, int microBatch) const {
  for (int other = 0; other < static_cast<int>(next.size()); ++other) {
    if (next[other] < 0 || nextOf(other, microBatch) != chunk)
      continue;
    if (replicas.empty())
      return other;
    int stage = 0, first = 0;
    for (; first + replicas[stage] <= other; ++stage)
      first += replicas[stage];
    return first + microBatch % replicas[stage];
  }
  return -1;
}

const std::vector<ScheduleInfo> &pdc::schedule::allSchedules() {
  using Request = ScheduleRequest;
  static const std::vector<ScheduleInfo> schedules = {
      {"gpipe", "all forwards, then all backwards",
       [](const Request &r) { return gpipe(r.stages, r.microBatches); }},
      {"1f1b", "a forward and a backward in turn, then a flush",
       [](const Request &r) { return oneForwardOneBackward(r.stages, r.microBatches); }},
      {"interleaved", "1f1b with several chunks of the model on each rank",
       [](const Request &r) { return interleaved(r.stages, r.microBatches, r.chunksPerRank); }},
      {"zb-h1", "backward in two halves, with the memory of 1f1b",
       [](const Request &r) { return zeroBubbleH1(r.stages, r.microBatches); }},
      {"zb-h2", "backward in two halves, no bubble, twice the memory",
       [](const Request &r) { return zeroBubbleH2(r.stages, r.microBatches); }},
      {"bidirectional", "two copies of the model in opposite directions",
       [](const Request &r) { return bidirectional(r.stages, r.microBatches); }},
      {"pipedream", "1f1b without a flush, weights change after each backward",
       [](const Request &r) { return pipeDream(r.stages, r.microBatches); }},
      {"accumulation", "no pipeline: gradients of the micro-batches are added up",
       [](const Request &r) {
         if (r.stages != 1)
           throw ScheduleError("schedule 'accumulation' is for one stage, not " + std::to_string(r.stages));
         return accumulation(r.microBatches);
       }},
  };
  return schedules;
}

Schedule pdc::schedule::makeSchedule(const std::string &name, const ScheduleRequest &request) {
  std::string names;
  for (const ScheduleInfo &info : allSchedules()) {
    if (info.name != name) {
      names += std::string(names.empty() ? "" : ", ") + info.name;
      continue;
    }
    if (request.chunksPerRank != 1 && name != "interleaved")
      throw ScheduleError("schedule '" + name + "' has one chunk a rank, not " +
                          std::to_string(request.chunksPerRank) + "; 'interleaved' has several");
    if (!request.replicas.empty()) {
      if (static_cast<int>(request.replicas.size()) != request.stages)
        throw ScheduleError("replicas of " + std::to_string(request.replicas.size()) + " stages for a schedule of " +
                            std::to_string(request.stages));
      return roundRobin(name, request.replicas, request.microBatches);
    }
    return info.make(request);
  }
  throw ScheduleError("there is no schedule '" + name + "'; there are " + names);
}

static std::string describe(const Task &task) {
  return std::string(1, static_cast<char>(task.kind)) + std::to_string(task.microBatch) + "." +
         std::to_string(task.chunk);
}

std::string pdc::schedule::verifySchedule(const Schedule &schedule) {
  // Per chunk and micro-batch, what has run: F, then B, or I and W; then perhaps U.
  std::map<std::pair<int, int>, std::string> ran;
  static const char *const kAllowed[] = {"F", "FB", "FI", "FIW", "FBU", "FIWU"};
  for (size_t rank = 0; rank < schedule.ranks.size(); ++rank)
    for (const Task &task : schedule.ranks[rank]) {
      std::string where = "rank " + std::to_string(rank) + ": " + describe(task);
      if (task.chunk < 0 || task.chunk >= static_cast<int>(schedule.rankOf.size()) ||
          schedule.rankOf[task.chunk] != static_cast<int>(rank))
        return where + ": the chunk is not on this rank";
      if (task.microBatch < 0 || task.microBatch >= schedule.microBatches)
        return where + ": there is no such micro-batch";
      std::string &history = ran[{task.chunk, task.microBatch}];
      history += static_cast<char>(task.kind);
      if (std::find(std::begin(kAllowed), std::end(kAllowed), history) == std::end(kAllowed))
        return where + ": out of order, or a second time";
    }
  // Each micro-batch runs through each chunk of its copy of the model.
  std::vector<int> seen(schedule.microBatches, 0);
  for (const auto &[key, history] : ran) {
    auto [chunk, microBatch] = key;
    std::string where = "micro-batch " + std::to_string(microBatch) + " on chunk " + std::to_string(chunk);
    if (history == "F" || history == "FI")
      return where + ": its backward is missing";
    ++seen[microBatch];
    if (int next = schedule.nextOf(chunk, microBatch); next >= 0 && !ran.count({next, microBatch}))
      return where + ": the next chunk does not run it";
  }
  size_t copies = std::max<size_t>(1, std::count(schedule.next.begin(), schedule.next.end(), -1));
  size_t chunks = schedule.replicas.empty() ? schedule.next.size() / copies : schedule.replicas.size();
  for (int microBatch = 0; microBatch < schedule.microBatches; ++microBatch)
    if (seen[microBatch] != static_cast<int>(chunks))
      return "micro-batch " + std::to_string(microBatch) + ": not run once by each chunk";
  return "";
}

std::string pdc::schedule::toString(const Schedule &schedule) {
  std::string text;
  for (size_t rank = 0; rank < schedule.ranks.size(); ++rank) {
    for (size_t i = 0; i < schedule.ranks[rank].size(); ++i) {
      const Task &task = schedule.ranks[rank][i];
      text += (i ? " " : "") + std::string(1, static_cast<char>(task.kind)) + std::to_string(task.microBatch);
      if (task.chunk != static_cast<int>(rank))
        text += "." + std::to_string(task.chunk);
    }
    text += "\n";
  }
  return text;
}
