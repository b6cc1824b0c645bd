//===- OpWork.h - the time of one op on one device --------------*- C++ -*-===//
#ifndef PDC_COMPILER_COST_OPWORK_H
#define PDC_COMPILER_COST_OPWORK_H

#include "compiler/machine/Cluster.h"
#include <string>

namespace pdc::cost {

/// What an op, or its local part, does on one device.
struct OpWork {
  machine::OpClass opClass = machine::OpClass::Elementwise;
  double flops = 0;
  double bytesRead = 0;
  double bytesWritten = 0;
  machine::Precision precision = machine::Precision::F32;
  /// What DeviceKind::librarySeconds calls exactly this library call; empty: no call that could have been
  /// measured.
  std::string call;
};

/// The measured time of the call where the device has one. Else the roofline (Williams et al. 2009) under
/// measured efficiencies:
///
///     launch + max(flops / (peak * share(class, flops)), bytes / (bandwidth * share(memory, bytes)))
///
/// Of arithmetic classes the first share is measured and the second is that of copies; of the others the second
/// is measured, and the first is kVectorShare of the f32 peak.
double opSeconds(const machine::DeviceKind &device, const OpWork &work);

/// What straight vector code reaches of a peak that counts fused multiply-adds on all lanes.
inline constexpr double kVectorShare = 0.25;

} // namespace pdc::cost

#endif // PDC_COMPILER_COST_OPWORK_H
