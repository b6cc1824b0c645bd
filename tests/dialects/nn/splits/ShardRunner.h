//===- ShardRunner.h - every shard of a split op, run -----------*- C++ -*-===//
//
// A partition rule is believed when every shard has run: an op is split as its sharding rule allows, partitioned
// as a plan would have it, its local ops are evaluated for every rank with the collectives between them, and the
// parts of its results put together.
//
//===----------------------------------------------------------------------===//
#ifndef PDC_TESTS_DIALECTS_NN_SPLITS_SHARDRUNNER_H
#define PDC_TESTS_DIALECTS_NN_SPLITS_SHARDRUNNER_H

#include "dialects/nn/IR/NN.h"
#include "tests/dialects/nn/ops/Evaluator.h"
#include <map>
#include <string>

namespace pdc::nn::testing {

/// Axis names of a mesh and their sizes.
using MeshAxes = std::vector<std::pair<std::string, int64_t>>;

/// Which axes split which factor of an op, by its index in the sharding rule.
using Split = std::map<unsigned, std::vector<std::string>>;

struct ShardResult {
  bool offered = false; // false: layouts cannot express this split, or it leaves a rank without elements
  std::string error;    // empty when all went well
  std::vector<Tensor> results;
  int64_t collectives = 0; // how many ops of the first rank moved data
};

/// Runs the op on its own, with these operands.
ShardResult runWhole(mlir::Operation *op, llvm::ArrayRef<Tensor> operands);

/// Runs the op split over the mesh, with parts of these operands, and joins the parts of its results.
ShardResult runSplit(mlir::Operation *op, const MeshAxes &mesh, const Split &split,
                     llvm::ArrayRef<Tensor> operands);

} // namespace pdc::nn::testing

#endif // PDC_TESTS_DIALECTS_NN_SPLITS_SHARDRUNNER_H
