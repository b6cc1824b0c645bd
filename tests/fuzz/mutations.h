// Small changes of rank programs, as a slip of the hand or of a compiler would make them.
#ifndef PDC_TESTS_FUZZ_MUTATIONS_H_
#define PDC_TESTS_FUZZ_MUTATIONS_H_

#include <random>
#include <string>

#include "runtime/program/program_generated.h"

namespace pdc::fuzz {

// Changes one place of one program: drops, swaps, moves, repeats, retargets or resizes an instruction, or changes a
// buffer, a group or an attribute. Mostly the indices of instructions in the rest of the program follow, so that the
// change is more than a wrong index. A program that several ranks share is changed for one of them or for all.
struct Mutation {
  std::string what;    // "program 3 of rank 1: swaps 3 'h1 matmul' and 4 'h1 matmul done'"
  program::Mode mode;  // of the changed program
};

Mutation Mutate(program::ExecutableT& executable, std::mt19937_64& random);

}  // namespace pdc::fuzz

#endif  // PDC_TESTS_FUZZ_MUTATIONS_H_
