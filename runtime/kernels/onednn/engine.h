// What all oneDNN calls share: the CPU engine, a stream, element types, and the step from oneDNN's exceptions
// to Status.
#ifndef PDC_RUNTIME_KERNELS_ONEDNN_ENGINE_H_
#define PDC_RUNTIME_KERNELS_ONEDNN_ENGINE_H_

#include <cstddef>
#include <dnnl.hpp>
#include <unordered_map>

#include "absl/status/status.h"
#include "runtime/kernels/library.h"

namespace pdc::kernels::onednn {

dnnl::engine& CpuEngine();

// f32, bf16, f16, i32, i8, u8; undef for what oneDNN has no type for.
dnnl::memory::data_type DataType(program::ElementType type);

dnnl::memory::desc DenseDesc(absl::Span<const int64_t> shape, program::ElementType type);

// Scratchpads come from the arena.
dnnl::primitive_attr UserScratchpad();

// INTERNAL or UNIMPLEMENTED "matmul: oneDNN: could not create a primitive".
absl::Status FromException(const program::Instruction& instruction, const dnnl::error& error);

// Parts of a workspace, each aligned to 64 bytes; with a null base it only adds up.
class WorkspaceLayout {
 public:
  explicit WorkspaceLayout(std::byte* base) : base_(base) {}

  // Null when there is no base.
  std::byte* Take(int64_t bytes) {
    std::byte* part = base_ == nullptr ? nullptr : base_ + total_;
    total_ += (bytes + 63) / 64 * 64;
    return part;
  }

  int64_t total() const { return total_; }

 private:
  std::byte* base_;
  int64_t total_ = 0;
};

// A primitive with its arguments.
struct Execution {
  dnnl::primitive primitive;
  std::unordered_map<int, dnnl::memory> arguments;
};

// Runs primitives one after the other.
class PrimitiveCall : public Call {
 public:
  PrimitiveCall(std::vector<Execution> executions, Workers workers)
      : stream_(CpuEngine()), executions_(std::move(executions)), workers_(workers) {}

  absl::Status Run() override;

 private:
  dnnl::stream stream_;
  std::vector<Execution> executions_;
  Workers workers_;
};

}  // namespace pdc::kernels::onednn

#endif  // PDC_RUNTIME_KERNELS_ONEDNN_ENGINE_H_
