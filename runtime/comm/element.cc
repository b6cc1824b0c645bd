#include "runtime/comm/element.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>

namespace pdc::comm {

using program::ElementType;
using program::ReduceOp;

namespace {

// A block of sums stays in the first-level cache while every source is added to it, so that each source is
// read from memory once and each output written once, whatever the number of ranks.
constexpr int64_t kBlock = 2048;

// How elements are stored and what they are summed in.
template <typename T>
struct Plain {
  using Stored = T;
  using Sum = T;
  static Sum Load(Stored value) { return value; }
  static Stored Store(Sum value) { return value; }
  static Sum Add(Sum a, Sum b) {
    if constexpr (std::is_integral_v<T>) {
      using Unsigned = std::make_unsigned_t<T>;
      return static_cast<T>(static_cast<Unsigned>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b)));
    } else {
      return a + b;
    }
  }
};

struct BFloat16 {
  using Stored = uint16_t;
  using Sum = float;
  static Sum Load(Stored value) { return std::bit_cast<float>(uint32_t{value} << 16); }
  static Stored Store(Sum value) {
    const uint32_t bits = std::bit_cast<uint32_t>(value);
    const uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
    const uint32_t quiet_nan = (bits >> 16) | 0x40;
    return static_cast<Stored>((bits & 0x7fffffff) > 0x7f800000 ? quiet_nan : rounded);
  }
  static Sum Add(Sum a, Sum b) { return a + b; }
};

// Without branches, so that the loops below vectorize on processors without conversion instructions, too.
struct Float16 {
  using Stored = uint16_t;
  using Sum = float;
  static Sum Load(Stored value) {
    const uint32_t sign = uint32_t{value & 0x8000u} << 16;
    const uint32_t magnitude = value & 0x7fffu;
    // Moves the exponent from bias 15 to bias 127; exact for subnormal numbers as well.
    const uint32_t finite = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude << 13) * 0x1p112f);
    const uint32_t special = 0x7f800000u | (magnitude << 13);
    return std::bit_cast<float>(sign | (magnitude >= 0x7c00 ? special : finite));
  }
  static Stored Store(Sum value) {
    const uint32_t bits = std::bit_cast<uint32_t>(value);
    const uint32_t sign = (bits >> 16) & 0x8000;
    const uint32_t magnitude = bits & 0x7fffffff;
    const uint32_t normal = (magnitude - 0x38000000u + 0xfff + ((magnitude >> 13) & 1)) >> 13;
    // Adding 1/2 lets the processor round to multiples of 2^-24, the step of subnormal f16 numbers.
    const uint32_t subnormal =
        std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - std::bit_cast<uint32_t>(0.5f);
    const uint32_t special = magnitude > 0x7f800000u ? 0x7e00 : 0x7c00;
    const uint32_t finite = magnitude < 0x38800000u ? subnormal : normal;
    return static_cast<Stored>(sign | (magnitude >= 0x47800000u ? special : finite));
  }
  static Sum Add(Sum a, Sum b) { return a + b; }
};

template <typename Sum>
Sum Max(Sum a, Sum b) {
  if constexpr (std::is_floating_point_v<Sum>) return (a > b || a != a) ? a : b;
  return a > b ? a : b;
}

template <typename Codec, ReduceOp op>
typename Codec::Sum Combine(typename Codec::Sum a, typename Codec::Sum b) {
  if constexpr (op == ReduceOp::kSum) return Codec::Add(a, b);
  return Max(a, b);
}

// From elements as `Codec` reads them to elements as `Out` writes them; both sum in the same type.
template <typename Codec, typename Out, ReduceOp op>
void ReduceAs(const void* const* sources, int source_count, void* const* outputs, int output_count,
              int64_t count) {
  using Stored = typename Codec::Stored;
  using Written = typename Out::Stored;
  alignas(64) typename Codec::Sum sum[kBlock];
  for (int64_t begin = 0; begin < count; begin += kBlock) {
    const int64_t n = std::min(kBlock, count - begin);
    const Stored* first = static_cast<const Stored*>(sources[0]) + begin;
    int next = 1;
    if (source_count > 1) {
      const Stored* second = static_cast<const Stored*>(sources[1]) + begin;
      for (int64_t i = 0; i < n; ++i)
        sum[i] = Combine<Codec, op>(Codec::Load(first[i]), Codec::Load(second[i]));
      next = 2;
    } else {
      for (int64_t i = 0; i < n; ++i) sum[i] = Codec::Load(first[i]);
    }
    for (; next < source_count; ++next) {
      const Stored* source = static_cast<const Stored*>(sources[next]) + begin;
      for (int64_t i = 0; i < n; ++i) sum[i] = Combine<Codec, op>(sum[i], Codec::Load(source[i]));
    }
    Written* out = static_cast<Written*>(outputs[0]) + begin;
    for (int64_t i = 0; i < n; ++i) out[i] = Out::Store(sum[i]);
    for (int k = 1; k < output_count; ++k)
      std::memcpy(static_cast<Written*>(outputs[k]) + begin, out, n * sizeof(Written));
  }
}

template <typename Codec, typename Out>
void ReduceWith(ReduceOp op, const void* const* sources, int source_count, void* const* outputs,
                int output_count, int64_t count) {
  if (op == ReduceOp::kSum) {
    ReduceAs<Codec, Out, ReduceOp::kSum>(sources, source_count, outputs, output_count, count);
  } else {
    ReduceAs<Codec, Out, ReduceOp::kMax>(sources, source_count, outputs, output_count, count);
  }
}

}  // namespace

absl::Status CheckReduction(ElementType type, ReduceOp op) {
  if (type == ElementType::kI1 && op == ReduceOp::kSum) {
    return absl::InvalidArgumentError("the sum of i1 is not defined; use the maximum, which is logical or");
  }
  if (op != ReduceOp::kSum && op != ReduceOp::kMax) {
    return absl::InvalidArgumentError("unknown reduction " + std::to_string(static_cast<int>(op)));
  }
  return absl::OkStatus();
}

void Reduce(ElementType type, ReduceOp op, const void* const* sources, int source_count, void* const* outputs,
            int output_count, int64_t count) {
  auto reduce = [&]<typename Codec>() {
    ReduceWith<Codec, Codec>(op, sources, source_count, outputs, output_count, count);
  };
  switch (type) {
    case ElementType::kF32:
      return reduce.operator()<Plain<float>>();
    case ElementType::kF64:
      return reduce.operator()<Plain<double>>();
    case ElementType::kBF16:
      return reduce.operator()<BFloat16>();
    case ElementType::kF16:
      return reduce.operator()<Float16>();
    case ElementType::kI32:
      return reduce.operator()<Plain<int32_t>>();
    case ElementType::kI64:
      return reduce.operator()<Plain<int64_t>>();
    case ElementType::kI8:
      return reduce.operator()<Plain<int8_t>>();
    case ElementType::kU8:
    case ElementType::kI1:
      return reduce.operator()<Plain<uint8_t>>();
  }
}

ElementType PartialType(ElementType type, ReduceOp op) {
  const bool rounds = type == ElementType::kBF16 || type == ElementType::kF16;
  return rounds && op == ReduceOp::kSum ? ElementType::kF32 : type;
}

void ReduceToPartial(ElementType type, ReduceOp op, const void* const* sources, int source_count,
                     void* partial, int64_t count) {
  if (PartialType(type, op) == type) return Reduce(type, op, sources, source_count, &partial, 1, count);
  if (type == ElementType::kBF16) {
    ReduceAs<BFloat16, Plain<float>, ReduceOp::kSum>(sources, source_count, &partial, 1, count);
  } else {
    ReduceAs<Float16, Plain<float>, ReduceOp::kSum>(sources, source_count, &partial, 1, count);
  }
}

void ReducePartials(ElementType type, ReduceOp op, const void* const* partials, int partial_count,
                    void* const* outputs, int output_count, int64_t count) {
  if (PartialType(type, op) == type) {
    return Reduce(type, op, partials, partial_count, outputs, output_count, count);
  }
  if (type == ElementType::kBF16) {
    ReduceAs<Plain<float>, BFloat16, ReduceOp::kSum>(partials, partial_count, outputs, output_count, count);
  } else {
    ReduceAs<Plain<float>, Float16, ReduceOp::kSum>(partials, partial_count, outputs, output_count, count);
  }
}

}  // namespace pdc::comm
