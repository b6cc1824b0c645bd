//===- IdLimits.h - which integers the inputs of a model can be -*- C++ -*-===//
#ifndef PDC_COMPILER_PIPELINE_IDLIMITS_H
#define PDC_COMPILER_PIPELINE_IDLIMITS_H

#include "runtime/program/program_generated.h"
#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace pdc::pipeline {

/// Ids of a table's rows or of classes: 0 to `limit` - 1, and `ignored` where labels can be left out.
struct IdRange {
  int64_t limit = 0;
  std::optional<int64_t> ignored;
};

/// By the name of the input, from a specialized model: what its embeddings and losses can take. A label outside
/// of the classes would give a loss and gradients that are finite and mean nothing, so data is checked before.
std::map<std::string, IdRange> collectIdRanges(mlir::ModuleOp module);

/// Into the input buffers of all programs.
void setIdRanges(program::ExecutableT &executable, const std::map<std::string, IdRange> &ranges);

} // namespace pdc::pipeline

#endif // PDC_COMPILER_PIPELINE_IDLIMITS_H
