// "expert_slots", "dispatch", "combine" and "combine_grad_gates": see runtime/kernels/README.md.
#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/kernels/library.h"
#include "runtime/kernels/native/bf16.h"
#include "runtime/program/view.h"

namespace pdc::kernels::native {
namespace {

using program::ElementType;

constexpr int64_t kMostExperts = 1 << 20;

inline float Load(float value) { return value; }
inline float Load(uint16_t bits) { return Bf16ToFloat(bits); }
inline void Store(float value, float* to) { *to = value; }
inline void Store(float value, uint16_t* to) { *to = FloatToBf16(value); }

bool IsFloat(ElementType type) { return type == ElementType::kF32 || type == ElementType::kBF16; }

// Which expert each token chose gives it the expert's next free place, choice by choice.
class ExpertSlotsCall : public Call {
 public:
  ExpertSlotsCall(const View& indices, const Binding& binding, int64_t experts, int64_t capacity)
      : groups_(indices.shape[0]),
        tokens_(indices.shape[1]),
        choices_(indices.shape[2]),
        experts_(experts),
        capacity_(capacity),
        indices_(reinterpret_cast<const int32_t*>(binding.operands[0])),
        slots_(reinterpret_cast<int32_t*>(binding.operands[1])),
        used_(experts) {}

  absl::Status Run() override {
    for (int64_t g = 0; g < groups_; ++g) {
      std::fill(used_.begin(), used_.end(), 0);
      for (int64_t choice = 0; choice < choices_; ++choice) {
        for (int64_t token = 0; token < tokens_; ++token) {
          int64_t at = (g * tokens_ + token) * choices_ + choice;
          int32_t expert = indices_[at];
          if (expert < 0 || expert >= experts_) return BadExpert(at);
          int64_t place = used_[expert]++;
          slots_[at] = place < capacity_ ? static_cast<int32_t>(expert * capacity_ + place) : -1;
        }
      }
    }
    return absl::OkStatus();
  }

 private:
  absl::Status BadExpert(int64_t at) const {
    return absl::OutOfRangeError(absl::StrCat("expert_slots: expert ", indices_[at], " at position ", at,
                                              " is not one of 0 to ", experts_ - 1,
                                              "; are the gates not finite?"));
  }

  int64_t groups_, tokens_, choices_, experts_, capacity_;
  const int32_t* indices_;
  int32_t* slots_;
  std::vector<int64_t> used_;
};

absl::StatusOr<std::unique_ptr<Call>> PrepareExpertSlots(const program::Instruction& instruction,
                                                         const Binding& binding) {
  PDC_RETURN_IF_ERROR(ExpectOperands(instruction, 1, 1));
  View indices = ViewOf(instruction, 0), slots = ViewOf(instruction, 1);
  int64_t experts = program::FindInteger(instruction, "experts", 0);
  int64_t capacity = program::FindInteger(instruction, "capacity", 0);
  if (indices.shape.size() != 3 || indices.shape != slots.shape || experts < 1 || capacity < 1) {
    return CallError(instruction, absl::StrCat("expected experts[G,S,K] and slots of that shape, found ",
                                               ToString(indices), ", ", ToString(slots)));
  }
  // What counts the tokens of each expert must not exhaust memory, and slots are i32.
  if (experts > kMostExperts || experts > std::numeric_limits<int32_t>::max() / capacity)
    return CallUnsupported(instruction, absl::StrCat("more than ", kMostExperts, " experts, or more than 2^31 - 1 places of all"));
  if (indices.type != ElementType::kI32 || slots.type != ElementType::kI32)
    return CallUnsupported(instruction, "types other than i32");
  if (!indices.dense() || !slots.dense()) return CallUnsupported(instruction, "a view that is not dense");
  return std::make_unique<ExpertSlotsCall>(indices, binding, experts, capacity);
}

// tokens[G, S, D], rows[G, N, D] and, for each token, its K slots among the rows and what they weigh.
struct Routing {
  int64_t groups, tokens, choices, rows, width;
  const int32_t* slots;
  const int64_t* start;  // of a part of the rows, the first; null: all are here

  int64_t First() const { return start ? *start : 0; }
  // The row here of a token's choice, or -1.
  int64_t Row(int64_t choice, int64_t first) const {
    int64_t row = slots[choice] < 0 ? -1 : slots[choice] - first;
    return row >= 0 && row < rows ? row : -1;
  }
};

// The operands of a call by what they are; -1: it has none of this kind.
struct Operands {
  int tokens, rows, slots, gates, start;
};

absl::StatusOr<Routing> CheckRouting(const program::Instruction& instruction, const Operands& operands,
                                     const Binding& binding) {
  View tokens = ViewOf(instruction, operands.tokens), rows = ViewOf(instruction, operands.rows),
       slots = ViewOf(instruction, operands.slots);
  bool fits = tokens.shape.size() == 3 && rows.shape.size() == 3 && slots.shape.size() == 3 &&
              tokens.shape[0] == rows.shape[0] && tokens.shape[2] == rows.shape[2] &&
              slots.shape.subspan(0, 2) == tokens.shape.subspan(0, 2);
  bool dense = tokens.dense() && rows.dense() && slots.dense();
  bool typed = IsFloat(tokens.type) && tokens.type == rows.type && slots.type == ElementType::kI32;
  if (operands.gates >= 0) {
    View gates = ViewOf(instruction, operands.gates);
    fits = fits && gates.shape == slots.shape;
    dense = dense && gates.dense();
    typed = typed && gates.type == tokens.type;
  }
  if (operands.start >= 0) {
    View start = ViewOf(instruction, operands.start);
    fits = fits && start.type == ElementType::kI64 && start.elements() == 1;
  }
  if (!fits) {
    return CallError(
        instruction,
        absl::StrCat("the shapes do not fit tokens[G,S,D], rows[G,N,D], slots and gates[G,S,K]: ",
                     ToString(tokens), ", ", ToString(rows), ", ", ToString(slots)));
  }
  if (!dense) return CallUnsupported(instruction, "a view that is not dense");
  if (!typed) return CallUnsupported(instruction, "other types than f32 or bf16 throughout, and i32 slots");
  Routing routing{tokens.shape[0], tokens.shape[1], slots.shape[2], rows.shape[1],
                  tokens.shape[2], nullptr,         nullptr};
  routing.slots = reinterpret_cast<const int32_t*>(binding.operands[operands.slots]);
  if (operands.start >= 0) routing.start = reinterpret_cast<const int64_t*>(binding.operands[operands.start]);
  return routing;
}

// Runs `columns(group, first, end)` over all columns of all groups, shared by the threads.
template <typename Columns>
void ForColumns(const Workers& workers, const Routing& routing, const Columns& columns) {
  workers.ParallelFor(routing.groups * routing.width, [&](IndexRange range) {
    for (int64_t at = range.begin; at < range.end;) {
      int64_t group = at / routing.width, first = at % routing.width;
      int64_t end = std::min(routing.width, first + range.end - at);
      columns(group, first, end);
      at += end - first;
    }
  });
}

// rows[slot] += gate * token, in the order of the tokens; a slot has one token unless two choices agree, so sums
// are rounded as they are stored.
template <typename T>
class DispatchCall : public Call {
 public:
  DispatchCall(const Routing& routing, const T* tokens, const T* gates, T* rows, Workers workers)
      : routing_(routing), tokens_(tokens), gates_(gates), rows_(rows), workers_(workers) {}

  absl::Status Run() override {
    const Routing& r = routing_;
    int64_t start = r.First();
    ForColumns(workers_, r, [&](int64_t group, int64_t first, int64_t end) {
      T* rows = rows_ + group * r.rows * r.width;
      for (int64_t row = 0; row < r.rows; ++row)
        std::memset(rows + row * r.width + first, 0, (end - first) * sizeof(T));
      for (int64_t token = group * r.tokens; token < (group + 1) * r.tokens; ++token) {
        for (int64_t choice = token * r.choices; choice < (token + 1) * r.choices; ++choice) {
          int64_t row = r.Row(choice, start);
          if (row < 0) continue;
          float gate = gates_ ? Load(gates_[choice]) : 1.0f;
          T* to = rows + row * r.width;
          for (int64_t d = first; d < end; ++d)
            Store(Load(to[d]) + gate * Load(tokens_[token * r.width + d]), &to[d]);
        }
      }
    });
    return absl::OkStatus();
  }

 private:
  Routing routing_;
  const T* tokens_;
  const T* gates_;
  T* rows_;
  Workers workers_;
};

template <typename T>
class CombineCall : public Call {
 public:
  CombineCall(const Routing& routing, const T* rows, const T* gates, T* tokens, Workers workers)
      : routing_(routing), rows_(rows), gates_(gates), tokens_(tokens), workers_(workers) {}

  absl::Status Run() override {
    const Routing& r = routing_;
    int64_t start = r.First();
    ForColumns(workers_, r, [&](int64_t group, int64_t first, int64_t end) {
      const T* rows = rows_ + group * r.rows * r.width;
      for (int64_t token = group * r.tokens; token < (group + 1) * r.tokens; ++token) {
        for (int64_t d = first; d < end; ++d) {
          float sum = 0;
          for (int64_t choice = token * r.choices; choice < (token + 1) * r.choices; ++choice) {
            int64_t row = r.Row(choice, start);
            if (row >= 0) sum += Load(gates_[choice]) * Load(rows[row * r.width + d]);
          }
          Store(sum, &tokens_[token * r.width + d]);
        }
      }
    });
    return absl::OkStatus();
  }

 private:
  Routing routing_;
  const T* rows_;
  const T* gates_;
  T* tokens_;
  Workers workers_;
};

// gates[token, choice] = <tokens[token], rows[slot]>.
template <typename T>
class CombineGradGatesCall : public Call {
 public:
  CombineGradGatesCall(const Routing& routing, const T* tokens, const T* rows, T* gates, Workers workers)
      : routing_(routing), tokens_(tokens), rows_(rows), gates_(gates), workers_(workers) {}

  absl::Status Run() override {
    const Routing& r = routing_;
    int64_t start = r.First();
    workers_.ParallelFor(r.groups * r.tokens * r.choices, [&](IndexRange range) {
      for (int64_t choice = range.begin; choice < range.end; ++choice) {
        int64_t token = choice / r.choices, row = r.Row(choice, start);
        float sum = 0;
        if (row >= 0) {
          const T* from = rows_ + (token / r.tokens * r.rows + row) * r.width;
          for (int64_t d = 0; d < r.width; ++d) sum += Load(tokens_[token * r.width + d]) * Load(from[d]);
        }
        Store(sum, &gates_[choice]);
      }
    });
    return absl::OkStatus();
  }

 private:
  Routing routing_;
  const T* tokens_;
  const T* rows_;
  T* gates_;
  Workers workers_;
};

// Reads without the optional ones, then the start of a part if there is one more, then the result.
absl::StatusOr<int> StartOperand(const program::Instruction& instruction, uint32_t reads) {
  bool part = program::Size(instruction.operands()) == reads + 2;
  PDC_RETURN_IF_ERROR(ExpectOperands(instruction, part ? reads + 1 : reads, 1));
  return part ? static_cast<int>(reads) : -1;
}

template <template <typename> class CallT>
std::unique_ptr<Call> MakeCall(ElementType type, const Routing& routing, Workers workers, std::byte* a,
                               std::byte* b, std::byte* result) {
  auto make = [&](auto* element) -> std::unique_ptr<Call> {
    using T = std::remove_pointer_t<decltype(element)>;
    return std::make_unique<CallT<T>>(routing, reinterpret_cast<const T*>(a), reinterpret_cast<const T*>(b),
                                      reinterpret_cast<T*>(result), workers);
  };
  if (type == ElementType::kF32) return make(static_cast<float*>(nullptr));
  return make(static_cast<uint16_t*>(nullptr));
}

absl::StatusOr<std::unique_ptr<Call>> PrepareDispatch(const program::Instruction& instruction,
                                                      const Binding& binding) {
  bool gates = program::FindInteger(instruction, "gates", 0) != 0;
  PDC_ASSIGN_OR_RETURN(int start, StartOperand(instruction, gates ? 3 : 2));
  int result = static_cast<int>(program::Size(instruction.operands())) - 1;
  PDC_ASSIGN_OR_RETURN(Routing routing,
                       CheckRouting(instruction, {0, result, 1, gates ? 2 : -1, start}, binding));
  return MakeCall<DispatchCall>(ViewOf(instruction, 0).type, routing, binding.workers, binding.operands[0],
                                gates ? binding.operands[2] : nullptr, binding.operands[result]);
}

absl::StatusOr<std::unique_ptr<Call>> PrepareCombine(const program::Instruction& instruction,
                                                     const Binding& binding) {
  PDC_ASSIGN_OR_RETURN(int start, StartOperand(instruction, 3));
  int result = static_cast<int>(program::Size(instruction.operands())) - 1;
  PDC_ASSIGN_OR_RETURN(Routing routing, CheckRouting(instruction, {result, 0, 1, 2, start}, binding));
  return MakeCall<CombineCall>(ViewOf(instruction, 0).type, routing, binding.workers, binding.operands[0],
                               binding.operands[2], binding.operands[result]);
}

absl::StatusOr<std::unique_ptr<Call>> PrepareCombineGradGates(const program::Instruction& instruction,
                                                              const Binding& binding) {
  PDC_ASSIGN_OR_RETURN(int start, StartOperand(instruction, 3));
  int result = static_cast<int>(program::Size(instruction.operands())) - 1;
  PDC_ASSIGN_OR_RETURN(Routing routing, CheckRouting(instruction, {0, 1, 2, result, start}, binding));
  return MakeCall<CombineGradGatesCall>(ViewOf(instruction, 0).type, routing, binding.workers,
                                        binding.operands[0], binding.operands[1], binding.operands[result]);
}

// A multiplication and an addition for each choice of each token.
double RoutingFlops(const program::Instruction& instruction, uint32_t width_of, uint32_t slots) {
  View wide = ViewOf(instruction, width_of);
  return 2.0 * static_cast<double>(ViewOf(instruction, slots).elements()) *
         static_cast<double>(wide.shape[2]);
}
double DispatchFlops(const program::Instruction& instruction) { return RoutingFlops(instruction, 0, 1); }
double GradGatesFlops(const program::Instruction& instruction) { return RoutingFlops(instruction, 0, 2); }

PDC_REGISTER_LIBRARY_CALL(expert_slots, "expert_slots", nullptr, PrepareExpertSlots, nullptr);
PDC_REGISTER_LIBRARY_CALL(dispatch, "dispatch", nullptr, PrepareDispatch, DispatchFlops);
PDC_REGISTER_LIBRARY_CALL(combine, "combine", nullptr, PrepareCombine, DispatchFlops);
PDC_REGISTER_LIBRARY_CALL(combine_grad_gates, "combine_grad_gates", nullptr, PrepareCombineGradGates,
                          GradGatesFlops);

}  // namespace
}  // namespace pdc::kernels::native
