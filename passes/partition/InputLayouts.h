//===- InputLayouts.h - inputs as they can be loaded ------------*- C++ -*-===//
#ifndef PDC_PASSES_PARTITION_INPUTLAYOUTS_H
#define PDC_PASSES_PARTITION_INPUTLAYOUTS_H

#include "dialects/dist/IR/Dist.h"
#include "dialects/nn/IR/NN.h"

namespace pdc::passes {

/// A rank loads whole samples, the same ones for all inputs of a step. Inputs with other layouts are loaded so that
/// each rank has at least what it needs, and resharded behind, which slices them: the samples are split over the axes
/// with which every input's split of dimension 0 begins.
void makeInputsLoadable(nn::StepOp step, dist::MeshOp mesh);

} // namespace pdc::passes

#endif // PDC_PASSES_PARTITION_INPUTLAYOUTS_H
