//===- Followers.h - steps that are planned as another one ------*- C++ -*-===//
#ifndef PDC_COMPILER_PLAN_SEARCH_FOLLOWERS_H
#define PDC_COMPILER_PLAN_SEARCH_FOLLOWERS_H

#include "compiler/plan/search/SearchSpace.h"

namespace pdc::plan {

/// The decisions on one step, for other steps of the same model: what they compute likewise (the same op on operands that
/// are computed likewise, from arguments of the same names) is split and laid out likewise. So the gradients that
/// `verify` compares are those of training, no step needs more memory than it must, and little is left to search.
class DecidedStep {
public:
  /// `choices` decide all of `space`, the problem of `step`. To be made before layouts are written into the step.
  DecidedStep(nn::StepOp step, const SearchSpace &space, llvm::ArrayRef<uint32_t> choices);

  /// Fixes the choices of another step's problem on the same mesh.
  void decide(nn::StepOp other, SearchSpace &space) const;

private:
  using Number = uint64_t; // of what is computed; equal for what is computed likewise
  using Numbers = llvm::DenseMap<mlir::Value, Number>;

  Number numberOf(std::vector<uint64_t> key) const {
    return numbers.try_emplace(std::move(key), numbers.size()).first->second;
  }
  Numbers numberArguments(nn::StepOp step) const;
  Number numberOp(mlir::Operation *op, Numbers &values) const;

  mutable std::map<std::vector<uint64_t>, Number> numbers;
  llvm::DenseMap<Number, dist::LayoutAttr> layouts; // of values
  llvm::DenseMap<Number, passes::OpLayouts> splits; // of ops
};

} // namespace pdc::plan

#endif // PDC_COMPILER_PLAN_SEARCH_FOLLOWERS_H
