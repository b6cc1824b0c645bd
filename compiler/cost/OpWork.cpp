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

static double movingSeconds(const DeviceKind &device, const cost::OpWork &work) {
  double bytes = work.bytesRead + work.bytesWritten, reuse = std::max(bytes, work.workingSetBytes);
  OpClass opClass = work.opClass;
  if (machine::isArithmetic(opClass))
    opClass = device.onHost ? OpClass::Elementwise : OpClass::Copy;
  if (device.onHost)
    bytes += work.bytesFetched;
  return bytes / (device.memoryBytesPerSecond * device.efficiency(opClass, work.precision, reuse));
}

double cost::opSeconds(const DeviceKind &device, const OpWork &work) {
  if (!work.call.empty())
    if (auto measured = device.librarySeconds.find(work.call); measured != device.librarySeconds.end())
      return measured->second;
  double moving = movingSeconds(device, work);
  if (!machine::isArithmetic(work.opClass)) {
    double vector = device.flopsPerSecond(machine::Precision::F32) * kVectorShare;
    return device.launchSeconds + std::max(work.flops / vector, moving);
  }
  double flopsPerSecond = device.flopsPerSecond(work.precision) *
                          device.efficiency(work.opClass, work.precision, work.flops) *
                          channelShare(device, work.channels);
  double computing = work.flops / flopsPerSecond;
  if (!device.onHost || work.workingSetBytes == 0)
    return device.launchSeconds + std::max(computing, moving);
  return device.launchSeconds + computing + moving * (work.opClass == OpClass::Matmul ? kPackedPasses : 1);
}
