// Initial values of parameters: a pure function of (seed, name, global element index), so that every split of
// a parameter over ranks starts from the same values. Specification, enough to reproduce it elsewhere:
//
//   Stream.     h = FNV-1a, 64 bits, of the name's bytes (offset basis 0xcbf29ce484222325, prime 0x100000001b3).
//               The name of optimizer state is "optimizer.<slot>.<parameter>".
//   Words.      Element i (row-major index in the *global* shape) belongs to block b = i / 4 and is its lane i % 4.
//               w[0..3] = Philox4x32-10(counter = (b low, b high, h low, h high), key = (seed low, seed
//               high)), low and high being the halves of 32 bits.
//   uniform     u = (w[lane] >> 8) * 2^-24 in [0, 1);  value = low + (high - low) * u.
//   normal      Box-Muller on a pair of words: with p = 0 for lanes 0 and 1, p = 2 for lanes 2 and 3,
//               radius = sqrt(-2 ln((w[p] + 1) * 2^-32)),  angle = 2 pi * w[p + 1] * 2^-32,
//               z = radius * cos(angle) for the even lane, radius * sin(angle) for the odd one;
//               value = mean + deviation * z.
//   truncated   z as for normal, but of block b + t * 2^40 for the first t = 0, 1, 2... that gives |z| <= 2, each
//   normal      element on its own; `deviation` is that of the normal before truncation.
//
// All of it is computed in double precision and rounded once to f32 (to nearest even), then, for bf16, from
// f32 to bf16 (to nearest even). f64 holds the f32 value exactly. Integers take zeros, ones and constants
// only.
#ifndef PDC_RUNTIME_TRAIN_INITIALIZE_H_
#define PDC_RUNTIME_TRAIN_INITIALIZE_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "runtime/program/program_generated.h"
#include "runtime/train/buffers.h"

namespace pdc::train {

// The values of one buffer, as `program::Initializer` states them.
struct Distribution {
  program::InitializerKind kind = program::InitializerKind::kZeros;
  double a = 0;  // kConstant: value; kNormal, kTruncatedNormal: mean; kUniform: low
  double b = 0;  // kNormal, kTruncatedNormal: standard deviation; kUniform: high
};

// FNV-1a, 64 bits.
uint64_t HashName(std::string_view name);

// Writes the part of shape `local` that begins at `start` of the value `name` of shape `global`.
// INVALID_ARGUMENT for a part outside the value, or random values of an integer type.
absl::Status FillInitialValues(const Distribution& distribution, uint64_t seed, std::string_view name,
                               const Shape& global, const Shape& start, const Shape& local,
                               program::ElementType type, std::byte* data);

// The same for a persistent buffer of a program; zeros where it states no initializer.
absl::Status InitializeBuffer(const program::Buffer& buffer, uint64_t seed, std::byte* data);

}  // namespace pdc::train

#endif  // PDC_RUNTIME_TRAIN_INITIALIZE_H_
