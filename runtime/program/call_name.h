// How measured times of instructions are called in cluster files.
#ifndef PDC_RUNTIME_PROGRAM_CALL_NAME_H_
#define PDC_RUNTIME_PROGRAM_CALL_NAME_H_

#include <string>

#include "runtime/program/program_generated.h"

namespace pdc::program {

// "matmul(64x256:f32, 256x128:f32@1x256, 64x128:f32)": what is called, and with which operands; behind the @ strides of views
// that are not dense. A generated kernel is called by its symbol, which is a hash of all that it does.
std::string CallName(const InstructionT& instruction);

}  // namespace pdc::program

#endif  // PDC_RUNTIME_PROGRAM_CALL_NAME_H_
