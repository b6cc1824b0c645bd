// A primitive between tensors in the plain layout of the arena, when oneDNN may prefer a layout of its own:
// reorders of the inputs before, of the output after, through the workspace.
#ifndef PDC_RUNTIME_KERNELS_ONEDNN_REORDERED_H_
#define PDC_RUNTIME_KERNELS_ONEDNN_REORDERED_H_

#include <dnnl.hpp>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/kernels/onednn/engine.h"

namespace pdc::kernels::onednn {

// One tensor of a primitive.
struct Port {
  int argument;               // DNNL_ARG_SRC, ...
  dnnl::memory::desc plain;   // as it lies in the arena
  dnnl::memory::desc wanted;  // as the primitive takes it
  bool output;
  std::byte* data;  // null in a query
};

// The workspace that BuildReordered() takes; primitive descriptors only.
int64_t ReorderedWorkspace(const std::vector<Port>& ports, const dnnl::memory::desc& scratchpad);

// Reorders, the primitive, reorders. Throws dnnl::error.
std::unique_ptr<Call> BuildReordered(const dnnl::primitive& primitive, const std::vector<Port>& ports,
                                     const dnnl::memory::desc& scratchpad, const Binding& binding);

}  // namespace pdc::kernels::onednn

#endif  // PDC_RUNTIME_KERNELS_ONEDNN_REORDERED_H_
