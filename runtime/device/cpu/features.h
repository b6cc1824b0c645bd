// Which instructions this machine has, in LLVM's names.
#ifndef PDC_RUNTIME_DEVICE_CPU_FEATURES_H_
#define PDC_RUNTIME_DEVICE_CPU_FEATURES_H_

#include <string_view>

#include "absl/status/status.h"

namespace pdc::device {

// `required` is a list as LLVM writes it, "+avx2,+fma,-avx512f"; only "+" asks for something.
// FAILED_PRECONDITION names the first required feature that Linux does not list for this processor. Features
// that Linux has no name for (tuning flags among them) are not asked for.
absl::Status CheckCpuFeatures(std::string_view required);

// The same against the text of /proc/cpuinfo.
absl::Status CheckCpuFeatures(std::string_view required, std::string_view cpuinfo);

}  // namespace pdc::device

#endif  // PDC_RUNTIME_DEVICE_CPU_FEATURES_H_
