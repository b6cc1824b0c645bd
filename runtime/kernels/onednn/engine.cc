#include "runtime/kernels/onednn/engine.h"

#include "absl/strings/str_cat.h"
#include "runtime/program/view.h"

namespace pdc::kernels::onednn {

using dnnl::memory;

dnnl::engine& CpuEngine() {
  // Never destroyed: primitives of static lifetime in oneDNN's cache refer to it.
  static auto* engine = new dnnl::engine(dnnl::engine::kind::cpu, 0);
  return *engine;
}

memory::data_type DataType(program::ElementType type) {
  switch (type) {
    case program::ElementType::kF32:
      return memory::data_type::f32;
    case program::ElementType::kBF16:
      return memory::data_type::bf16;
    case program::ElementType::kF16:
      return memory::data_type::f16;
    case program::ElementType::kI32:
      return memory::data_type::s32;
    case program::ElementType::kI8:
      return memory::data_type::s8;
    case program::ElementType::kU8:
      return memory::data_type::u8;
    default:
      return memory::data_type::undef;
  }
}

memory::desc DenseDesc(absl::Span<const int64_t> shape, program::ElementType type) {
  memory::dims dims(shape.begin(), shape.end()), strides(shape.size());
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= shape[i];
  }
  return memory::desc(dims, DataType(type), strides);
}

dnnl::primitive_attr UserScratchpad() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

absl::Status FromException(const program::Instruction& instruction, const dnnl::error& error) {
  std::string message =
      absl::StrCat(std::string(program::Text(instruction.target())), ": oneDNN: ", error.what());
  if (error.status == dnnl_unimplemented) return absl::UnimplementedError(message);
  return absl::InternalError(message);
}

absl::Status PrimitiveCall::Run() {
  workers_.ApplyToLibraries();
  try {
    for (const Execution& execution : executions_) execution.primitive.execute(stream_, execution.arguments);
    stream_.wait();
  } catch (const dnnl::error& error) {
    return absl::InternalError(absl::StrCat("oneDNN: ", error.what()));
  }
  return absl::OkStatus();
}

}  // namespace pdc::kernels::onednn
