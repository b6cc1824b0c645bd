//===- Cluster.h - the devices and links a plan is made for -----*- C++ -*-===//
//
// Numbers only, in bytes, seconds, FLOP/s and B/s: costs, solvers and simulators ask it. It is read from a
// cluster file (ClusterFile.h; docs/planning.md, "Clusters") or from an attribute of a plan (ir/ClusterAttr.h).
//
//===----------------------------------------------------------------------===//
#ifndef PDC_COMPILER_MACHINE_CLUSTER_H
#define PDC_COMPILER_MACHINE_CLUSTER_H

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace pdc::machine {

//===----------------------------------------------------------------------===//
// Devices
//===----------------------------------------------------------------------===//

enum class Precision { F64, F32, TF32, BF16, F16 };
inline constexpr int kPrecisionCount = 5;
/// As files spell it: "f64", "f32", "tf32", "bf16", "f16".
const char *toString(Precision precision);
std::optional<Precision> parsePrecision(const std::string &text);

/// Kinds of work that reach different shares of a device's peak. The first four are limited by arithmetic
/// (their size is counted in FLOPs), the others by memory (size in bytes).
enum class OpClass { Matmul, Convolution, Attention, Pooling, Elementwise, Reduction, Gather, Copy };
inline constexpr int kOpClassCount = 8;
const char *toString(OpClass opClass);
std::optional<OpClass> parseOpClass(const std::string &text);
bool isArithmetic(OpClass opClass);

/// A measured share of the peak at one size; between points it is linear in the logarithm of the size, beyond
/// them constant.
struct EfficiencyPoint {
  double size;  // FLOPs of arithmetic classes, bytes of the others
  double share; // of peak FLOP/s, of memory bandwidth; more than 0, may exceed 1 where caches help
};

struct EfficiencyCurve {
  OpClass opClass;
  std::optional<Precision> precision;  // empty: of every precision that has no curve of its own
  std::vector<EfficiencyPoint> points; // by increasing size
};

struct DeviceKind {
  std::string name;
  /// The device is cores of the node's processor: memory and its bandwidth are the host's, there may be more
  /// ranks than cores.
  bool onHost = false;
  double memoryBytes = 0;
  std::array<double, kPrecisionCount> peakFlops{}; // FLOP/s by Precision; 0: see flopsPerSecond
  double memoryBytesPerSecond = 0;
  double launchSeconds = 0; // fixed cost of one kernel or library call
  /// Channels that convolutions and pooling work on at once, as lanes of a vector register: fewer take as long. 1: it does
  /// not matter.
  int64_t channelBlock = 1;
  std::vector<EfficiencyCurve> efficiencies;
  /// While the ranks of all the node's cores do the same. Empty: Host::memoryBytesPerSecond limits them together.
  std::vector<EfficiencyCurve> busyEfficiencies;
  std::map<std::string, double> librarySeconds; // measured calls, see cost::OpWork::call

  /// Peak rate. A precision that the file does not give runs at that of the next wider one (bf16, f16 and
  /// tf32 as f32), f64 at half of f32.
  double flopsPerSecond(Precision precision) const;
  /// The share of the peak that work of this class and size reaches; a typical one where nothing is measured.
  double efficiency(OpClass opClass, Precision precision, double size) const;
  /// Likewise while all the node's cores do such work; where that was not measured, the same.
  double busyEfficiency(OpClass opClass, Precision precision, double size) const;
};

//===----------------------------------------------------------------------===//
// Links
//===----------------------------------------------------------------------===//

/// What the bandwidth of a link level belongs to.
enum class Sharing {
  PerDevice, // every device has a link of its own into the level (NVLink; one network card a GPU)
  PerMember, // every member, with all devices in it, has one (the network card of a node)
  Bus        // all members share one medium (a PCIe switch, the memory of a host)
};
const char *toString(Sharing sharing);

/// How the bytes of a device get onto the level's link.
enum class Path {
  Direct,      // from device memory (NVLink, GPUDirect RDMA)
  Staged,      // through a buffer in host memory, over the host link, in a pipeline of chunks
  SharedMemory // members read each other's memory: no messages, a barrier before and after
};
const char *toString(Path path);

/// One level of the hierarchy: `members` blocks of the level below (devices at the innermost) linked with each
/// other.
struct LinkLevel {
  std::string name;
  int64_t members = 1;
  double latencySeconds = 0; // of one message or, in shared memory, one barrier
  double bytesPerSecond = 0; // in each direction
  Sharing sharing = Sharing::PerDevice;
  bool fullDuplex = true; // sends and receives at once, each at bytesPerSecond
  Path path = Path::Direct;
  std::optional<double> overlap; // as Cluster::overlap, of what passes this level; not given: that of the cluster
};

/// The link between a device and its host's memory, or between a host and its storage.
struct HostLink {
  double latencySeconds = 0;
  double bytesPerSecond = 0;
};

struct Host {
  double memoryBytes = 0;
  double memoryBytesPerSecond = 0; // of all cores together; 0: not a limit
  int64_t cores = 0;               // 0: not known
  HostLink link;                   // per device; unused where devices are cores
};

/// Nodes that are alike.
struct NodeGroup {
  int64_t count = 1;
  std::string device; // name of a DeviceKind
  int64_t devicesPerNode = 1;
  Host host;
  std::vector<LinkLevel> links; // inside a node, innermost first; their members multiply to devicesPerNode
};

//===----------------------------------------------------------------------===//
// Measured collectives
//===----------------------------------------------------------------------===//

struct CollectivePoint {
  double bytes; // as cost::collectiveSeconds counts them
  double seconds;
};

/// A collective as it was measured over one shape of groups; between points it is linear in the logarithms.
struct MeasuredCollective {
  std::string kind;             // "all_reduce", "all_gather", ... "point_to_point"
  std::vector<int64_t> members; // per link level, innermost first: how many of a group lie in each
  int64_t groups = 1;           // so many groups of this shape were busy at once
  std::vector<CollectivePoint> points;
};

//===----------------------------------------------------------------------===//
// Cluster
//===----------------------------------------------------------------------===//

struct Cluster {
  std::string name;
  std::string description;
  std::vector<DeviceKind> devices;
  std::vector<NodeGroup> nodes;    // ranks lie on them in this order, node after node
  std::vector<LinkLevel> network;  // between nodes, innermost first; members multiply to the number of nodes
  std::optional<HostLink> storage; // of one host
  std::vector<MeasuredCollective> collectives;
  /// The share of a collective's time that a rank can hide behind its own compute: 1 with copy engines or a
  /// network card that progresses by itself, about 0 where ranks are the cores that also copy.
  double overlap = 1;
  /// Ranks of the job, on the first devices; 0: one on every device.
  int64_t ranksInUse = 0;

  int64_t nodeCount() const;
  int64_t deviceCount() const;
  int64_t rankCount() const { return ranksInUse ? ranksInUse : deviceCount(); }
  bool isHomogeneous() const { return nodes.size() == 1; }

  /// The node group and the device kind that a rank runs on.
  const NodeGroup &nodeGroupOf(int64_t rank) const;
  const DeviceKind &deviceOf(int64_t rank) const;
  const DeviceKind &device(const std::string &name) const;
  /// The kind of rank 0, the only one of a homogeneous cluster.
  const DeviceKind &device() const { return deviceOf(0); }
  /// Which node (0 to nodeCount() - 1) a rank is on.
  int64_t nodeOf(int64_t rank) const;

  /// All levels, inside nodes and between them, innermost first. Where node groups differ, a level has the
  /// most members, the largest latency and the smallest bandwidth of them.
  std::vector<LinkLevel> levels() const;
  /// levels()[i] joins blocks of blockSizes()[i] devices; one more entry than levels, the last deviceCount().
  std::vector<int64_t> blockSizes() const;

  /// Ranks on one node, at most.
  int64_t ranksPerNode() const;
  /// The share of a device's peak that one rank of `threads` threads has: below 1 where CPU ranks outnumber the
  /// cores.
  double coreShare(int64_t rank, int threads) const;
  /// The same, while only so many ranks of its node compute.
  double coreShare(int64_t rank, int threads, int64_t computing) const;
  /// What rank `rank` computes with: its kind, times `threads` where devices are cores, limited by its share of
  /// the cores and of the host's memory bandwidth.
  DeviceKind effectiveDevice(int64_t rank, int threads = 1) const;
};

} // namespace pdc::machine

#endif // PDC_COMPILER_MACHINE_CLUSTER_H
