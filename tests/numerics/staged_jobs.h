// Jobs for tests of pipelines, and what their results must be like.
#ifndef PDC_TESTS_NUMERICS_STAGED_JOBS_H_
#define PDC_TESTS_NUMERICS_STAGED_JOBS_H_

#include <string>

#include "tests/numerics/harness.h"

namespace pdc::numerics {

// Five steps of training, with gradients, in uneven micro-batches: 7 samples of gpt_tiny, 13 of other models, which tell
// labels of ten kinds apart.
Job StagedJob(const std::string& model, int ranks, const std::string& parallel, int micro_batches,
              const std::string& schedule);

// The same of a network with dropout, clipped gradients and a table that is embedding and head; 9 samples.
Job DropoutJob(int ranks, const std::string& parallel, int micro_batches, const std::string& optimizer,
               const std::string& schedule = "");

// Losses on every rank to 1e-5, gradients to 1e-4 of their largest element; in bf16 to 3e-3 and 0.1.
void ExpectSame(const Result& expected, const Result& found, const std::string& precision = "f32");

}  // namespace pdc::numerics

#endif  // PDC_TESTS_NUMERICS_STAGED_JOBS_H_
