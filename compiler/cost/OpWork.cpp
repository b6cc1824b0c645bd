//===- OpWork.cpp - the time of one op on one device ----------------------===//

#include "compiler/cost/OpWork.h"
#include <algorithm>
#include <cmath>

using namespace pdc;
using machine::DeviceKind;
using machine::OpClass;

/// Which share of a block of channels is used.
static double channelShare(const DeviceKind &device, double channels) {
  auto block = static_cast<double>(device.channelBlock);
  return channels > 0 ? channels / (std::ceil(channels / block) * block) : 1;
}

/// Seconds in which an op's bytes move, while its rank alone does so and while all ranks of the node do.
struct Moving {
  double alone, busy;
};

static Moving movingSeconds(const DeviceKind &device, const cost::OpWork &work) {
  double bytes = work.bytesRead + work.bytesWritten, reuse = std::max(bytes, work.workingSetBytes);
  OpClass opClass = work.opClass;
  if (machine::isArithmetic(opClass))
    opClass = device.onHost ? OpClass::Elementwise : OpClass::Copy;
  if (device.onHost)
    bytes += work.bytesFetched;
  double seconds = bytes / device.memoryBytesPerSecond;
  return {seconds / device.efficiency(opClass, work.precision, reuse),
          seconds / device.busyEfficiency(opClass, work.precision, reuse)};
}

double cost::opSeconds(const DeviceKind &device, const OpWork &work) {
  if (!work.call.empty())
    if (auto measured = device.librarySeconds.find(work.call); measured != device.librarySeconds.end())
      return measured->second;
  Moving moving = movingSeconds(device, work);
  double launch = work.isLaunched ? 0 : device.launchSeconds;
  if (!machine::isArithmetic(work.opClass)) {
    double vector = device.flopsPerSecond(machine::Precision::F32) * kVectorShare;
    return launch + std::max(work.flops / vector, moving.busy);
  }
  double flopsPerSecond = device.flopsPerSecond(work.precision) *
                          device.efficiency(work.opClass, work.precision, work.flops) *
                          channelShare(device, work.channels);
  double computing = work.flops / flopsPerSecond;
  if (!device.onHost || work.workingSetBytes == 0)
    return launch + std::max(computing, moving.busy);
  double passes = work.opClass == OpClass::Matmul ? kPackedPasses : 1, alone = passes * moving.alone,
         busy = passes * moving.busy;
  // Ranks do much the same at one time: while this one moves, others move for that share of theirs.
  double share = busy > 0 ? busy / (computing + busy) : 0;
  return launch + computing + alone + share * (busy - alone);
}
