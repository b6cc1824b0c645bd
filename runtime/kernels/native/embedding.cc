// "embedding" and "embedding_grad": see runtime/kernels/README.md.
#include <algorithm>
#include <atomic>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/kernels/library.h"
#include "runtime/kernels/native/bf16.h"
#include "runtime/program/view.h"

namespace pdc::kernels::native {
namespace {

using program::ElementType;

// rows[..., D] of a table[V, D], chosen by ids[...]. Of a table that is split by rows, V of `vocabulary` rows are
// here.
struct Shapes {
  int64_t table_rows, width, count, vocabulary;
};

absl::StatusOr<Shapes> CheckShapes(const program::Instruction& instruction, const View& table,
                                   const View& ids, const View& rows) {
  bool fits = table.shape.size() == 2 && rows.shape.size() == ids.shape.size() + 1 &&
              rows.shape.back() == table.shape[1] && rows.shape.subspan(0, ids.shape.size()) == ids.shape;
  if (!fits) {
    return CallError(instruction, absl::StrCat("the shapes do not fit table[V,D], ids[...], rows[...,D]: ",
                                               ToString(table), ", ", ToString(ids), ", ", ToString(rows)));
  }
  if (!table.dense() || !ids.dense() || !rows.dense())
    return CallUnsupported(instruction, "a view that is not dense");
  if (ids.type != ElementType::kI32) return CallUnsupported(instruction, "a type of ids other than i32");
  int64_t rows_here = table.shape[0];
  int64_t vocabulary = program::FindInteger(instruction, "vocabulary", rows_here);
  if (vocabulary < rows_here) return CallError(instruction, "the table has more rows than the vocabulary");
  return Shapes{rows_here, table.shape[1], ids.elements(), vocabulary};
}

// Operands: two reads, of a split table a third that says where its part begins, and the result.
absl::Status ExpectTableOperands(const program::Instruction& instruction) {
  if (instruction.operands() == nullptr || instruction.operands()->size() != 4)
    return ExpectOperands(instruction, 2, 1);
  PDC_RETURN_IF_ERROR(ExpectOperands(instruction, 3, 1));
  View start = ViewOf(instruction, 2);
  if (start.type != ElementType::kI64 || start.elements() != 1)
    return CallError(instruction, absl::StrCat("the start of a part is no i64 scalar: ", ToString(start)));
  return absl::OkStatus();
}

bool IsPart(const program::Instruction& instruction) { return instruction.operands()->size() == 4; }

// The index of the result among the operands.
uint32_t ResultOf(const program::Instruction& instruction) { return instruction.operands()->size() - 1; }

// Where the part of the table begins.
const int64_t* StartOf(const program::Instruction& instruction, const Binding& binding) {
  return IsPart(instruction) ? reinterpret_cast<const int64_t*>(binding.operands[2]) : nullptr;
}

absl::Status BadId(const program::Instruction& instruction, const int32_t* ids, int64_t index,
                   int64_t vocabulary) {
  return absl::OutOfRangeError(absl::StrCat(
      std::string(program::Text(instruction.target())), ": id ", ids[index], " at position ", index,
      " is not one of 0 to ", vocabulary - 1, "; the data does not belong to this model's vocabulary"));
}

// The first position of an id outside of [0, vocabulary), or `count`.
int64_t FirstBadId(const int32_t* ids, int64_t count, int64_t vocabulary) {
  for (int64_t i = 0; i < count; ++i) {
    if (ids[i] < 0 || ids[i] >= vocabulary) return i;
  }
  return count;
}

class EmbeddingCall : public Call {
 public:
  EmbeddingCall(const program::Instruction& instruction, const Shapes& shapes, int64_t element_bytes,
                const Binding& binding)
      : instruction_(instruction),
        shapes_(shapes),
        row_bytes_(shapes.width * element_bytes),
        table_(binding.operands[0]),
        ids_(reinterpret_cast<const int32_t*>(binding.operands[1])),
        start_(StartOf(instruction, binding)),
        rows_(binding.operands[ResultOf(instruction)]),
        workers_(binding.workers) {}

  absl::Status Run() override {
    int64_t bad = FirstBadId(ids_, shapes_.count, shapes_.vocabulary);
    if (bad < shapes_.count) return BadId(instruction_, ids_, bad, shapes_.vocabulary);
    int64_t start = start_ ? *start_ : 0;
    workers_.ParallelFor(shapes_.count, [&](IndexRange range) {
      for (int64_t i = range.begin; i < range.end; ++i) {
        int64_t row = ids_[i] - start;
        bool here = row >= 0 && row < shapes_.table_rows;
        if (here) {
          std::memcpy(rows_ + i * row_bytes_, table_ + row * row_bytes_, row_bytes_);
        } else {
          std::memset(rows_ + i * row_bytes_, 0, row_bytes_);
        }
      }
    });
    return absl::OkStatus();
  }

 private:
  const program::Instruction& instruction_;
  Shapes shapes_;
  int64_t row_bytes_;
  const std::byte* table_;
  const int32_t* ids_;
  const int64_t* start_;
  std::byte* rows_;
  Workers workers_;
};

inline float ToFloat(float value) { return value; }
inline float ToFloat(uint16_t bits) { return Bf16ToFloat(bits); }

// The threads share the columns of the table, so that each element is summed by one thread in the order of
// the ids: the same bits with any number of threads.
template <typename Row>
class EmbeddingGradCall : public Call {
 public:
  // `sums` is the table itself when it is f32, otherwise workspace that is rounded into `rounded` at the end.
  EmbeddingGradCall(const program::Instruction& instruction, const Shapes& shapes, const Binding& binding,
                    float* sums, uint16_t* rounded, bool accumulate)
      : instruction_(instruction),
        shapes_(shapes),
        rows_(reinterpret_cast<const Row*>(binding.operands[0])),
        ids_(reinterpret_cast<const int32_t*>(binding.operands[1])),
        start_(StartOf(instruction, binding)),
        sums_(sums),
        rounded_(rounded),
        accumulate_(accumulate),
        workers_(binding.workers) {}

  absl::Status Run() override {
    int64_t bad = FirstBadId(ids_, shapes_.count, shapes_.vocabulary);
    if (bad < shapes_.count) return BadId(instruction_, ids_, bad, shapes_.vocabulary);
    int64_t start = start_ ? *start_ : 0;
    workers_.ParallelFor(shapes_.table_rows, [&](IndexRange range) { Begin(range); });
    workers_.ParallelFor(shapes_.width, [&](IndexRange range) {
      for (int64_t i = 0; i < shapes_.count; ++i) {
        int64_t to = ids_[i] - start;
        if (to < 0 || to >= shapes_.table_rows) continue;
        const Row* row = rows_ + i * shapes_.width;
        float* sum = sums_ + to * shapes_.width;
        for (int64_t d = range.begin; d < range.end; ++d) sum[d] += ToFloat(row[d]);
      }
    });
    if (rounded_ == nullptr) return absl::OkStatus();
    workers_.ParallelFor(shapes_.table_rows * shapes_.width, [&](IndexRange range) {
      for (int64_t i = range.begin; i < range.end; ++i) rounded_[i] = FloatToBf16(sums_[i]);
    });
    return absl::OkStatus();
  }

 private:
  // What the sums of rows [begin, end) of the table start from.
  void Begin(IndexRange range) {
    int64_t first = range.begin * shapes_.width, count = (range.end - range.begin) * shapes_.width;
    if (!accumulate_) {
      std::memset(sums_ + first, 0, count * sizeof(float));
    } else if (rounded_ != nullptr) {
      for (int64_t i = first; i < first + count; ++i) sums_[i] = Bf16ToFloat(rounded_[i]);
    }
  }

  const program::Instruction& instruction_;
  Shapes shapes_;
  const Row* rows_;
  const int32_t* ids_;
  const int64_t* start_;
  float* sums_;
  uint16_t* rounded_;
  bool accumulate_;
  Workers workers_;
};

bool IsFloat(ElementType type) { return type == ElementType::kF32 || type == ElementType::kBF16; }

absl::StatusOr<std::unique_ptr<Call>> PrepareEmbedding(const program::Instruction& instruction,
                                                       const Binding& binding) {
  PDC_RETURN_IF_ERROR(ExpectTableOperands(instruction));
  View table = ViewOf(instruction, 0), ids = ViewOf(instruction, 1),
       rows = ViewOf(instruction, ResultOf(instruction));
  PDC_ASSIGN_OR_RETURN(Shapes shapes, CheckShapes(instruction, table, ids, rows));
  if (table.type != rows.type) return CallError(instruction, "the table and the rows differ in element type");
  return std::make_unique<EmbeddingCall>(instruction, shapes, program::ElementBytes(table.type), binding);
}

absl::StatusOr<Shapes> CheckGrad(const program::Instruction& instruction) {
  PDC_RETURN_IF_ERROR(ExpectTableOperands(instruction));
  View rows = ViewOf(instruction, 0), ids = ViewOf(instruction, 1),
       table = ViewOf(instruction, ResultOf(instruction));
  PDC_ASSIGN_OR_RETURN(Shapes shapes, CheckShapes(instruction, table, ids, rows));
  if (!IsFloat(rows.type) || !IsFloat(table.type)) {
    return CallUnsupported(instruction, "an element type other than f32 and bf16");
  }
  return shapes;
}

absl::StatusOr<int64_t> EmbeddingGradWorkspace(const program::Instruction& instruction, int threads) {
  PDC_ASSIGN_OR_RETURN(Shapes shapes, CheckGrad(instruction));
  bool rounds = ViewOf(instruction, ResultOf(instruction)).type == ElementType::kBF16;
  return rounds ? shapes.table_rows * shapes.width * static_cast<int64_t>(sizeof(float)) : 0;
}

absl::StatusOr<std::unique_ptr<Call>> PrepareEmbeddingGrad(const program::Instruction& instruction,
                                                           const Binding& binding) {
  PDC_ASSIGN_OR_RETURN(Shapes shapes, CheckGrad(instruction));
  bool accumulate = program::FindInteger(instruction, "accumulate", 0) != 0;
  std::byte* table = binding.operands[ResultOf(instruction)];
  bool rounds = ViewOf(instruction, ResultOf(instruction)).type == ElementType::kBF16;
  auto* sums = reinterpret_cast<float*>(rounds ? binding.workspace : table);
  auto* rounded = rounds ? reinterpret_cast<uint16_t*>(table) : nullptr;
  if (ViewOf(instruction, 0).type == ElementType::kF32) {
    return std::make_unique<EmbeddingGradCall<float>>(instruction, shapes, binding, sums, rounded,
                                                      accumulate);
  }
  return std::make_unique<EmbeddingGradCall<uint16_t>>(instruction, shapes, binding, sums, rounded,
                                                       accumulate);
}

double EmbeddingGradFlops(const program::Instruction& instruction) {
  return static_cast<double>(ViewOf(instruction, 0).elements());
}

PDC_REGISTER_LIBRARY_CALL(embedding, "embedding", nullptr, PrepareEmbedding, nullptr);
PDC_REGISTER_LIBRARY_CALL(embedding_grad, "embedding_grad", EmbeddingGradWorkspace, PrepareEmbeddingGrad,
                          EmbeddingGradFlops);

}  // namespace
}  // namespace pdc::kernels::native
