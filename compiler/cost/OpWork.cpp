//===- OpWork.cpp - the time of one op on one device ----------------------===//

#include "compiler/cost/OpWork.h"
#include <algorithm>

using namespace pdc;
using machine::OpClass;

double cost::opSeconds(const machine::DeviceKind &device, const OpWork &work) {
  if (!work.call.empty())
    if (auto measured = device.librarySeconds.find(work.call); measured != device.librarySeconds.end())
      return measured->second;
  double bytes = work.bytesRead + work.bytesWritten;
  double flopsPerSecond = device.flopsPerSecond(work.precision), bytesPerSecond = device.memoryBytesPerSecond;
  if (machine::isArithmetic(work.opClass)) {
    flopsPerSecond *= device.efficiency(work.opClass, work.precision, work.flops);
    bytesPerSecond *= device.efficiency(OpClass::Copy, work.precision, bytes);
  } else {
    flopsPerSecond = device.flopsPerSecond(machine::Precision::F32) * kVectorShare;
    bytesPerSecond *= device.efficiency(work.opClass, work.precision, bytes);
  }
  return device.launchSeconds + std::max(work.flops / flopsPerSecond, bytes / bytesPerSecond);
}
