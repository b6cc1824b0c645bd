//===- Rt.h - the rt dialect: what a rank does ------------------*- C++ -*-===//
#ifndef PDC_DIALECTS_RT_IR_RT_H
#define PDC_DIALECTS_RT_IR_RT_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"

#include "dialects/rt/IR/RtDialect.h.inc"
#include "dialects/rt/IR/RtEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/rt/IR/RtAttributes.h.inc"

#define GET_TYPEDEF_CLASSES
#include "dialects/rt/IR/RtTypes.h.inc"

#define GET_OP_CLASSES
#include "dialects/rt/IR/RtOps.h.inc"

namespace pdc::rt {

/// Bytes of one element in memory; i1 takes a whole byte.
int64_t elementBytes(mlir::Type elementType);

/// Elements in row-major order, one after the other (the offset does not matter).
bool isDense(mlir::MemRefType type);

/// The buffer that a buffer or view lies in.
BufferOp getBuffer(mlir::Value memory);

/// An instruction of a program: neither a buffer nor a view.
bool isInstruction(mlir::Operation *op);

} // namespace pdc::rt

#endif // PDC_DIALECTS_RT_IR_RT_H
