// A matmul instruction brought into the form that libraries take: as few batch dimensions as possible,
// batches that share B folded into the rows, and C in row-major order.
#ifndef PDC_RUNTIME_KERNELS_ONEDNN_MATMUL_PROBLEM_H_
#define PDC_RUNTIME_KERNELS_ONEDNN_MATMUL_PROBLEM_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/kernels/library.h"

namespace pdc::kernels::onednn {

struct MatmulProblem {
  // One batch dimension: its size, and the step of each matrix in elements (0: all share it).
  struct Batch {
    int64_t size;
    int64_t a, b, c;
  };

  // One matrix of a batch: element (i, j) at i * row + j * column.
  struct Strides {
    int64_t row, column;
  };

  int64_t m = 0, n = 0, k = 0;
  Strides a, b, c;
  std::vector<Batch> batch;  // outermost first
  program::ElementType type, c_type;
  bool accumulate = false;
  bool has_bias = false;
  program::ElementType bias_type;
  bool bias_per_row = false;  // A and B have changed places
  // Indices of the operands that A, B and C are.
  uint32_t a_operand = 0, b_operand = 1, bias_operand = 2, c_operand = 2;

  int64_t batch_size() const;
  bool empty() const { return m == 0 || n == 0 || batch_size() == 0; }
};

// Operands A[..., M, K], B[..., K, N], optionally bias[N], and C[..., M, N]. INVALID_ARGUMENT for shapes that
// do not fit; UNIMPLEMENTED for element types and for matrices that step over elements in both dimensions.
absl::StatusOr<MatmulProblem> ParseMatmul(const program::Instruction& instruction);

}  // namespace pdc::kernels::onednn

#endif  // PDC_RUNTIME_KERNELS_ONEDNN_MATMUL_PROBLEM_H_
