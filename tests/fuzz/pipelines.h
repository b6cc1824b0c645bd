// Rank programs of a pipeline, made by hand from a schedule: a linear layer a stage, trained without an update.
#ifndef PDC_TESTS_FUZZ_PIPELINES_H_
#define PDC_TESTS_FUZZ_PIPELINES_H_

#include "compiler/schedule/Schedule.h"
#include "runtime/program/program_generated.h"

namespace pdc::fuzz {

// Activations and gradients travel as messages of one tag each, or with a tag for each micro-batch. Weight gradients
// are accumulated; at the end all ranks all_reduce the sum of what they computed.
program::ExecutableT MakePipeline(const schedule::Schedule& schedule, bool tag_each);

}  // namespace pdc::fuzz

#endif  // PDC_TESTS_FUZZ_PIPELINES_H_
