//===- Instruction.h - one op of rt as an instruction -----------*- C++ -*-===//
#ifndef PDC_PASSES_MEMORY_INSTRUCTION_H
#define PDC_PASSES_MEMORY_INSTRUCTION_H

#include "dialects/rt/IR/Rt.h"
#include "runtime/program/program_generated.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace pdc::passes {

/// A view of memory as an operand of an instruction, for the program's `rankIndex`-th rank; `bufferIndex` numbers
/// buffers.
program::OperandT toOperand(mlir::Value memory, program::Access access,
                            llvm::function_ref<uint32_t(rt::BufferOp)> bufferIndex, size_t rankIndex);

program::ElementType toElementType(mlir::Type type);

/// The instruction of an rt op, all but what depends on other ops of the program: group, start_index,
/// parallel_extent.
program::InstructionT toInstruction(mlir::Operation *op,
                                    llvm::function_ref<uint32_t(rt::BufferOp)> bufferIndex,
                                    size_t rankIndex = 0);

} // namespace pdc::passes

#endif // PDC_PASSES_MEMORY_INSTRUCTION_H
