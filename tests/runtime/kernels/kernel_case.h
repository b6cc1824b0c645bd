// One library call on random tensors, run by the call and by its reference.
#ifndef PDC_TESTS_RUNTIME_KERNELS_KERNEL_CASE_H_
#define PDC_TESTS_RUNTIME_KERNELS_KERNEL_CASE_H_

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "runtime/program/program_generated.h"

namespace pdc::kernels {

class KernelCase {
 public:
  using ElementType = program::ElementType;
  using Dims = std::vector<int64_t>;

  explicit KernelCase(std::string target, uint64_t seed = 1);

  // A dense operand with random contents in [-1, 1).
  KernelCase& Read(Dims shape, ElementType type = ElementType::kF32);
  KernelCase& Write(Dims shape, ElementType type = ElementType::kF32);
  // A view with these strides into a buffer that is just large enough; also the elements between are
  // compared.
  KernelCase& ReadView(Dims shape, Dims strides, ElementType type = ElementType::kF32);
  KernelCase& WriteView(Dims shape, Dims strides, ElementType type = ElementType::kF32);
  // Contents in [0, limit), or in [least, limit).
  KernelCase& Ids(Dims shape, int32_t limit, int32_t least = 0);
  // A scalar i64 that is read.
  KernelCase& Scalar(int64_t value);
  // An i32 tensor that is written.
  KernelCase& WriteIds(Dims shape);
  KernelCase& Attribute(std::string name, Dims values);
  KernelCase& Threads(int threads);

  // Runs both; INTERNAL names the first element of a written operand that differs by more than
  // `tolerance` * (1 + |reference|). The call runs twice, from the same contents, and must give the same
  // bits.
  absl::Status Compare(double tolerance) const;

  // Only the call, and what it wrote.
  absl::Status RunOnce(std::vector<std::vector<std::byte>>* contents) const;

  std::vector<std::vector<std::byte>>& contents() { return contents_; }
  const program::InstructionT& instruction() const { return instruction_; }

 private:
  KernelCase& Add(Dims shape, Dims strides, ElementType type, program::Access access);

  program::InstructionT instruction_;
  std::vector<std::vector<std::byte>> contents_;
  std::mt19937_64 random_;
  int threads_ = 1;
};

// Row-major strides.
std::vector<int64_t> DenseStrides(const std::vector<int64_t>& shape);

}  // namespace pdc::kernels

#endif  // PDC_TESTS_RUNTIME_KERNELS_KERNEL_CASE_H_
