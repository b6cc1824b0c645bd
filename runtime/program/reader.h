// From the bytes of the program section to tables that are safe to read.
#ifndef PDC_RUNTIME_PROGRAM_READER_H_
#define PDC_RUNTIME_PROGRAM_READER_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "runtime/program/program_generated.h"

namespace pdc::program {

// The FlatBuffer of a program section (see container.h), aligned to 8 bytes. DATA_LOSS when it is not well
// formed: every offset, vector and string lies inside, the enumerations have known values, and no entry of a
// vector of tables is missing. Says nothing about what the program does: see checker.h. The result points
// into `section`.
absl::StatusOr<const Executable*> ReadExecutable(std::string_view section);

// The bytes of a program section.
std::string WriteExecutable(const ExecutableT& executable);

// The program that `rank` runs in `mode`, or null when the executable was compiled without it.
const Program* FindProgram(const Executable& executable, int rank, Mode mode);

}  // namespace pdc::program

#endif  // PDC_RUNTIME_PROGRAM_READER_H_
