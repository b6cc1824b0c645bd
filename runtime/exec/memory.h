// Where the buffers of a program lie in the arenas of a rank, and what is in them before its first step.
#ifndef PDC_RUNTIME_EXEC_MEMORY_H_
#define PDC_RUNTIME_EXEC_MEMORY_H_

#include <cstddef>

#include "runtime/device/device.h"
#include "runtime/program/program_generated.h"

namespace pdc::exec {

std::byte* Address(const device::Arenas& arenas, const program::Buffer& buffer);

// Writes the contents of the program's constants.
void WriteConstants(const program::Program& program, const device::Arenas& arenas);

}  // namespace pdc::exec

#endif  // PDC_RUNTIME_EXEC_MEMORY_H_
