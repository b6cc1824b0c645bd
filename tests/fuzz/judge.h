// Programs that were changed at random, one to three small changes each, are refused or run to their end: none hangs,
// none writes to memory that is not its own. The first failure prints the changes and the seed.
//
//   PDC_MUTATIONS=10000      how many of each executable, instead of a moderate number
//   PDC_MUTATION_SEED=123    the seed of the first; the others follow it
#ifndef PDC_TESTS_FUZZ_JUDGE_H_
#define PDC_TESTS_FUZZ_JUDGE_H_

#include <string>

#include "absl/status/statusor.h"
#include "runtime/program/program_generated.h"

namespace pdc::fuzz {

struct Subject {
  std::string name;
  program::ExecutableT executable;
  std::string kernels;
};

// The programs and kernels of a payload.
absl::StatusOr<Subject> ReadSubject(std::string name, const std::string& payload);

// A GoogleTest's body.
void ExpectMutationsAreRefusedOrRun(const Subject& subject, int mutations);

// Makes a signal that ends the process print what was being run. For main().
void TellWhatCrashed();

}  // namespace pdc::fuzz

#endif  // PDC_TESTS_FUZZ_JUDGE_H_
