//===- ParallelSpec.h - what --parallel says --------------------*- C++ -*-===//
#ifndef PDC_COMPILER_PLAN_PARALLELSPEC_H
#define PDC_COMPILER_PLAN_PARALLELSPEC_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <vector>

namespace pdc::plan {

/// ZeRO's stage, where it is for the search to find.
inline constexpr int64_t kSearchedZero = -1;

/// How many ways each kind of parallelism splits the work; the product of data, tensor and pipeline is the
/// number of ranks. `zero` is the stage of ZeRO (Rajbhandari et al. 2020), 0 to 3.
struct ParallelSpec {
  bool isSearched = false;     // auto: the numbers below are for the search to find
  bool searchesStages = false; // so is whether there is a pipeline: numbers that are 0 are for the search to find
  int64_t data = 1;
  int64_t tensor = 1;
  int64_t pipeline = 1;
  int64_t zero = 0;
  /// Of a pipeline whose stages are not alike: of each stage. The numbers above are then the largest of any stage.
  std::vector<ParallelSpec> stages;

  int64_t ranksOfStage() const { return data * tensor; }
  /// Within a stage the batch is split and nothing else: there is nothing to search.
  bool isDataParallel() const { return !isSearched && !searchesStages && tensor == 1 && zero == 0; }
};

/// Whether two stages are split in the same way.
bool areAlike(const ParallelSpec &a, const ParallelSpec &b);

/// Reads `auto`, `layouts` (auto, but one stage and the whole batch), a preset ("data", "zero1", "zero2", "zero3", "tensor"),
/// or a list "data=2,tensor=1,zero=1", for a job of `ranks`. What a list does not name is 1, except that `data` takes the
/// ranks that are left. A number may be `auto`; then `data` is searched as well, if it is not named. Each number may be one
/// for each stage, "data=4:1,tensor=1:2,pipeline=2"; those of `pipeline` are the stages' ranks, "pipeline=2:1:1". With
/// `layouts` in a list the search says how each stage divides its ranks. Errors: an unknown word, a number that is not one, a
/// product or a sum of the stages' ranks that is not `ranks`, and every kind of parallelism that this version cannot run
/// ("not supported yet").
llvm::Expected<ParallelSpec> parseParallelSpec(llvm::StringRef text, int64_t ranks);

} // namespace pdc::plan

#endif // PDC_COMPILER_PLAN_PARALLELSPEC_H
