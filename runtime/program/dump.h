// Rank programs as text, for people: one line per buffer and instruction. The order and the numbers are the
// file's.
#ifndef PDC_RUNTIME_PROGRAM_DUMP_H_
#define PDC_RUNTIME_PROGRAM_DUMP_H_

#include <string>

#include "runtime/program/program_generated.h"

namespace pdc::program {

std::string DumpExecutable(const Executable& executable);
std::string DumpProgram(const Program& program);

}  // namespace pdc::program

#endif  // PDC_RUNTIME_PROGRAM_DUMP_H_
