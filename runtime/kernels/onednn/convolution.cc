// "conv2d", "conv2d_grad_input" and "conv2d_grad_weight": see runtime/kernels/README.md.
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/kernels/onednn/engine.h"
#include "runtime/kernels/onednn/reordered.h"
#include "runtime/kernels/onednn/widened.h"
#include "runtime/kernels/onednn/window.h"
#include "runtime/program/view.h"

namespace pdc::kernels::onednn {
namespace {

using dnnl::memory;
using program::ElementType;

// The tensors of all three calls; each call has another one as its result.
struct Convolution {
  memory::desc x, w, y, bias;        // plain
  memory::desc x_any, w_any, y_any;  // what the primitive may choose
  bool has_bias = false;
  uint32_t x_operand, w_operand, y_operand, bias_operand = 2;
  Window window;
};

// Whether oneDNN chooses the layouts (blocks of channels, with reorders around the convolution) or takes NCHW
// as it is. Measured with oneDNN 2.6 on one core of a Xeon with AMX, reorders included, GFLOP/s plain against
// blocked:
//   3x3, 128 channels, 28x28: forward 16/154, grad_input 19/146, grad_weight 16/149
//   1x1, 64 channels, 56x56: 163/89, 169/90, 125/85; 256 to 1024 channels, 14x14: 138/125, 121/126, 148/113
//   7x7 with stride 2, 3 channels, 112x112: 62/139, 60/4, 53/90; 5x5, 6 channels, 14x14: 21/86, 18/44, 18/40
// A 1x1 convolution is a matrix product of NCHW already; and nothing fills a block of a gradient of 3
// channels.
bool PrefersBlocked(const View& x, const View& w, const Window& window, int64_t groups, bool grad_input) {
  bool matrix_product = groups == 1 && w.shape[2] == 1 && w.shape[3] == 1 && window.stride[0] == 1 &&
                        window.stride[1] == 1 && window.before == dnnl::memory::dims{0, 0} &&
                        window.after == dnnl::memory::dims{0, 0};
  if (matrix_product) return false;
  return !(grad_input && groups == 1 && x.shape[1] <= 4);
}

absl::Status CheckTensors(const program::Instruction& instruction, const View& x, const View& w,
                          const View& y, int64_t groups) {
  bool fits = x.shape.size() == 4 && w.shape.size() == 4 && y.shape.size() == 4 && groups >= 1 &&
              x.shape[0] == y.shape[0] && w.shape[0] == y.shape[1] && w.shape[1] * groups == x.shape[1] &&
              w.shape[0] % groups == 0;
  if (!fits) {
    return CallError(instruction,
                     absl::StrCat("the shapes do not fit x[N,C,H,W], w[O,C/groups,KH,KW], y[N,O,OH,OW] with ",
                                  groups, " groups: ", ToString(x), ", ", ToString(w), ", ", ToString(y)));
  }
  for (const View* view : {&x, &w, &y}) {
    if (!view->dense()) return CallUnsupported(instruction, absl::StrCat("the view ", ToString(*view)));
    if (view->elements() == 0)
      return CallUnsupported(instruction, absl::StrCat("the empty tensor ", ToString(*view)));
    if (view->type != x.type || (x.type != ElementType::kF32 && x.type != ElementType::kBF16)) {
      return CallUnsupported(instruction, absl::StrCat("element types other than all f32 or all bf16: ",
                                                       ToString(x), ", ", ToString(w), ", ", ToString(y)));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Convolution> Parse(const program::Instruction& instruction, uint32_t x_operand,
                                  uint32_t w_operand, uint32_t y_operand) {
  bool grad_input = x_operand == 2;  // conv2d_grad_input alone has x last
  Convolution result;
  result.x_operand = x_operand;
  result.w_operand = w_operand;
  result.y_operand = y_operand;
  View x = ViewOf(instruction, x_operand), w = ViewOf(instruction, w_operand),
       y = ViewOf(instruction, y_operand);
  int64_t groups = program::FindInteger(instruction, "groups", 1);
  PDC_RETURN_IF_ERROR(CheckTensors(instruction, x, w, y, groups));
  PDC_ASSIGN_OR_RETURN(result.window,
                       ReadWindow(instruction, x.shape.subspan(2), w.shape.subspan(2), y.shape.subspan(2)));
  result.x = DenseDesc(x.shape, x.type);
  result.y = DenseDesc(y.shape, y.type);
  std::vector<int64_t> grouped(w.shape.begin(), w.shape.end());
  if (groups > 1) {
    grouped[0] /= groups;
    grouped.insert(grouped.begin(), groups);
  }
  result.w = DenseDesc(grouped, w.type);
  if (PrefersBlocked(x, w, result.window, groups, grad_input)) {
    auto any = [](const memory::desc& plain) {
      return memory::desc(plain.dims(), plain.data_type(), memory::format_tag::any);
    };
    result.x_any = any(result.x);
    result.w_any = any(result.w);
    result.y_any = any(result.y);
  } else {
    result.x_any = result.x;
    result.w_any = result.w;
    result.y_any = result.y;
  }
  return result;
}

dnnl::convolution_forward::primitive_desc DescribeForward(const Convolution& c) {
  const Window& window = c.window;
  auto kind = dnnl::prop_kind::forward_training;
  auto algorithm = dnnl::algorithm::convolution_direct;
  auto desc =
      c.has_bias
          ? dnnl::convolution_forward::desc(kind, algorithm, c.x_any, c.w_any, c.bias, c.y_any, window.stride,
                                            window.dilation, window.before, window.after)
          : dnnl::convolution_forward::desc(kind, algorithm, c.x_any, c.w_any, c.y_any, window.stride,
                                            window.dilation, window.before, window.after);
  return dnnl::convolution_forward::primitive_desc(desc, UserScratchpad(), CpuEngine());
}

// The address of an operand, or null in a query.
std::byte* Address(const Binding* binding, uint32_t operand) {
  return binding == nullptr ? nullptr : binding->operands[operand];
}

// One call: the primitive's descriptor with its ports. `Make` returns them for a Convolution.
struct Plan {
  dnnl::primitive_desc_base description;
  std::vector<Port> ports;
  dnnl::primitive primitive;  // empty in a query
};

template <typename PrimitiveDesc, typename Primitive>
Plan Finish(const PrimitiveDesc& description, std::vector<Port> ports, const Binding* binding) {
  return {description, std::move(ports), binding == nullptr ? dnnl::primitive() : Primitive(description)};
}

absl::StatusOr<Plan> PlanForward(const program::Instruction& instruction, const Binding* binding) {
  bool has_bias = program::Size(instruction.operands()) == 4;
  PDC_RETURN_IF_ERROR(ExpectOperands(instruction, has_bias ? 3 : 2, 1));
  PDC_ASSIGN_OR_RETURN(Convolution c, Parse(instruction, 0, 1, has_bias ? 3 : 2));
  c.has_bias = has_bias;
  if (has_bias) {
    View bias = ViewOf(instruction, 2);
    if (bias.shape.size() != 1 || bias.shape[0] != ViewOf(instruction, 1).shape[0] || !bias.dense() ||
        (bias.type != ElementType::kF32 && bias.type != ViewOf(instruction, 0).type)) {
      return CallError(instruction, absl::StrCat("the bias ", ToString(bias), " does not fit"));
    }
    c.bias = DenseDesc(bias.shape, bias.type);
  }
  auto description = DescribeForward(c);
  std::vector<Port> ports{
      {DNNL_ARG_SRC, c.x, description.src_desc(), false, Address(binding, c.x_operand)},
      {DNNL_ARG_WEIGHTS, c.w, description.weights_desc(), false, Address(binding, c.w_operand)},
      {DNNL_ARG_DST, c.y, description.dst_desc(), true, Address(binding, c.y_operand)}};
  if (has_bias) ports.push_back({DNNL_ARG_BIAS, c.bias, c.bias, false, Address(binding, c.bias_operand)});
  return Finish<decltype(description), dnnl::convolution_forward>(description, std::move(ports), binding);
}

absl::StatusOr<Plan> PlanGradInput(const program::Instruction& instruction, const Binding* binding) {
  PDC_RETURN_IF_ERROR(ExpectOperands(instruction, 2, 1));
  PDC_ASSIGN_OR_RETURN(Convolution c, Parse(instruction, 2, 1, 0));
  const Window& window = c.window;
  dnnl::convolution_backward_data::desc desc(dnnl::algorithm::convolution_direct, c.x_any, c.w_any, c.y_any,
                                             window.stride, window.dilation, window.before, window.after);
  dnnl::convolution_backward_data::primitive_desc description(desc, UserScratchpad(), CpuEngine(),
                                                              DescribeForward(c));
  std::vector<Port> ports{
      {DNNL_ARG_DIFF_DST, c.y, description.diff_dst_desc(), false, Address(binding, c.y_operand)},
      {DNNL_ARG_WEIGHTS, c.w, description.weights_desc(), false, Address(binding, c.w_operand)},
      {DNNL_ARG_DIFF_SRC, c.x, description.diff_src_desc(), true, Address(binding, c.x_operand)}};
  return Finish<decltype(description), dnnl::convolution_backward_data>(description, std::move(ports),
                                                                        binding);
}

absl::StatusOr<Plan> PlanGradWeight(const program::Instruction& instruction, const Binding* binding) {
  PDC_RETURN_IF_ERROR(ExpectOperands(instruction, 2, 1));
  PDC_ASSIGN_OR_RETURN(Convolution c, Parse(instruction, 0, 2, 1));
  const Window& window = c.window;
  dnnl::convolution_backward_weights::desc desc(dnnl::algorithm::convolution_direct, c.x_any, c.w_any,
                                                c.y_any, window.stride, window.dilation, window.before,
                                                window.after);
  dnnl::convolution_backward_weights::primitive_desc description(desc, UserScratchpad(), CpuEngine(),
                                                                 DescribeForward(c));
  std::vector<Port> ports{
      {DNNL_ARG_SRC, c.x, description.src_desc(), false, Address(binding, c.x_operand)},
      {DNNL_ARG_DIFF_DST, c.y, description.diff_dst_desc(), false, Address(binding, c.y_operand)},
      {DNNL_ARG_DIFF_WEIGHTS, c.w, description.diff_weights_desc(), true, Address(binding, c.w_operand)}};
  return Finish<decltype(description), dnnl::convolution_backward_weights>(description, std::move(ports),
                                                                           binding);
}

using Planner = absl::StatusOr<Plan> (*)(const program::Instruction&, const Binding*);

template <Planner planner>
absl::StatusOr<int64_t> Workspace(const program::Instruction& instruction, int threads) {
  Workers(threads).ApplyToLibraries();
  try {
    PDC_ASSIGN_OR_RETURN(Plan plan, planner(instruction, nullptr));
    return ReorderedWorkspace(plan.ports, plan.description.scratchpad_desc());
  } catch (const dnnl::error& error) {
    return FromException(instruction, error);
  }
}

template <Planner planner>
absl::StatusOr<std::unique_ptr<Call>> Prepare(const program::Instruction& instruction,
                                              const Binding& binding) {
  binding.workers.ApplyToLibraries();
  try {
    PDC_ASSIGN_OR_RETURN(Plan plan, planner(instruction, &binding));
    return BuildReordered(plan.primitive, plan.ports, plan.description.scratchpad_desc(), binding);
  } catch (const dnnl::error& error) {
    return FromException(instruction, error);
  }
}

// Two operations for each element of the window at each element of the result of conv2d.
template <uint32_t x_operand, uint32_t w_operand>
double Flops(const program::Instruction& instruction) {
  uint32_t last = program::Size(instruction.operands()) - 1;
  uint32_t y_operand = x_operand == 0 && w_operand == 1 ? last : 3 - x_operand - w_operand;
  View w = ViewOf(instruction, w_operand), y = ViewOf(instruction, y_operand);
  return 2.0 * y.elements() * w.shape[1] * w.shape[2] * w.shape[3];
}

PDC_REGISTER_LIBRARY_CALL(conv2d, "conv2d", AnyWorkspace<Workspace<PlanForward>>,
                          (AnyPrepare<Workspace<PlanForward>, Prepare<PlanForward>>), Flops<0, 1>);
PDC_REGISTER_LIBRARY_CALL(conv2d_grad_input, "conv2d_grad_input", AnyWorkspace<Workspace<PlanGradInput>>,
                          (AnyPrepare<Workspace<PlanGradInput>, Prepare<PlanGradInput>>), Flops<2, 1>);
PDC_REGISTER_LIBRARY_CALL(conv2d_grad_weight, "conv2d_grad_weight", AnyWorkspace<Workspace<PlanGradWeight>>,
                          (AnyPrepare<Workspace<PlanGradWeight>, Prepare<PlanGradWeight>>), Flops<0, 2>);

}  // namespace
}  // namespace pdc::kernels::onednn
