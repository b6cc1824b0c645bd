//===- clusters.h - small clusters to compute by hand -----------*- C++ -*-===//
#ifndef PDC_TESTS_COMPILER_COST_CLUSTERS_H
#define PDC_TESTS_COMPILER_COST_CLUSTERS_H

#include "compiler/machine/ClusterFile.h"
#include "llvm/Support/FormatVariadic.h"

namespace pdc::cost::test {

/// `devices` in one node, linked by `link` ("latency: 1 s, bandwidth: 1, sharing: bus").
inline machine::Cluster row(int64_t devices, const std::string &link) {
  return llvm::cantFail(machine::parseCluster(llvm::formatv(R"(
name: row
devices: {{gpu: {{memory: 1 GB, peak: {{f32: 1 TFLOP/s, bf16: 10 TFLOP/s}, memory_bandwidth: 100 GB/s, launch: 2 us}}
nodes:
  - {{device: gpu, devices: {0}, host: {{memory: 1 GB, link: {{latency: 3, bandwidth: 50}}, links: [{{name: link, {1}}]}
)",
                                                            devices, link)
                                                  .str(),
                                              "row"));
}

/// `nodes` of `devices`, linked by `inner` in a node and by `outer` between nodes.
inline machine::Cluster grid(int64_t nodes, int64_t devices, const std::string &inner,
                             const std::string &outer) {
  return llvm::cantFail(machine::parseCluster(llvm::formatv(R"(
name: grid
devices: {{gpu: {{memory: 1 GB, peak: {{f32: 1 TFLOP/s, bf16: 10 TFLOP/s}, memory_bandwidth: 100 GB/s, launch: 2 us}}
nodes:
  - count: {0}
    device: gpu
    devices: {1}
    host: {{memory: 1 GB, link: {{latency: 3, bandwidth: 50}}
    links: [{{name: inner, {2}}]
network: [{{name: outer, {3}}]
)",
                                                            nodes, devices, inner, outer)
                                                  .str(),
                                              "grid"));
}

} // namespace pdc::cost::test

#endif // PDC_TESTS_COMPILER_COST_CLUSTERS_H
