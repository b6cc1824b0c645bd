//===- SplitByParts.h - splits of an op that go through its parts -*- C++ -*-===//
//
// Some splits are none of the op as a whole, but of the ops that it decomposes into: the columns of a softmax
// (a maximum and a sum to reduce), the features of a layer_norm (two means), the classes of a cross entropy
// (vocabulary-parallel loss: three numbers a row instead of all logits). Factors of such loops are of kind
// Decomposed. Here the op is replaced by its parts, laid out, with partial results reduced where they are made:
//
//   %s = nn.softmax %x                            %m = nn.reduce_max %x   {partial max over "tensor"}
//      columns split over "tensor"       =>       %r = dist.reshard %m    {whole}
//                                                 %e = nn.exp (%x - %r), and so on
//
//===----------------------------------------------------------------------===//
#ifndef PDC_PASSES_LAYOUTS_SPLITBYPARTS_H
#define PDC_PASSES_LAYOUTS_SPLITBYPARTS_H

#include "passes/layouts/OpLayouts.h"
#include <vector>

namespace pdc::passes {

/// An all-reduce between the parts.
struct PartsReduction {
  dist::Reduction reduction;
  mlir::ArrayAttr axes;
  int64_t bytes; // of what each rank contributes; of the largest part, where they differ
};

struct SplitParts {
  std::vector<PartsReduction> reductions;      // in order
  llvm::SmallVector<dist::LayoutAttr> results; // layouts of what replaces the op's results; may be partial
};

/// Whether the known layouts split a factor of kind Decomposed, so that the op must be split by its parts.
/// False where they do not fit the op at all, which completeLayouts reports.
bool needsParts(nn::ShardableOpInterface op, const OpLayouts &known);

/// Replaces the op by its parts, with the layouts (dist.layouts) and reductions (dist.reshard) that the wanted
/// layouts of its operands and results make necessary. Afterwards its operands must have the layouts of
/// `partsOperandLayouts`. Emits an error on the op, which then may stand beside some of its parts, where a part
/// cannot be split so.
mlir::FailureOr<SplitParts> splitByParts(nn::ShardableOpInterface op, const OpLayouts &wanted,
                                         dist::MeshOp mesh);

/// What splitByParts would do, without doing it: for costs.
mlir::FailureOr<SplitParts> describeSplitByParts(nn::ShardableOpInterface op, const OpLayouts &wanted,
                                                 dist::MeshOp mesh);

/// The layouts of the op's operands when its factors are split as the wanted layouts split them.
mlir::FailureOr<llvm::SmallVector<dist::LayoutAttr>> partsOperandLayouts(nn::ShardableOpInterface op,
                                                                         const OpLayouts &wanted);

} // namespace pdc::passes

#endif // PDC_PASSES_LAYOUTS_SPLITBYPARTS_H
