// Element types as communicators see them: reductions in a fixed order.
#ifndef PDC_RUNTIME_COMM_ELEMENT_H_
#define PDC_RUNTIME_COMM_ELEMENT_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "runtime/program/program_generated.h"
#include "runtime/program/view.h"

namespace pdc::comm {

using program::ElementBytes;
using program::ElementName;

// INVALID_ARGUMENT unless `op` is defined for `type`: everything but the sum of i1 is (its maximum is logical
// or).
absl::Status CheckReduction(program::ElementType type, program::ReduceOp op);

// outputs[k][i] := sources[0][i] op sources[1][i] op ... , for i in [0, count), in this order, the same bits
// in each of the outputs. An output may be one of the sources; other overlap is not allowed. bf16 and f16 are
// reduced in f32 and rounded once (to nearest even); integers wrap around; a NaN makes the maximum NaN. At
// least one source and one output.
void Reduce(program::ElementType type, program::ReduceOp op, const void* const* sources, int source_count,
            void* const* outputs, int output_count, int64_t count);

// A reduction in two parts gives the bits of one only when the sums of the parts are not rounded: what parts are
// reduced to. f32 for sums of bf16 and f16, else the type itself.
program::ElementType PartialType(program::ElementType type, program::ReduceOp op);
// partial[i], of PartialType(), := sources[0][i] op sources[1][i] op ...
void ReduceToPartial(program::ElementType type, program::ReduceOp op, const void* const* sources,
                     int source_count, void* partial, int64_t count);
// As Reduce(), of sources of PartialType().
void ReducePartials(program::ElementType type, program::ReduceOp op, const void* const* partials,
                    int partial_count, void* const* outputs, int output_count, int64_t count);

}  // namespace pdc::comm

#endif  // PDC_RUNTIME_COMM_ELEMENT_H_
