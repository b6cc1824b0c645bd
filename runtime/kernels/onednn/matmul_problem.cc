#include "runtime/kernels/onednn/matmul_problem.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/program/view.h"

namespace pdc::kernels::onednn {
namespace {

using Strides = MatmulProblem::Strides;
using program::ElementType;

absl::Status CheckShapes(const program::Instruction& instruction, const View& a, const View& b, const View& c,
                         bool has_bias) {
  size_t rank = c.shape.size();
  bool fits = rank >= 2 && a.shape.size() == rank && b.shape.size() == rank;
  for (size_t d = 0; fits && d + 2 < rank; ++d) fits = a.shape[d] == c.shape[d] && b.shape[d] == c.shape[d];
  fits = fits && a.shape[rank - 2] == c.shape[rank - 2] && b.shape[rank - 1] == c.shape[rank - 1] &&
         a.shape[rank - 1] == b.shape[rank - 2];
  if (!fits) {
    return CallError(instruction, absl::StrCat("the shapes do not fit [...,M,K] x [...,K,N] -> [...,M,N]: ",
                                               ToString(a), " x ", ToString(b), " -> ", ToString(c)));
  }
  if (!has_bias) return absl::OkStatus();
  View bias = ViewOf(instruction, 2);
  if (bias.shape.size() != 1 || bias.shape[0] != c.shape[rank - 1] || !bias.dense()) {
    return CallError(instruction, absl::StrCat("the bias ", ToString(bias), " does not fit ", ToString(c)));
  }
  return absl::OkStatus();
}

absl::Status CheckTypes(const program::Instruction& instruction, const MatmulProblem& problem,
                        ElementType b_type) {
  bool f32 = problem.type == ElementType::kF32 && problem.c_type == ElementType::kF32;
  bool bf16 = problem.type == ElementType::kBF16 &&
              (problem.c_type == ElementType::kBF16 || problem.c_type == ElementType::kF32);
  bool bias = !problem.has_bias || problem.bias_type == ElementType::kF32 ||
              (bf16 && problem.bias_type == ElementType::kBF16);
  if (b_type == problem.type && bias && (f32 || bf16)) return absl::OkStatus();
  return CallUnsupported(
      instruction, "a combination of element types other than f32 -> f32, bf16 -> bf16 and bf16 -> f32");
}

// Dimensions of size 1 can have any stride; give them the one that makes the matrix plain.
void NormalizeUnitDimensions(int64_t rows, int64_t columns, Strides& strides) {
  if (columns == 1 && rows == 1) {
    strides = {1, 1};
  } else if (columns == 1) {
    strides.column = 1;
  } else if (rows == 1) {
    strides.row = strides.column == 1 ? columns : 1;
  }
}

bool IsPlain(int64_t rows, int64_t columns, const Strides& strides) {
  return (strides.column == 1 && strides.row >= std::max<int64_t>(columns, 1)) ||
         (strides.row == 1 && strides.column >= std::max<int64_t>(rows, 1));
}

// Joins neighbouring batch dimensions that all three matrices step through as one.
void MergeBatch(MatmulProblem& problem) {
  std::vector<MatmulProblem::Batch> merged;
  for (const MatmulProblem::Batch& inner : problem.batch) {
    if (inner.size == 1) continue;
    if (!merged.empty()) {
      MatmulProblem::Batch& outer = merged.back();
      if (outer.a == inner.a * inner.size && outer.b == inner.b * inner.size &&
          outer.c == inner.c * inner.size) {
        outer = {outer.size * inner.size, inner.a, inner.b, inner.c};
        continue;
      }
    }
    merged.push_back(inner);
  }
  problem.batch = std::move(merged);
}

// A linear layer over [batch, tokens, features] is one matrix product over batch * tokens rows.
void FoldBatchIntoRows(MatmulProblem& problem) {
  while (!problem.batch.empty()) {
    const MatmulProblem::Batch& inner = problem.batch.back();
    bool folds =
        inner.b == 0 &&
        (problem.m == 1 || (inner.a == problem.a.row * problem.m && inner.c == problem.c.row * problem.m));
    if (!folds) return;
    if (problem.m == 1) {
      // One row each: the batches become rows, unless that would leave a matrix without unit stride.
      if (problem.a.column != 1 || problem.c.column != 1) return;
      problem.a.row = inner.a;
      problem.c.row = inner.c;
    }
    problem.m *= inner.size;
    problem.batch.pop_back();
  }
}

// C^T = B^T A^T.
void Transpose(MatmulProblem& problem) {
  std::swap(problem.a, problem.b);
  std::swap(problem.a_operand, problem.b_operand);
  std::swap(problem.m, problem.n);
  for (Strides* strides : {&problem.a, &problem.b, &problem.c}) std::swap(strides->row, strides->column);
  for (MatmulProblem::Batch& batch : problem.batch) std::swap(batch.a, batch.b);
  problem.bias_per_row = true;
}

}  // namespace

int64_t MatmulProblem::batch_size() const {
  int64_t size = 1;
  for (const Batch& dimension : batch) size *= dimension.size;
  return size;
}

absl::StatusOr<MatmulProblem> ParseMatmul(const program::Instruction& instruction) {
  MatmulProblem problem;
  problem.has_bias = program::Size(instruction.operands()) == 4;
  PDC_RETURN_IF_ERROR(ExpectOperands(instruction, problem.has_bias ? 3 : 2, 1));
  problem.c_operand = problem.has_bias ? 3 : 2;
  View a = ViewOf(instruction, 0), b = ViewOf(instruction, 1), c = ViewOf(instruction, problem.c_operand);
  PDC_RETURN_IF_ERROR(CheckShapes(instruction, a, b, c, problem.has_bias));
  problem.type = a.type;
  problem.c_type = c.type;
  problem.bias_type = problem.has_bias ? ViewOf(instruction, 2).type : c.type;
  problem.accumulate = program::FindInteger(instruction, "accumulate", 0) != 0;
  PDC_RETURN_IF_ERROR(CheckTypes(instruction, problem, b.type));

  size_t rank = c.shape.size();
  problem.m = c.shape[rank - 2];
  problem.n = c.shape[rank - 1];
  problem.k = a.shape[rank - 1];
  problem.a = {a.strides[rank - 2], a.strides[rank - 1]};
  problem.b = {b.strides[rank - 2], b.strides[rank - 1]};
  problem.c = {c.strides[rank - 2], c.strides[rank - 1]};
  for (size_t d = 0; d + 2 < rank; ++d) {
    problem.batch.push_back({c.shape[d], a.strides[d], b.strides[d], c.strides[d]});
  }
  if (problem.empty()) return problem;
  if (problem.k == 0) return CallUnsupported(instruction, "a sum over no elements (K = 0)");
  MergeBatch(problem);
  FoldBatchIntoRows(problem);
  NormalizeUnitDimensions(problem.m, problem.k, problem.a);
  NormalizeUnitDimensions(problem.k, problem.n, problem.b);
  NormalizeUnitDimensions(problem.m, problem.n, problem.c);
  if (!IsPlain(problem.m, problem.k, problem.a) || !IsPlain(problem.k, problem.n, problem.b) ||
      !IsPlain(problem.m, problem.n, problem.c)) {
    return CallUnsupported(
        instruction, absl::StrCat("a matrix without unit stride in one of its two dimensions (copy it with "
                                  "copy_view first: ",
                                  ToString(a), " x ", ToString(b), " -> ", ToString(c), ")"));
  }
  if (problem.c.column != 1) Transpose(problem);
  return problem;
}

}  // namespace pdc::kernels::onednn
