// "matmul": see runtime/kernels/README.md.
//
// f32 goes through oneDNN's sgemm, matrix by matrix: in oneDNN 2.6 it was as fast as the matmul primitive or
// faster on every shape of GPT-2 measured (256x3072x768: 54 GFLOP/s against 26 on one busy core; 64x64x64:
// equal), and unlike the primitive it takes any leading dimension at full speed. bf16 goes through the
// primitive, which uses AMX, or is widened to f32 (widened.h).
#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/kernels/onednn/engine.h"
#include "runtime/kernels/onednn/matmul_problem.h"
#include "runtime/kernels/onednn/widened.h"
#include "runtime/program/view.h"

namespace pdc::kernels::onednn {
namespace {

using dnnl::memory;
using program::ElementType;

// Below this many operations a matrix product is too short to be split over threads.
constexpr double kSmallFlops = 4e6;

class EmptyCall : public Call {
 public:
  absl::Status Run() override { return absl::OkStatus(); }
};

class SgemmCall : public Call {
 public:
  SgemmCall(const MatmulProblem& problem, const Binding& binding)
      : problem_(problem),
        a_(reinterpret_cast<const float*>(binding.operands[problem.a_operand])),
        b_(reinterpret_cast<const float*>(binding.operands[problem.b_operand])),
        c_(reinterpret_cast<float*>(binding.operands[problem.c_operand])),
        bias_(problem.has_bias ? reinterpret_cast<const float*>(binding.operands[problem.bias_operand])
                               : nullptr),
        workers_(binding.workers) {
    flag_a_ = problem.a.column == 1 && problem.a.row >= problem.k ? 'N' : 'T';
    flag_b_ = problem.b.column == 1 && problem.b.row >= problem.n ? 'N' : 'T';
    lda_ = flag_a_ == 'N' ? problem.a.row : problem.a.column;
    ldb_ = flag_b_ == 'N' ? problem.b.row : problem.b.column;
    double flops = 2.0 * problem.m * problem.n * problem.k;
    batch_parallel_ = problem.batch_size() >= workers_.threads() && flops < kSmallFlops;
  }

  absl::Status Run() override {
    workers_.ApplyToLibraries();
    int64_t count = problem_.batch_size();
    std::atomic<int> failure{dnnl_success};
    auto run_range = [&](IndexRange range) {
      for (int64_t i = range.begin; i < range.end; ++i) {
        dnnl_status_t status = RunMatrix(i);
        if (status != dnnl_success) failure.store(status, std::memory_order_relaxed);
      }
    };
    if (batch_parallel_) {
      workers_.ParallelFor(count, run_range);
    } else {
      run_range({0, count});
    }
    if (failure.load() == dnnl_success) return absl::OkStatus();
    return absl::InternalError(absl::StrCat("matmul: oneDNN's sgemm failed with status ", failure.load()));
  }

 private:
  dnnl_status_t RunMatrix(int64_t index) const {
    int64_t a = 0, b = 0, c = 0;
    for (size_t d = problem_.batch.size(); d-- > 0;) {
      const MatmulProblem::Batch& batch = problem_.batch[d];
      int64_t position = index % batch.size;
      index /= batch.size;
      a += position * batch.a;
      b += position * batch.b;
      c += position * batch.c;
    }
    if (bias_ != nullptr) WriteBias(c_ + c);
    float beta = problem_.accumulate || bias_ != nullptr ? 1.0f : 0.0f;
    return dnnl_sgemm(flag_a_, flag_b_, problem_.m, problem_.n, problem_.k, 1.0f, a_ + a, lda_, b_ + b, ldb_,
                      beta, c_ + c, problem_.c.row);
  }

  // sgemm adds to it. By rows, each a loop without branches: 2 MiB of bias took half as long as their product otherwise.
  void WriteBias(float* c) const {
    const int64_t n = problem_.n;
    for (int64_t i = 0; i < problem_.m; ++i) {
      float* row = c + i * problem_.c.row;
      if (problem_.accumulate) {
        problem_.bias_per_row ? AddTo(row, bias_[i], n) : AddTo(row, bias_, n);
      } else if (problem_.bias_per_row) {
        std::fill_n(row, n, bias_[i]);
      } else {
        std::copy_n(bias_, n, row);
      }
    }
  }

  static void AddTo(float* row, float value, int64_t n) {
    for (int64_t j = 0; j < n; ++j) row[j] += value;
  }
  static void AddTo(float* __restrict row, const float* __restrict values, int64_t n) {
    for (int64_t j = 0; j < n; ++j) row[j] += values[j];
  }

  MatmulProblem problem_;
  const float *a_, *b_;
  float* c_;
  const float* bias_;
  Workers workers_;
  char flag_a_, flag_b_;
  int64_t lda_, ldb_;
  bool batch_parallel_;
};

// The primitive's view of one matrix: batch dimensions that all matrices share have size 1.
memory::desc MatrixDesc(const MatmulProblem& problem, int64_t MatmulProblem::Batch::*step, int64_t rows,
                        int64_t columns, const MatmulProblem::Strides& matrix, ElementType type) {
  memory::dims dims, strides;
  for (const MatmulProblem::Batch& batch : problem.batch) {
    bool shared = batch.*step == 0;
    dims.push_back(shared ? 1 : batch.size);
    // A stride for the dimension of size 1 that keeps oneDNN's idea of the order of dimensions.
    strides.push_back(shared ? rows * columns : batch.*step);
  }
  dims.push_back(rows);
  dims.push_back(columns);
  strides.push_back(matrix.row);
  strides.push_back(matrix.column);
  return memory::desc(dims, DataType(type), strides);
}

absl::StatusOr<dnnl::matmul::primitive_desc> DescribeBf16(const program::Instruction& instruction,
                                                          const MatmulProblem& problem, memory::desc* bias) {
  using Batch = MatmulProblem::Batch;
  memory::desc a = MatrixDesc(problem, &Batch::a, problem.m, problem.k, problem.a, problem.type);
  memory::desc b = MatrixDesc(problem, &Batch::b, problem.k, problem.n, problem.b, problem.type);
  memory::desc c = MatrixDesc(problem, &Batch::c, problem.m, problem.n, problem.c, problem.c_type);
  dnnl::primitive_attr attributes = UserScratchpad();
  if (problem.accumulate) {
    dnnl::post_ops sum;
    sum.append_sum(1.0f);
    attributes.set_post_ops(sum);
  }
  try {
    if (!problem.has_bias)
      return dnnl::matmul::primitive_desc(dnnl::matmul::desc(a, b, c), attributes, CpuEngine());
    memory::dims dims(problem.batch.size() + 2, 1), strides(problem.batch.size() + 2, problem.n);
    dims.back() = problem.n;
    strides.back() = 1;
    *bias = memory::desc(dims, DataType(problem.bias_type), strides);
    return dnnl::matmul::primitive_desc(dnnl::matmul::desc(a, b, *bias, c), attributes, CpuEngine());
  } catch (const dnnl::error& error) {
    return FromException(instruction, error);
  }
}

absl::StatusOr<int64_t> MatmulWorkspace(const program::Instruction& instruction, int threads) {
  PDC_ASSIGN_OR_RETURN(MatmulProblem problem, ParseMatmul(instruction));
  if (problem.empty() || problem.type == ElementType::kF32) return 0;
  Workers(threads).ApplyToLibraries();
  memory::desc bias;
  PDC_ASSIGN_OR_RETURN(dnnl::matmul::primitive_desc description, DescribeBf16(instruction, problem, &bias));
  return static_cast<int64_t>(description.scratchpad_desc().get_size());
}

absl::StatusOr<std::unique_ptr<Call>> PrepareMatmul(const program::Instruction& instruction,
                                                    const Binding& binding) {
  PDC_ASSIGN_OR_RETURN(MatmulProblem problem, ParseMatmul(instruction));
  if (problem.empty()) return std::make_unique<EmptyCall>();
  if (problem.type == ElementType::kF32) return std::make_unique<SgemmCall>(problem, binding);
  binding.workers.ApplyToLibraries();
  memory::desc bias;
  PDC_ASSIGN_OR_RETURN(dnnl::matmul::primitive_desc description, DescribeBf16(instruction, problem, &bias));
  try {
    dnnl::engine& engine = CpuEngine();
    Execution execution{dnnl::matmul(description), {}};
    auto bind = [&](int argument, const memory::desc& desc, std::byte* data) {
      execution.arguments.emplace(argument, memory(desc, engine, data));
    };
    bind(DNNL_ARG_SRC, description.src_desc(), binding.operands[problem.a_operand]);
    bind(DNNL_ARG_WEIGHTS, description.weights_desc(), binding.operands[problem.b_operand]);
    bind(DNNL_ARG_DST, description.dst_desc(), binding.operands[problem.c_operand]);
    if (problem.has_bias) bind(DNNL_ARG_BIAS, bias, binding.operands[problem.bias_operand]);
    bind(DNNL_ARG_SCRATCHPAD, description.scratchpad_desc(), binding.workspace);
    std::vector<Execution> executions;
    executions.push_back(std::move(execution));
    return std::make_unique<PrimitiveCall>(std::move(executions), binding.workers);
  } catch (const dnnl::error& error) {
    return FromException(instruction, error);
  }
}

double MatmulFlops(const program::Instruction& instruction) {
  absl::StatusOr<MatmulProblem> problem = ParseMatmul(instruction);
  if (!problem.ok()) return 0;
  return 2.0 * problem->batch_size() * problem->m * problem->n * problem->k;
}

// The primitive takes no bias of a column-major result.
bool Widens(const program::Instruction& instruction) {
  absl::StatusOr<MatmulProblem> problem = ParseMatmul(instruction);
  if (!problem.ok() || problem->type != ElementType::kBF16) return false;
  return NeedsWidening(instruction) || (problem->has_bias && problem->bias_per_row);
}

absl::StatusOr<int64_t> AnyMatmulWorkspace(const program::Instruction& instruction, int threads) {
  if (Widens(instruction)) return WidenedWorkspace(instruction, threads, MatmulWorkspace);
  return MatmulWorkspace(instruction, threads);
}

absl::StatusOr<std::unique_ptr<Call>> PrepareAnyMatmul(const program::Instruction& instruction,
                                                       const Binding& binding) {
  if (Widens(instruction)) return PrepareWidened(instruction, binding, MatmulWorkspace, PrepareMatmul);
  return PrepareMatmul(instruction, binding);
}

PDC_REGISTER_LIBRARY_CALL(matmul, "matmul", AnyMatmulWorkspace, PrepareAnyMatmul, MatmulFlops);

}  // namespace
}  // namespace pdc::kernels::onednn
