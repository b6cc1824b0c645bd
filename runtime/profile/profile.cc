#include "runtime/profile/profile.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "nlohmann/json.hpp"
#include "runtime/base/status.h"
#include "runtime/comm/gather.h"
#include "runtime/comm/job.h"
#include "runtime/profile/compute.h"
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
        {{"bytes", point.bytes}, {"seconds", point.sample.seconds}, {"spread", point.sample.spread}});
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

// What this rank says of itself. Ranks measure at once, as they compute at once in a step; those beyond the number of
// cores sleep meanwhile.
absl::StatusOr<Json> MeasureRank(comm::Communicator& communicator, bool quick) {
  int place = 0, ranks_of_node = 0;
  for (int rank = 0; rank < communicator.size(); ++rank) {
    if (communicator.node(rank) != communicator.node(communicator.rank())) continue;
    if (rank < communicator.rank()) ++place;
    ++ranks_of_node;
  }
  const int64_t cores = std::max<int64_t>(1, sysconf(_SC_NPROCESSORS_ONLN));
  const int64_t memory = sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
  Json rank = {{"node", communicator.node(communicator.rank())},
               {"host", HostName()},
               {"cores", cores},
               {"memory", memory},
               {"vector_lanes", VectorLanes()}};
  PDC_RETURN_IF_ERROR(communicator.Barrier(Later()));
  if (place == 0) {
    PDC_ASSIGN_OR_RETURN(ComputePoint alone, MeasureMemory(quick));
    rank["memory_alone"] = ToJson(alone);
    PDC_ASSIGN_OR_RETURN(Sample instruction, MeasureInstruction(quick));
    rank["instruction"] = ToJson(instruction);
    if (ranks_of_node > 1) {
      PDC_ASSIGN_OR_RETURN(std::vector<ComputePoint> points, MeasureMoves(quick));
      rank["moves_alone"] = ToJson(points);
    }
  }
  PDC_RETURN_IF_ERROR(communicator.Barrier(Later()));
  if (place < cores) {
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

}  // namespace

absl::StatusOr<std::string> Profile(comm::Communicator& communicator, bool quick) {
  PDC_ASSIGN_OR_RETURN(Json mine, MeasureRank(communicator, quick));
  PDC_ASSIGN_OR_RETURN(std::vector<LinkMeasurement> links, MeasureLinks(communicator, quick));
  PDC_ASSIGN_OR_RETURN(std::vector<std::string> texts, comm::GatherText(communicator, mine.dump(), Later()));
  if (communicator.rank() != 0) return std::string();
  Json all = {{"communicator", communicator.name()}, {"ranks", Json::array()}, {"links", Json::array()}};
  for (const std::string& text : texts) all["ranks"].push_back(Json::parse(text, nullptr, false));
  for (const LinkMeasurement& link : links) all["links"].push_back(ToJson(link));
  return all.dump() + "\n";
}

int Main(int argc, char** argv) {
  bool quick = false;
  comm::JobOptions options;
  for (int i = 2; i < argc; ++i) {
    constexpr char kCommunicator[] = "--communicator=";
    if (std::strcmp(argv[i], "--quick") == 0) {
      quick = true;
    } else if (std::strncmp(argv[i], kCommunicator, sizeof(kCommunicator) - 1) == 0) {
      options.communicator = argv[i] + sizeof(kCommunicator) - 1;
    } else {
      std::fprintf(stderr, "profile: unknown option '%s'\n", argv[i]);
      return 1;
    }
  }
  absl::StatusOr<std::unique_ptr<comm::Communicator>> communicator = comm::CreateForJob(options);
  if (!communicator.ok()) {
    std::fprintf(stderr, "profile: %s\n", std::string(communicator.status().message()).c_str());
    return 1;
  }
  const absl::StatusOr<std::string> json = Profile(**communicator, quick);
  if (!json.ok()) {
    (*communicator)->Abort(json.status());
    // Only a job without MPI comes here.
    std::fprintf(stderr, "profile: %s\n", std::string(json.status().message()).c_str());
    return 1;
  }
  const bool written = std::fputs(json->c_str(), stdout) >= 0 && std::fflush(stdout) == 0;
  if (!written) std::fprintf(stderr, "profile: cannot write the result\n");
  return written ? 0 : 1;
}

}  // namespace pdc::profile
