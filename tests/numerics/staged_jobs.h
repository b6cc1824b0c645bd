// Jobs for tests of pipelines, and what their results must be like.
#ifndef PDC_TESTS_NUMERICS_STAGED_JOBS_H_
#define PDC_TESTS_NUMERICS_STAGED_JOBS_H_

#include <gtest/gtest.h>

#include <string>

#include "tests/numerics/harness.h"

namespace pdc::numerics {

// Five steps of training, with gradients, in uneven micro-batches: 7 samples of gpt_tiny, 13 of other models, which tell
// labels of ten kinds apart.
Job StagedJob(const std::string& model, int ranks, const std::string& parallel, int micro_batches,
              const std::string& schedule);

// Such a job by its options, for suites of them.
struct StagedCase {
  std::string model;
  int ranks = 1;
  std::string parallel = "data";
  int micro_batches = 1;
  std::string schedule = "";  // the default
};

std::string NameOf(const testing::TestParamInfo<StagedCase>& info);

Job StagedJob(const StagedCase& c);

// Runs it, and the same model on one device: in as many micro-batches where these have statistics of their own.
void ExpectSameAsOneDevice(const StagedCase& c);

// The same of a network with dropout, clipped gradients and a table that is embedding and head; 9 samples.
Job DropoutJob(int ranks, const std::string& parallel, int micro_batches, const std::string& optimizer,
               const std::string& schedule = "");

// Losses on every rank to 1e-5, gradients to 1e-4 of their largest element; in bf16 to 3e-3 and 0.1.
void ExpectSame(const Result& expected, const Result& found, const std::string& precision = "f32");

}  // namespace pdc::numerics

#endif  // PDC_TESTS_NUMERICS_STAGED_JOBS_H_
