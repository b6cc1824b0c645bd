#include "runtime/train/initialize.h"

#include <array>
#include <cmath>
#include <cstring>
#include <numbers>
#include <string>

#include "absl/strings/str_cat.h"
#include "runtime/train/philox.h"

namespace pdc::train {
namespace {

using program::ElementType;
using program::InitializerKind;

constexpr double kTwoToMinus24 = 1.0 / (1 << 24);
constexpr double kTwoToMinus32 = 1.0 / (int64_t{1} << 32);
constexpr uint64_t kBlocksPerAttempt = uint64_t{1} << 40;
constexpr double kTruncation = 2.0;  // in standard deviations

using Block = std::array<double, 4>;

// The random numbers of one name, four at a time.
class Stream {
 public:
  Stream(uint64_t seed, std::string_view name) : seed_(seed), hash_(HashName(name)) {}

  Block Uniform(uint64_t block) const {
    const std::array<uint32_t, 4> words = Words(block);
    Block values;
    for (int lane = 0; lane < 4; ++lane) values[lane] = (words[lane] >> 8) * kTwoToMinus24;
    return values;
  }

  Block Normal(uint64_t block) const {
    const std::array<uint32_t, 4> words = Words(block);
    Block values;
    for (int pair = 0; pair < 4; pair += 2) {
      const double radius = std::sqrt(-2.0 * std::log((words[pair] + 1.0) * kTwoToMinus32));
      const double angle = 2.0 * std::numbers::pi * (words[pair + 1] * kTwoToMinus32);
      values[pair] = radius * std::cos(angle);
      values[pair + 1] = radius * std::sin(angle);
    }
    return values;
  }

  Block TruncatedNormal(uint64_t block) const {
    Block values = Normal(block);
    for (int lane = 0; lane < 4; ++lane) {
      for (uint64_t attempt = 1; std::abs(values[lane]) > kTruncation; ++attempt) {
        values[lane] = Normal(block + attempt * kBlocksPerAttempt)[lane];
      }
    }
    return values;
  }

 private:
  std::array<uint32_t, 4> Words(uint64_t block) const {
    return Philox4x32({LowWord(block), HighWord(block), LowWord(hash_), HighWord(hash_)},
                      {LowWord(seed_), HighWord(seed_)});
  }

  uint64_t seed_;
  uint64_t hash_;
};

// Values of one block before rounding; random kinds only.
Block RandomBlock(const Stream& stream, const Distribution& distribution, uint64_t block) {
  Block values;
  switch (distribution.kind) {
    case InitializerKind::kUniform:
      values = stream.Uniform(block);
      for (double& v : values) v = distribution.a + (distribution.b - distribution.a) * v;
      return values;
    case InitializerKind::kNormal:
      values = stream.Normal(block);
      break;
    default:
      values = stream.TruncatedNormal(block);
      break;
  }
  for (double& v : values) v = distribution.a + distribution.b * v;
  return values;
}

template <typename T>
void StoreAs(T value, std::byte* data, int64_t index) {
  std::memcpy(data + index * static_cast<int64_t>(sizeof(T)), &value, sizeof(T));
}

void StoreFloat(ElementType type, double value, std::byte* data, int64_t index) {
  const float rounded = static_cast<float>(value);
  switch (type) {
    case ElementType::kF64:
      return StoreAs<double>(rounded, data, index);
    case ElementType::kBF16:
      return StoreAs<uint16_t>(FloatToBf16(rounded), data, index);
    default:
      return StoreAs<float>(rounded, data, index);
  }
}

void StoreInteger(ElementType type, double value, std::byte* data, int64_t index) {
  switch (type) {
    case ElementType::kI64:
      return StoreAs(static_cast<int64_t>(value), data, index);
    case ElementType::kI32:
      return StoreAs(static_cast<int32_t>(value), data, index);
    default:
      return StoreAs(static_cast<int8_t>(value), data, index);
  }
}

bool IsFloat(ElementType type) {
  return type == ElementType::kF32 || type == ElementType::kF64 || type == ElementType::kBF16;
}

bool IsRandom(InitializerKind kind) {
  return kind == InitializerKind::kNormal || kind == InitializerKind::kUniform ||
         kind == InitializerKind::kTruncatedNormal;
}

double ConstantOf(const Distribution& distribution) {
  switch (distribution.kind) {
    case InitializerKind::kOnes:
      return 1;
    case InitializerKind::kConstant:
      return distribution.a;
    default:
      return 0;
  }
}

}  // namespace

uint64_t HashName(std::string_view name) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (char c : name) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3u;
  }
  return hash;
}

absl::Status FillInitialValues(const Distribution& distribution, uint64_t seed, std::string_view name,
                               const Shape& global, const Shape& start, const Shape& local, ElementType type,
                               std::byte* data) {
  if (type == ElementType::kF16) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", std::string(name), "': initial values of element type f16 are not supported"));
  }
  if (!IsRandom(distribution.kind)) {
    const double value = ConstantOf(distribution);
    const int64_t count = ElementCount(local);
    if (value == 0) {
      std::memset(data, 0, count * ElementBytes(type));
      return absl::OkStatus();
    }
    for (int64_t i = 0; i < count; ++i) {
      IsFloat(type) ? StoreFloat(type, value, data, i) : StoreInteger(type, value, data, i);
    }
    return absl::OkStatus();
  }
  if (!IsFloat(type)) {
    return absl::InvalidArgumentError(absl::StrCat("'", std::string(name),
                                                   "': random initial values need f32, ", "f64 or bf16, not ",
                                                   ElementTypeName(type)));
  }
  const Stream stream(seed, name);
  return ForEachContiguousRun(global, start, local, [&](int64_t first, int64_t out, int64_t count) {
    for (int64_t i = first; i < first + count;) {
      const Block values = RandomBlock(stream, distribution, static_cast<uint64_t>(i) / 4);
      do {
        StoreFloat(type, values[i % 4], data, out++);
        ++i;
      } while (i < first + count && i % 4 != 0);
    }
  });
}

absl::Status InitializeBuffer(const program::Buffer& buffer, uint64_t seed, std::byte* data) {
  Distribution distribution;
  if (const program::Initializer* initializer = buffer.initializer()) {
    distribution = {initializer->kind(), initializer->a(), initializer->b()};
  }
  return FillInitialValues(distribution, seed, PersistentName(buffer), GlobalShape(buffer),
                           LocalStart(buffer), LocalShape(buffer), buffer.element_type(), data);
}

}  // namespace pdc::train
