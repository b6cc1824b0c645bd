#include "runtime/profile/profile.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "nlohmann/json.hpp"
#include "runtime/base/status.h"
#include "runtime/comm/gather.h"
#include "runtime/comm/job.h"
#include "runtime/launcher/image.h"
#include "runtime/profile/compute.h"
#include "runtime/profile/instructions.h"
#include "runtime/profile/links.h"

namespace pdc::profile {

namespace {

using Json = nlohmann::ordered_json;

// Of waits for ranks that measure for themselves.
comm::Clock::time_point Later() { return comm::Clock::now() + std::chrono::minutes(5); }

Json ToJson(const Sample& sample) { return {{"seconds", sample.seconds}, {"spread", sample.spread}}; }

Json ToJson(const ComputePoint& point) {
  return {{"class", point.op_class},      {"precision", point.precision}, {"call", point.call},
          {"flops", point.flops},         {"bytes", point.bytes},         {"seconds", point.sample.seconds},
          {"spread", point.sample.spread}};
}

Json ToJson(const LinkMeasurement& link) {
  Json points = Json::array();
  for (const LinkPoint& point : link.points) {
    points.push_back(
        {{"bytes", point.bytes}, {"seconds", point.sample.seconds}, {"spread", point.sample.spread}, {"work", point.work}});
  }
  return {{"kind", link.kind},
          {"ranks_per_node", link.ranks_per_node},
          {"nodes", link.nodes},
          {"groups", link.groups},
          {"points", std::move(points)}};
}

std::string HostName() {
  char name[256] = {};
  return gethostname(name, sizeof(name) - 1) == 0 ? name : "";
}

Json ToJson(const std::vector<ComputePoint>& points) {
  Json list = Json::array();
  for (const ComputePoint& point : points) list.push_back(ToJson(point));
  return list;
}

// Which of its node's ranks this one is. Ranks measure at once, as they compute at once in a step; those beyond the number of
// cores sleep meanwhile.
struct Seat {
  int place = 0, ranks = 0;
  int64_t cores = 1;

  explicit Seat(const comm::Communicator& communicator)
      : cores(std::max<int64_t>(1, sysconf(_SC_NPROCESSORS_ONLN))) {
    for (int rank = 0; rank < communicator.size(); ++rank) {
      if (communicator.node(rank) != communicator.node(communicator.rank())) continue;
      if (rank < communicator.rank()) ++place;
      ++ranks;
    }
  }
  bool measures() const { return place < cores; }
  int measurers() const { return static_cast<int>(std::min<int64_t>(ranks, cores)); }
};

// What this rank says of itself.
absl::StatusOr<Json> MeasureRank(comm::Communicator& communicator, const Seat& seat, bool quick) {
  const int64_t memory = sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
  Json rank = {{"node", communicator.node(communicator.rank())},
               {"host", HostName()},
               {"cores", seat.cores},
               {"memory", memory},
               {"vector_lanes", VectorLanes()}};
  PDC_RETURN_IF_ERROR(communicator.Barrier(Later()));
  if (seat.place == 0) {
    PDC_ASSIGN_OR_RETURN(ComputePoint alone, MeasureMemory(quick));
    rank["memory_alone"] = ToJson(alone);
    PDC_ASSIGN_OR_RETURN(Sample instruction, MeasureInstruction(quick));
    rank["instruction"] = ToJson(instruction);
    if (seat.ranks > 1) {
      PDC_ASSIGN_OR_RETURN(std::vector<ComputePoint> points, MeasureMoves(quick));
      rank["moves_alone"] = ToJson(points);
    }
  }
  PDC_RETURN_IF_ERROR(communicator.Barrier(Later()));
  if (seat.measures()) {
    PDC_ASSIGN_OR_RETURN(ComputePoint at_once, MeasureMemory(quick));
    rank["memory_at_once"] = ToJson(at_once);
    PDC_ASSIGN_OR_RETURN(std::vector<ComputePoint> points, MeasureMoves(quick));
    rank["moves"] = ToJson(points);
    PDC_ASSIGN_OR_RETURN(points, MeasureLibraryCalls(quick));
    rank["compute"] = ToJson(points);
  }
  PDC_RETURN_IF_ERROR(communicator.Barrier(Later()));
  return rank;
}

absl::Status InFile(const std::string& path, const absl::Status& status) {
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat(path, ": ", status.message()));
}

// The ranks of each node share the executable's ranks among them. Ranks that run the same program are measured once on each
// of this node's.
absl::Status MeasureExecutable(const Seat& seat, const std::string& path, bool quick,
                               std::map<std::string, Sample>* calls) {
  absl::StatusOr<std::unique_ptr<launcher::Image>> opened = launcher::Image::Open(path);
  if (absl::IsNotFound(opened.status())) return absl::InvalidArgumentError("it is no executable that pdc has written");
  PDC_ASSIGN_OR_RETURN(std::unique_ptr<launcher::Image> image, std::move(opened));
  std::set<const program::Program*> measured = {nullptr};
  for (int rank = seat.place; rank < image->executable().ranks(); rank += seat.measurers()) {
    const program::Program* step = FindStep(image->executable(), rank);
    if (measured.insert(step).second) PDC_RETURN_IF_ERROR(MeasureInstructions(*image, *step, quick, calls));
  }
  return absl::OkStatus();
}

absl::StatusOr<Json> MeasureExecutables(comm::Communicator& communicator, const Seat& seat, const Options& options) {
  std::map<std::string, Sample> calls;
  for (const std::string& path : options.executables) {
    PDC_RETURN_IF_ERROR(communicator.Barrier(Later()));
    if (seat.measures()) PDC_RETURN_IF_ERROR(InFile(path, MeasureExecutable(seat, path, options.quick, &calls)));
  }
  Json list = Json::array();
  for (const auto& [call, sample] : calls) {
    Json object = ToJson(sample);
    object["call"] = call;
    list.push_back(std::move(object));
  }
  return list;
}

}  // namespace

absl::StatusOr<std::string> Profile(comm::Communicator& communicator, const Options& options) {
  const Seat seat(communicator);
  PDC_ASSIGN_OR_RETURN(Json mine, MeasureRank(communicator, seat, options.quick));
  PDC_ASSIGN_OR_RETURN(mine["calls"], MeasureExecutables(communicator, seat, options));
  PDC_ASSIGN_OR_RETURN(std::vector<LinkMeasurement> links, MeasureLinks(communicator, options.quick));
  PDC_ASSIGN_OR_RETURN(std::vector<std::string> texts, comm::GatherText(communicator, mine.dump(), Later()));
  if (communicator.rank() != 0) return std::string();
  Json all = {{"communicator", communicator.name()}, {"ranks", Json::array()}, {"links", Json::array()}};
  for (const std::string& text : texts) all["ranks"].push_back(Json::parse(text, nullptr, false));
  for (const LinkMeasurement& link : links) all["links"].push_back(ToJson(link));
  return all.dump() + "\n";
}

int Main(int argc, char** argv) {
  Options options;
  comm::JobOptions job;
  for (int i = 2; i < argc; ++i) {
    absl::string_view word = argv[i];
    if (word == "--quick") {
      options.quick = true;
    } else if (absl::ConsumePrefix(&word, "--communicator=")) {
      job.communicator = std::string(word);
    } else if (absl::ConsumePrefix(&word, "--executable=")) {
      options.executables.emplace_back(word);
    } else {
      std::fprintf(stderr, "profile: unknown option '%s'\n", argv[i]);
      return 1;
    }
  }
  absl::StatusOr<std::unique_ptr<comm::Communicator>> communicator = comm::CreateForJob(job);
  if (!communicator.ok()) {
    std::fprintf(stderr, "profile: %s\n", std::string(communicator.status().message()).c_str());
    return 1;
  }
  const absl::StatusOr<std::string> json = Profile(**communicator, options);
  if (!json.ok()) {
    (*communicator)->Abort(json.status());
    // Only a job without MPI comes here.
    std::fprintf(stderr, "pdc: profile: %s\n", std::string(json.status().message()).c_str());
    return 1;
  }
  const bool written = std::fputs(json->c_str(), stdout) >= 0 && std::fflush(stdout) == 0;
  if (!written) std::fprintf(stderr, "profile: cannot write the result\n");
  return written ? 0 : 1;
}

}  // namespace pdc::profile
