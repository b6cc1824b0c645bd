#include "runtime/kernels/onednn/widened.h"

#include <algorithm>
#include <dnnl.hpp>
#include <numeric>
#include <utility>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/kernels/native/bf16.h"
#include "runtime/kernels/onednn/engine.h"
#include "runtime/program/view.h"

namespace pdc::kernels::onednn {
namespace {

using program::Access;
using program::ElementType;

bool ComputesInBf16() {
  constexpr auto needed = static_cast<unsigned>(dnnl::cpu_isa::avx512_core);
  return (static_cast<unsigned>(dnnl::get_effective_cpu_isa()) & needed) == needed;
}

// One dimension that a bf16 view and its copy in f32 are walked along.
struct Walk {
  int64_t size, narrow, wide;  // elements, and the steps of the two
};

// An operand, and where it lies in f32.
struct Part {
  std::vector<Walk> walk;  // outermost first; at least one
  std::vector<int64_t> strides;
  int64_t elements = 1;  // of the copy
};

// Compact, in the order in which the view lies in memory, so that both are walked in order. Dimensions of step 0,
// along which all share an element, keep it.
Part MakePart(const View& view) {
  Part part;
  std::vector<size_t> order(view.shape.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::make_pair(-view.strides[a], a) < std::make_pair(-view.strides[b], b);
  });
  part.strides.resize(order.size());
  for (size_t i = order.size(); i-- > 0;) {
    const size_t d = order[i];
    const bool shared = view.strides[d] == 0 && view.shape[d] > 1;
    part.strides[d] = shared ? 0 : part.elements;
    if (!shared) part.elements *= view.shape[d];
  }
  for (size_t d : order) {
    if (part.strides[d] == 0 || view.shape[d] == 1) continue;
    const Walk inner{view.shape[d], view.strides[d], part.strides[d]};
    if (!part.walk.empty() && part.walk.back().narrow == inner.narrow * inner.size) {
      part.walk.back() = {part.walk.back().size * inner.size, inner.narrow, inner.wide};
    } else {
      part.walk.push_back(inner);
    }
  }
  if (part.walk.empty()) part.walk.push_back({part.elements, 1, 1});
  return part;
}

// Calls `row(narrow element, wide element)` for each innermost row, the rows split over the workers.
template <typename Row>
void ForEachRow(const Part& part, const Workers& workers, const Row& row) {
  int64_t rows = 1;
  for (size_t i = 0; i + 1 < part.walk.size(); ++i) rows *= part.walk[i].size;
  workers.ParallelFor(rows, [&](IndexRange range) {
    for (int64_t i = range.begin; i < range.end; ++i) {
      int64_t rest = i, narrow = 0, wide = 0;
      for (size_t d = part.walk.size() - 1; d-- > 0;) {
        const int64_t position = rest % part.walk[d].size;
        rest /= part.walk[d].size;
        narrow += position * part.walk[d].narrow;
        wide += position * part.walk[d].wide;
      }
      row(narrow, wide);
    }
  });
}

void WidenPart(const Part& part, const uint16_t* narrow, float* wide, const Workers& workers) {
  const Walk inner = part.walk.back();
  ForEachRow(part, workers, [&](int64_t from, int64_t to) {
    if (inner.narrow == 1) {
      for (int64_t i = 0; i < inner.size; ++i) wide[to + i] = native::Bf16ToFloat(narrow[from + i]);
    } else {
      for (int64_t i = 0; i < inner.size; ++i) {
        wide[to + i] = native::Bf16ToFloat(narrow[from + i * inner.narrow]);
      }
    }
  });
}

void NarrowPart(const Part& part, const float* wide, uint16_t* narrow, const Workers& workers) {
  const Walk inner = part.walk.back();
  ForEachRow(part, workers, [&](int64_t to, int64_t from) {
    if (inner.narrow == 1) {
      for (int64_t i = 0; i < inner.size; ++i) narrow[to + i] = native::FloatToBf16(wide[from + i]);
    } else {
      for (int64_t i = 0; i < inner.size; ++i) {
        narrow[to + i * inner.narrow] = native::FloatToBf16(wide[from + i]);
      }
    }
  });
}

// `instruction` in f32.
struct Widening {
  flatbuffers::FlatBufferBuilder buffer;
  std::vector<std::pair<uint32_t, Part>> parts;  // by operand

  const program::Instruction& instruction() const {
    return *flatbuffers::GetRoot<program::Instruction>(buffer.GetBufferPointer());
  }
};

std::unique_ptr<Widening> Widen(const program::Instruction& instruction) {
  auto widening = std::make_unique<Widening>();
  program::InstructionT copy;
  instruction.UnPackTo(&copy);
  for (uint32_t i = 0; i < copy.operands.size(); ++i) {
    program::OperandT& operand = *copy.operands[i];
    if (operand.element_type != ElementType::kBF16) continue;
    Part part = MakePart(ViewOf(instruction, i));
    operand.element_type = ElementType::kF32;
    operand.offset_elements = 0;
    operand.strides = part.strides;
    widening->parts.emplace_back(i, std::move(part));
  }
  widening->buffer.Finish(program::Instruction::Pack(widening->buffer, &copy));
  return widening;
}

class WidenedCall final : public Call {
 public:
  // `wide`: by part.
  WidenedCall(std::unique_ptr<Widening> widening, std::vector<std::byte*> narrow, std::vector<float*> wide,
              Workers workers)
      : widening_(std::move(widening)),
        narrow_(std::move(narrow)),
        wide_(std::move(wide)),
        workers_(workers),
        accumulates_(program::FindInteger(widening_->instruction(), "accumulate", 0) != 0) {}

  void set_inner(std::unique_ptr<Call> inner) { inner_ = std::move(inner); }

  absl::Status Run() override {
    for (size_t i = 0; i < wide_.size(); ++i) {
      const auto& [operand, part] = widening_->parts[i];
      if (accumulates_ || AccessOf(operand) != Access::kWrite) WidenPart(part, Narrow(operand), wide_[i], workers_);
    }
    PDC_RETURN_IF_ERROR(inner_->Run());
    for (size_t i = 0; i < wide_.size(); ++i) {
      const auto& [operand, part] = widening_->parts[i];
      if (AccessOf(operand) != Access::kRead) NarrowPart(part, wide_[i], Narrow(operand), workers_);
    }
    return absl::OkStatus();
  }

 private:
  Access AccessOf(uint32_t operand) const {
    return widening_->instruction().operands()->Get(operand)->access();
  }
  uint16_t* Narrow(uint32_t operand) const { return reinterpret_cast<uint16_t*>(narrow_[operand]); }

  std::unique_ptr<Widening> widening_;
  std::unique_ptr<Call> inner_;
  std::vector<std::byte*> narrow_;  // by operand
  std::vector<float*> wide_;        // by part
  Workers workers_;
  bool accumulates_;  // adds to what it writes
};

}  // namespace

bool NeedsWidening(const program::Instruction& instruction) {
  static const bool computes_in_bf16 = ComputesInBf16();
  if (computes_in_bf16) return false;
  for (uint32_t i = 0; i < program::Size(instruction.operands()); ++i) {
    if (ViewOf(instruction, i).type == ElementType::kBF16) return true;
  }
  return false;
}

absl::StatusOr<int64_t> WidenedWorkspace(const program::Instruction& instruction, int threads,
                                         WorkspaceFunction workspace) {
  const std::unique_ptr<Widening> widening = Widen(instruction);
  WorkspaceLayout layout(nullptr);
  for (const auto& [operand, part] : widening->parts) layout.Take(part.elements * 4);
  PDC_ASSIGN_OR_RETURN(const int64_t inner, workspace(widening->instruction(), threads));
  layout.Take(inner);
  return layout.total();
}

absl::StatusOr<std::unique_ptr<Call>> PrepareWidened(const program::Instruction& instruction,
                                                     const Binding& binding, WorkspaceFunction workspace,
                                                     PrepareFunction prepare) {
  std::unique_ptr<Widening> widening = Widen(instruction);
  const program::Instruction& wide_instruction = widening->instruction();
  PDC_ASSIGN_OR_RETURN(const int64_t inner_bytes, workspace(wide_instruction, binding.workers.threads()));
  WorkspaceLayout layout(binding.workspace);
  Binding inner = binding;
  std::vector<float*> wide;
  for (const auto& [operand, part] : widening->parts) {
    inner.operands[operand] = layout.Take(part.elements * 4);
    wide.push_back(reinterpret_cast<float*>(inner.operands[operand]));
  }
  inner.workspace = layout.Take(inner_bytes);
  inner.workspace_bytes = inner_bytes;
  auto call =
      std::make_unique<WidenedCall>(std::move(widening), binding.operands, std::move(wide), binding.workers);
  PDC_ASSIGN_OR_RETURN(std::unique_ptr<Call> inner_call, prepare(wide_instruction, inner));
  call->set_inner(std::move(inner_call));
  return call;
}

}  // namespace pdc::kernels::onednn
