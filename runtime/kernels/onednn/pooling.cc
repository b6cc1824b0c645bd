// "max_pool2d", "max_pool2d_grad", "avg_pool2d" and "avg_pool2d_grad": see runtime/kernels/README.md.
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/kernels/onednn/engine.h"
#include "runtime/kernels/onednn/widened.h"
#include "runtime/kernels/onednn/window.h"
#include "runtime/program/view.h"

namespace pdc::kernels::onednn {
namespace {

using dnnl::memory;
using program::ElementType;

struct Pooling {
  memory::desc x, y;
  memory::dims kernel;
  Window window;
  dnnl::algorithm algorithm;
};

absl::StatusOr<Pooling> Parse(const program::Instruction& instruction, bool max, uint32_t x_operand,
                              uint32_t y_operand) {
  View x = ViewOf(instruction, x_operand), y = ViewOf(instruction, y_operand);
  bool fits = x.shape.size() == 4 && y.shape.size() == 4 && x.shape[0] == y.shape[0] &&
              x.shape[1] == y.shape[1] && x.type == y.type;
  if (!fits) {
    return CallError(
        instruction,
        absl::StrCat("the shapes do not fit x[N,C,H,W], y[N,C,OH,OW]: ", ToString(x), ", ", ToString(y)));
  }
  if (!x.dense() || !y.dense() || x.elements() == 0 || y.elements() == 0 ||
      (x.type != ElementType::kF32 && x.type != ElementType::kBF16)) {
    return CallUnsupported(instruction, absl::StrCat("anything but dense f32 or bf16 tensors: ", ToString(x),
                                                     ", ", ToString(y)));
  }
  absl::Span<const int64_t> kernel = program::FindIntegers(instruction, "kernel");
  if (kernel.size() != 2 || kernel[0] < 1 || kernel[1] < 1) {
    return CallError(instruction, "'kernel' must be two numbers, each at least 1");
  }
  Pooling pooling;
  PDC_ASSIGN_OR_RETURN(pooling.window,
                       ReadWindow(instruction, x.shape.subspan(2), kernel, y.shape.subspan(2)));
  for (int d = 0; d < 2; ++d) {
    if (pooling.window.before[d] >= kernel[d] || pooling.window.after[d] >= kernel[d]) {
      return CallError(instruction,
                       "a window may not lie in the padding alone: 'padding' must be less than 'kernel'");
    }
  }
  pooling.x = DenseDesc(x.shape, x.type);
  pooling.y = DenseDesc(y.shape, y.type);
  pooling.kernel.assign(kernel.begin(), kernel.end());
  bool include = program::FindInteger(instruction, "count_include_pad", 0) != 0;
  pooling.algorithm = max       ? dnnl::algorithm::pooling_max
                      : include ? dnnl::algorithm::pooling_avg_include_padding
                                : dnnl::algorithm::pooling_avg_exclude_padding;
  return pooling;
}

// `training` makes the forward pass of max pooling note where each maximum came from.
dnnl::pooling_v2_forward::primitive_desc DescribeForward(const Pooling& p, bool training) {
  dnnl::pooling_v2_forward::desc desc(
      training ? dnnl::prop_kind::forward_training : dnnl::prop_kind::forward_inference, p.algorithm, p.x,
      p.y, p.window.stride, p.kernel, p.window.dilation, p.window.before, p.window.after);
  return dnnl::pooling_v2_forward::primitive_desc(desc, UserScratchpad(), CpuEngine());
}

dnnl::pooling_v2_backward::primitive_desc DescribeBackward(
    const Pooling& p, const dnnl::pooling_v2_forward::primitive_desc& forward) {
  dnnl::pooling_v2_backward::desc desc(p.algorithm, p.x, p.y, p.window.stride, p.kernel, p.window.dilation,
                                       p.window.before, p.window.after);
  return dnnl::pooling_v2_backward::primitive_desc(desc, UserScratchpad(), CpuEngine(), forward);
}

// Adds the executions of one call to `executions` (when `binding` is not null) and returns its workspace in
// bytes.
using Planner = absl::StatusOr<int64_t> (*)(const program::Instruction&, const Binding*,
                                            std::vector<Execution>*);

template <bool max>
absl::StatusOr<int64_t> PlanForward(const program::Instruction& instruction, const Binding* binding,
                                    std::vector<Execution>* executions) {
  PDC_RETURN_IF_ERROR(ExpectOperands(instruction, 1, 1));
  PDC_ASSIGN_OR_RETURN(Pooling pooling, Parse(instruction, max, 0, 1));
  auto forward = DescribeForward(pooling, false);
  WorkspaceLayout layout(binding == nullptr ? nullptr : binding->workspace);
  std::byte* scratchpad = layout.Take(static_cast<int64_t>(forward.scratchpad_desc().get_size()));
  if (binding == nullptr) return layout.total();
  dnnl::engine& engine = CpuEngine();
  executions->push_back({dnnl::pooling_v2_forward(forward),
                         {{DNNL_ARG_SRC, memory(pooling.x, engine, binding->operands[0])},
                          {DNNL_ARG_DST, memory(pooling.y, engine, binding->operands[1])},
                          {DNNL_ARG_SCRATCHPAD, memory(forward.scratchpad_desc(), engine, scratchpad)}}});
  return layout.total();
}

absl::StatusOr<int64_t> PlanAvgGrad(const program::Instruction& instruction, const Binding* binding,
                                    std::vector<Execution>* executions) {
  PDC_RETURN_IF_ERROR(ExpectOperands(instruction, 1, 1));
  PDC_ASSIGN_OR_RETURN(Pooling pooling, Parse(instruction, false, 1, 0));
  auto backward = DescribeBackward(pooling, DescribeForward(pooling, true));
  WorkspaceLayout layout(binding == nullptr ? nullptr : binding->workspace);
  std::byte* scratchpad = layout.Take(static_cast<int64_t>(backward.scratchpad_desc().get_size()));
  if (binding == nullptr) return layout.total();
  dnnl::engine& engine = CpuEngine();
  executions->push_back({dnnl::pooling_v2_backward(backward),
                         {{DNNL_ARG_DIFF_DST, memory(pooling.y, engine, binding->operands[0])},
                          {DNNL_ARG_DIFF_SRC, memory(pooling.x, engine, binding->operands[1])},
                          {DNNL_ARG_SCRATCHPAD, memory(backward.scratchpad_desc(), engine, scratchpad)}}});
  return layout.total();
}

// The forward pass runs again for the places of the maxima: they are not kept between the passes of a step.
absl::StatusOr<int64_t> PlanMaxGrad(const program::Instruction& instruction, const Binding* binding,
                                    std::vector<Execution>* executions) {
  PDC_RETURN_IF_ERROR(ExpectOperands(instruction, 2, 1));
  PDC_ASSIGN_OR_RETURN(Pooling pooling, Parse(instruction, true, 2, 0));
  if (ViewOf(instruction, 1).shape != ViewOf(instruction, 2).shape || !ViewOf(instruction, 1).dense() ||
      ViewOf(instruction, 1).type != ViewOf(instruction, 2).type) {
    return CallError(instruction, absl::StrCat("x is ", ToString(ViewOf(instruction, 1)), " and dx is ",
                                               ToString(ViewOf(instruction, 2)), "; they must be alike"));
  }
  auto forward = DescribeForward(pooling, true);
  auto backward = DescribeBackward(pooling, forward);
  WorkspaceLayout layout(binding == nullptr ? nullptr : binding->workspace);
  std::byte* y = layout.Take(static_cast<int64_t>(pooling.y.get_size()));
  std::byte* places = layout.Take(static_cast<int64_t>(forward.workspace_desc().get_size()));
  std::byte* forward_scratchpad = layout.Take(static_cast<int64_t>(forward.scratchpad_desc().get_size()));
  std::byte* backward_scratchpad = layout.Take(static_cast<int64_t>(backward.scratchpad_desc().get_size()));
  if (binding == nullptr) return layout.total();
  dnnl::engine& engine = CpuEngine();
  memory workspace(forward.workspace_desc(), engine, places);
  executions->push_back(
      {dnnl::pooling_v2_forward(forward),
       {{DNNL_ARG_SRC, memory(pooling.x, engine, binding->operands[1])},
        {DNNL_ARG_DST, memory(pooling.y, engine, y)},
        {DNNL_ARG_WORKSPACE, workspace},
        {DNNL_ARG_SCRATCHPAD, memory(forward.scratchpad_desc(), engine, forward_scratchpad)}}});
  executions->push_back(
      {dnnl::pooling_v2_backward(backward),
       {{DNNL_ARG_DIFF_DST, memory(pooling.y, engine, binding->operands[0])},
        {DNNL_ARG_WORKSPACE, workspace},
        {DNNL_ARG_DIFF_SRC, memory(pooling.x, engine, binding->operands[2])},
        {DNNL_ARG_SCRATCHPAD, memory(backward.scratchpad_desc(), engine, backward_scratchpad)}}});
  return layout.total();
}

template <Planner planner>
absl::StatusOr<int64_t> Workspace(const program::Instruction& instruction, int threads) {
  Workers(threads).ApplyToLibraries();
  try {
    return planner(instruction, nullptr, nullptr);
  } catch (const dnnl::error& error) {
    return FromException(instruction, error);
  }
}

template <Planner planner>
absl::StatusOr<std::unique_ptr<Call>> Prepare(const program::Instruction& instruction,
                                              const Binding& binding) {
  binding.workers.ApplyToLibraries();
  try {
    std::vector<Execution> executions;
    PDC_RETURN_IF_ERROR(planner(instruction, &binding, &executions).status());
    return std::make_unique<PrimitiveCall>(std::move(executions), binding.workers);
  } catch (const dnnl::error& error) {
    return FromException(instruction, error);
  }
}

// One operation for each element of each window.
template <uint32_t y_operand>
double Flops(const program::Instruction& instruction) {
  absl::Span<const int64_t> kernel = program::FindIntegers(instruction, "kernel");
  return static_cast<double>(ViewOf(instruction, y_operand).elements()) * program::ElementCount(kernel);
}

PDC_REGISTER_LIBRARY_CALL(max_pool2d, "max_pool2d", AnyWorkspace<Workspace<PlanForward<true>>>,
                          (AnyPrepare<Workspace<PlanForward<true>>, Prepare<PlanForward<true>>>), Flops<1>);
PDC_REGISTER_LIBRARY_CALL(max_pool2d_grad, "max_pool2d_grad", AnyWorkspace<Workspace<PlanMaxGrad>>,
                          (AnyPrepare<Workspace<PlanMaxGrad>, Prepare<PlanMaxGrad>>), Flops<0>);
PDC_REGISTER_LIBRARY_CALL(avg_pool2d, "avg_pool2d", AnyWorkspace<Workspace<PlanForward<false>>>,
                          (AnyPrepare<Workspace<PlanForward<false>>, Prepare<PlanForward<false>>>), Flops<1>);
PDC_REGISTER_LIBRARY_CALL(avg_pool2d_grad, "avg_pool2d_grad", AnyWorkspace<Workspace<PlanAvgGrad>>,
                          (AnyPrepare<Workspace<PlanAvgGrad>, Prepare<PlanAvgGrad>>), Flops<0>);

}  // namespace
}  // namespace pdc::kernels::onednn
