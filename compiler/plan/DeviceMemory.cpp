//===- DeviceMemory.cpp - what does not fit into a device -----------------===//

#include "compiler/plan/DeviceMemory.h"
#include <map>

using namespace pdc;
using namespace pdc::plan;

std::vector<MemoryExcess> plan::findExcess(const machine::Cluster &cluster, llvm::ArrayRef<int64_t> arenaBytes) {
  std::vector<MemoryExcess> found;
  std::map<int64_t, MemoryExcess> hosts; // by node, of ranks that share its memory
  std::map<int64_t, int64_t> largest;
  for (size_t i = 0; i < arenaBytes.size(); ++i) {
    auto rank = static_cast<int64_t>(i);
    auto bytes = static_cast<double>(arenaBytes[i]);
    const machine::DeviceKind &device = cluster.deviceOf(rank);
    if (!device.onHost) {
      if (bytes > device.memoryBytes)
        found.push_back({rank, device.name, bytes, device.memoryBytes});
      continue;
    }
    int64_t node = cluster.nodeOf(rank);
    MemoryExcess &host = hosts[node];
    host.device = "host";
    host.neededBytes += bytes;
    host.availableBytes = cluster.nodeGroupOf(rank).host.memoryBytes;
    if (arenaBytes[i] > largest[node]) {
      largest[node] = arenaBytes[i];
      host.rank = rank;
    }
  }
  for (const auto &[node, host] : hosts)
    if (host.neededBytes > host.availableBytes)
      found.push_back(host);
  return found;
}
