// The CPU: arenas on huge pages, generated kernels from a shared object in memory, library calls of
// runtime/kernels, and a fixed number of threads that cut every kernel's extent in the same way.
#ifndef PDC_RUNTIME_DEVICE_CPU_CPU_DEVICE_H_
#define PDC_RUNTIME_DEVICE_CPU_CPU_DEVICE_H_

#include <memory>

#include "runtime/device/device.h"

namespace pdc::device {

// `threads` at least 1. Prepare() and Prepared::Run() belong to one thread at a time.
std::unique_ptr<Device> CreateCpuDevice(int threads);

}  // namespace pdc::device

#endif  // PDC_RUNTIME_DEVICE_CPU_CPU_DEVICE_H_
