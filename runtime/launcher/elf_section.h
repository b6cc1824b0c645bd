// Sections of an ELF64 file in memory, without trust in any of its numbers.
#ifndef PDC_RUNTIME_LAUNCHER_ELF_SECTION_H_
#define PDC_RUNTIME_LAUNCHER_ELF_SECTION_H_

#include <string_view>

#include "absl/status/statusor.h"

namespace pdc::launcher {

// The contents of section `name` of a little-endian ELF64 file. NOT_FOUND when the file has no such section;
// DATA_LOSS when it is cut off or its tables point outside of it.
absl::StatusOr<std::string_view> FindElfSection(std::string_view file, std::string_view name);

}  // namespace pdc::launcher

#endif  // PDC_RUNTIME_LAUNCHER_ELF_SECTION_H_
