#include "runtime/kernels/reference/reference.h"

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "runtime/kernels/library.h"
#include "runtime/kernels/native/bf16.h"
#include "runtime/program/view.h"

namespace pdc::kernels::reference {
namespace {

using program::ElementType;
using Index = std::vector<int64_t>;

// An operand as a function of an index.
class Tensor {
 public:
  Tensor(const program::Instruction& instruction, uint32_t operand, const std::vector<std::byte*>& addresses)
      : view_(ViewOf(instruction, operand)), data_(addresses[operand]) {}

  absl::Span<const int64_t> shape() const { return view_.shape; }

  double Get(const Index& index) const {
    int64_t at = Offset(index);
    if (view_.type == ElementType::kF32) return reinterpret_cast<const float*>(data_)[at];
    if (view_.type == ElementType::kI32) return reinterpret_cast<const int32_t*>(data_)[at];
    return native::Bf16ToFloat(reinterpret_cast<const uint16_t*>(data_)[at]);
  }

  void Set(const Index& index, double value) const {
    int64_t at = Offset(index);
    if (view_.type == ElementType::kF32) {
      reinterpret_cast<float*>(data_)[at] = static_cast<float>(value);
    } else if (view_.type == ElementType::kI32) {
      reinterpret_cast<int32_t*>(data_)[at] = static_cast<int32_t>(value);
    } else {
      reinterpret_cast<uint16_t*>(data_)[at] = native::FloatToBf16(static_cast<float>(value));
    }
  }

 private:
  int64_t Offset(const Index& index) const {
    int64_t offset = 0;
    for (size_t d = 0; d < index.size(); ++d) offset += index[d] * view_.strides[d];
    return offset;
  }

  View view_;
  std::byte* data_;
};

void ForEachIndex(absl::Span<const int64_t> shape, const std::function<void(const Index&)>& visit) {
  Index index(shape.size(), 0);
  int64_t count = program::ElementCount(shape);
  for (int64_t i = 0; i < count; ++i) {
    visit(index);
    for (size_t d = shape.size(); d-- > 0;) {
      if (++index[d] < shape[d]) break;
      index[d] = 0;
    }
  }
}

struct Context {
  const program::Instruction& instruction;
  const std::vector<std::byte*>& addresses;

  Tensor operand(uint32_t i) const { return Tensor(instruction, i, addresses); }
  uint32_t operands() const { return program::Size(instruction.operands()); }
  int64_t integer(std::string_view name, int64_t otherwise) const {
    return program::FindInteger(instruction, name, otherwise);
  }
  int64_t integer(std::string_view name, size_t i, int64_t otherwise) const {
    absl::Span<const int64_t> values = program::FindIntegers(instruction, name);
    return i < values.size() ? values[i] : otherwise;
  }
};

void Matmul(const Context& context) {
  Tensor a = context.operand(0), b = context.operand(1), c = context.operand(context.operands() - 1);
  bool accumulate = context.integer("accumulate", 0) != 0;
  size_t rank = c.shape().size();
  ForEachIndex(c.shape(), [&](const Index& at) {
    double sum = accumulate ? c.Get(at) : 0;
    if (context.operands() == 4) sum += context.operand(2).Get({at[rank - 1]});
    Index a_at = at, b_at = at;
    for (int64_t k = 0; k < a.shape()[rank - 1]; ++k) {
      a_at[rank - 1] = k;
      b_at[rank - 2] = k;
      sum += a.Get(a_at) * b.Get(b_at);
    }
    c.Set(at, sum);
  });
}

// Calls `visit(x index, y index, kh, kw)` for each element of each window that lies inside of x; the channel
// of the x index is that of y, for the caller to change.
void ForEachWindowElement(const Context& context, absl::Span<const int64_t> x, absl::Span<const int64_t> y,
                          int64_t kh, int64_t kw,
                          const std::function<void(const Index&, const Index&, int64_t, int64_t)>& visit) {
  ForEachIndex(y, [&](const Index& at) {
    for (int64_t i = 0; i < kh; ++i) {
      for (int64_t j = 0; j < kw; ++j) {
        int64_t row = at[2] * context.integer("stride", 0, 1) - context.integer("padding", 0, 0) +
                      i * context.integer("dilation", 0, 1);
        int64_t column = at[3] * context.integer("stride", 1, 1) - context.integer("padding", 1, 0) +
                         j * context.integer("dilation", 1, 1);
        if (row < 0 || row >= x[2] || column < 0 || column >= x[3]) continue;
        visit({at[0], at[1], row, column}, at, i, j);
      }
    }
  });
}

// Calls `visit(x index, w index, y index)` for each product of a convolution.
void ForEachProduct(const Context& context, const Tensor& x, const Tensor& w, const Tensor& y,
                    const std::function<void(const Index&, const Index&, const Index&)>& visit) {
  int64_t groups = context.integer("groups", 1), filters = w.shape()[0] / groups, channels = w.shape()[1];
  ForEachWindowElement(context, x.shape(), y.shape(), w.shape()[2], w.shape()[3],
                       [&](const Index& x_at, const Index& y_at, int64_t kh, int64_t kw) {
                         for (int64_t c = 0; c < channels; ++c) {
                           Index from = x_at;
                           from[1] = y_at[1] / filters * channels + c;
                           visit(from, {y_at[1], c, kh, kw}, y_at);
                         }
                       });
}

// Sums in f64, one per element of `result`, stored at the end.
class Sums {
 public:
  explicit Sums(const Tensor& result) : result_(result) {
    ForEachIndex(result.shape(), [&](const Index& at) { sums_[at] = 0; });
  }
  double& operator[](const Index& at) { return sums_[at]; }
  void Store() {
    for (const auto& [at, sum] : sums_) result_.Set(at, sum);
  }

 private:
  Tensor result_;
  std::map<Index, double> sums_;
};

void Conv2d(const Context& context) {
  Tensor x = context.operand(0), w = context.operand(1), y = context.operand(context.operands() - 1);
  Sums sums(y);
  if (context.operands() == 4) {
    ForEachIndex(y.shape(), [&](const Index& at) { sums[at] = context.operand(2).Get({at[1]}); });
  }
  ForEachProduct(context, x, w, y, [&](const Index& from, const Index& by, const Index& to) {
    sums[to] += x.Get(from) * w.Get(by);
  });
  sums.Store();
}

void Conv2dGradInput(const Context& context) {
  Tensor dy = context.operand(0), w = context.operand(1), dx = context.operand(2);
  Sums sums(dx);
  ForEachProduct(context, dx, w, dy, [&](const Index& from, const Index& by, const Index& to) {
    sums[from] += dy.Get(to) * w.Get(by);
  });
  sums.Store();
}

void Conv2dGradWeight(const Context& context) {
  Tensor x = context.operand(0), dy = context.operand(1), dw = context.operand(2);
  Sums sums(dw);
  ForEachProduct(context, x, dw, dy, [&](const Index& from, const Index& by, const Index& to) {
    sums[by] += dy.Get(to) * x.Get(from);
  });
  sums.Store();
}

struct Maximum {
  double value = -std::numeric_limits<double>::infinity();
  Index at;
};

// The first maximum of each window in row-major order.
std::map<Index, Maximum> Maxima(const Context& context, const Tensor& x, absl::Span<const int64_t> y_shape) {
  std::map<Index, Maximum> maxima;
  ForEachWindowElement(context, x.shape(), y_shape, context.integer("kernel", 0, 1),
                       context.integer("kernel", 1, 1),
                       [&](const Index& from, const Index& to, int64_t, int64_t) {
                         Maximum& maximum = maxima[to];
                         if (x.Get(from) > maximum.value) maximum = {x.Get(from), from};
                       });
  return maxima;
}

void MaxPool(const Context& context) {
  Tensor x = context.operand(0), y = context.operand(1);
  for (const auto& [at, maximum] : Maxima(context, x, y.shape())) y.Set(at, maximum.value);
}

void MaxPoolGrad(const Context& context) {
  Tensor dy = context.operand(0), x = context.operand(1), dx = context.operand(2);
  Sums sums(dx);
  for (const auto& [at, maximum] : Maxima(context, x, dy.shape())) sums[maximum.at] += dy.Get(at);
  sums.Store();
}

// How many elements each window's sum is divided by.
std::map<Index, double> Divisors(const Context& context, absl::Span<const int64_t> x,
                                 absl::Span<const int64_t> y) {
  std::map<Index, double> divisors;
  int64_t kh = context.integer("kernel", 0, 1), kw = context.integer("kernel", 1, 1);
  if (context.integer("count_include_pad", 0) != 0) {
    ForEachIndex(y, [&](const Index& at) { divisors[at] = static_cast<double>(kh * kw); });
  } else {
    ForEachWindowElement(context, x, y, kh, kw,
                         [&](const Index&, const Index& to, int64_t, int64_t) { divisors[to] += 1; });
  }
  return divisors;
}

void AvgPool(const Context& context) {
  Tensor x = context.operand(0), y = context.operand(1);
  Sums sums(y);
  std::map<Index, double> divisors = Divisors(context, x.shape(), y.shape());
  ForEachWindowElement(
      context, x.shape(), y.shape(), context.integer("kernel", 0, 1), context.integer("kernel", 1, 1),
      [&](const Index& from, const Index& to, int64_t, int64_t) { sums[to] += x.Get(from) / divisors[to]; });
  sums.Store();
}

void AvgPoolGrad(const Context& context) {
  Tensor dy = context.operand(0), dx = context.operand(1);
  Sums sums(dx);
  std::map<Index, double> divisors = Divisors(context, dx.shape(), dy.shape());
  ForEachWindowElement(
      context, dx.shape(), dy.shape(), context.integer("kernel", 0, 1), context.integer("kernel", 1, 1),
      [&](const Index& from, const Index& to, int64_t, int64_t) { sums[from] += dy.Get(to) / divisors[to]; });
  sums.Store();
}

// Where the part begins that the last read operand speaks of, when there is an operand more than `operands`.
int64_t StartOf(const Context& context, uint32_t operands) {
  if (context.operands() == operands) return 0;
  return *reinterpret_cast<const int64_t*>(context.addresses[context.operands() - 2]);
}

Tensor Result(const Context& context) { return context.operand(context.operands() - 1); }

void Embedding(const Context& context) {
  Tensor table = context.operand(0), ids = context.operand(1), rows = Result(context);
  int64_t start = StartOf(context, 3);
  ForEachIndex(rows.shape(), [&](const Index& at) {
    int64_t row = static_cast<int64_t>(ids.Get(Index(at.begin(), at.end() - 1))) - start;
    rows.Set(at, row >= 0 && row < table.shape()[0] ? table.Get({row, at.back()}) : 0);
  });
}

void EmbeddingGrad(const Context& context) {
  Tensor rows = context.operand(0), ids = context.operand(1), table = Result(context);
  int64_t start = StartOf(context, 3);
  Sums sums(table);
  if (context.integer("accumulate", 0) != 0) {
    ForEachIndex(table.shape(), [&](const Index& at) { sums[at] = table.Get(at); });
  }
  ForEachIndex(rows.shape(), [&](const Index& at) {
    int64_t row = static_cast<int64_t>(ids.Get(Index(at.begin(), at.end() - 1))) - start;
    if (row >= 0 && row < table.shape()[0]) sums[{row, at.back()}] += rows.Get(at);
  });
  sums.Store();
}

void ExpertSlots(const Context& context) {
  Tensor experts = context.operand(0), slots = Result(context);
  const int64_t capacity = context.integer("capacity", 0);
  // A choice's place: how many choices of its expert come before it in its group, first choices first.
  ForEachIndex(slots.shape(), [&](const Index& at) {
    int64_t before = 0;
    ForEachIndex(slots.shape(), [&](const Index& other) {
      bool earlier = other[2] < at[2] || (other[2] == at[2] && other[1] < at[1]);
      if (other[0] == at[0] && earlier && experts.Get(other) == experts.Get(at)) ++before;
    });
    slots.Set(at, before < capacity ? experts.Get(at) * static_cast<double>(capacity) + before : -1);
  });
}

// Calls `visit` with the index of each choice and its row, unless it was dropped or its row is not here.
void ForEachChoice(const Tensor& slots, int64_t rows, int64_t start,
                   const std::function<void(const Index&, int64_t)>& visit) {
  ForEachIndex(slots.shape(), [&](const Index& at) {
    int64_t slot = static_cast<int64_t>(slots.Get(at)), row = slot - start;
    if (slot >= 0 && row >= 0 && row < rows) visit(at, row);
  });
}

void Dispatch(const Context& context) {
  bool gated = context.integer("gates", 0) != 0;
  Tensor tokens = context.operand(0), slots = context.operand(1), rows = Result(context);
  Sums sums(rows);
  ForEachChoice(slots, rows.shape()[1], StartOf(context, gated ? 4 : 3), [&](const Index& at, int64_t row) {
    for (int64_t d = 0; d < rows.shape()[2]; ++d)
      sums[{at[0], row, d}] += (gated ? context.operand(2).Get(at) : 1) * tokens.Get({at[0], at[1], d});
  });
  sums.Store();
}

void Combine(const Context& context) {
  Tensor rows = context.operand(0), slots = context.operand(1), gates = context.operand(2),
         tokens = Result(context);
  Sums sums(tokens);
  ForEachChoice(slots, rows.shape()[1], StartOf(context, 4), [&](const Index& at, int64_t row) {
    for (int64_t d = 0; d < rows.shape()[2]; ++d)
      sums[{at[0], at[1], d}] += gates.Get(at) * rows.Get({at[0], row, d});
  });
  sums.Store();
}

void CombineGradGates(const Context& context) {
  Tensor tokens = context.operand(0), rows = context.operand(1), slots = context.operand(2),
         gates = Result(context);
  Sums sums(gates);
  ForEachChoice(slots, rows.shape()[1], StartOf(context, 4), [&](const Index& at, int64_t row) {
    for (int64_t d = 0; d < rows.shape()[2]; ++d)
      sums[at] += tokens.Get({at[0], at[1], d}) * rows.Get({at[0], row, d});
  });
  sums.Store();
}

void Copy(const Context& context) {
  Tensor from = context.operand(0), to = context.operand(1);
  ForEachIndex(to.shape(), [&](const Index& at) { to.Set(at, from.Get(at)); });
}

}  // namespace

absl::Status Run(const program::Instruction& instruction, const std::vector<std::byte*>& operands) {
  static const std::map<std::string, void (*)(const Context&), std::less<>> kCalls = {
      {"matmul", Matmul},
      {"conv2d", Conv2d},
      {"conv2d_grad_input", Conv2dGradInput},
      {"conv2d_grad_weight", Conv2dGradWeight},
      {"max_pool2d", MaxPool},
      {"max_pool2d_grad", MaxPoolGrad},
      {"avg_pool2d", AvgPool},
      {"avg_pool2d_grad", AvgPoolGrad},
      {"embedding", Embedding},
      {"embedding_grad", EmbeddingGrad},
      {"expert_slots", ExpertSlots},
      {"dispatch", Dispatch},
      {"combine", Combine},
      {"combine_grad_gates", CombineGradGates},
      {"copy_view", Copy},
      {"transpose", Copy},
  };
  auto found = kCalls.find(program::Text(instruction.target()));
  if (found == kCalls.end()) {
    return absl::NotFoundError(
        absl::StrCat("no reference of '", std::string(program::Text(instruction.target())), "'"));
  }
  found->second({instruction, operands});
  return absl::OkStatus();
}

}  // namespace pdc::kernels::reference
