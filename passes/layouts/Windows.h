//===- Windows.h - parts of windows and their neighbours --------*- C++ -*-===//
#ifndef PDC_PASSES_LAYOUTS_WINDOWS_H
#define PDC_PASSES_LAYOUTS_WINDOWS_H

#include "passes/layouts/OpLayouts.h"

namespace pdc::passes {

/// The dimension of a value that runs over the factor, or -1.
int64_t dimensionOfFactor(const nn::ValueFactors &value, unsigned factor);

/// What part number `part` of `parts` holds along a factor of kind Halo.
nn::HaloPart partOfWindows(nn::ShardableOpInterface op, const nn::ShardingRule &rule, unsigned factor,
                           int64_t parts, int64_t part);

/// The bytes that the rank which needs most gets of other parts when a factor of kind Halo is split as the layouts say.
int64_t bytesOfHalo(nn::ShardableOpInterface op, unsigned factor, const OpLayouts &layouts,
                    dist::MeshOp mesh);

} // namespace pdc::passes

#endif // PDC_PASSES_LAYOUTS_WINDOWS_H
