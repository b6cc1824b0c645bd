// Checks of numbers on a command line, for CLI11, whose own state every bound up to 1.8e308 and let NaN pass.
#ifndef PDC_RUNTIME_BASE_NUMBER_CHECKS_H_
#define PDC_RUNTIME_BASE_NUMBER_CHECKS_H_

#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <sstream>
#include <string>
#include <type_traits>

#include "CLI/CLI.hpp"

namespace pdc::base {

// The largest whole number that options take: a double holds all up to it.
inline constexpr int64_t kLargestCount = int64_t{1} << 53;

namespace internal {

// All of `text` as a finite number of type T.
template <typename T>
bool ParseNumber(const std::string& text, T& value) {
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || rest != end) return false;
  if constexpr (std::is_floating_point_v<T>) return std::isfinite(value);
  return true;
}

template <typename T>
std::string Format(T value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

// Fails with "expected <bound>, found '<input>'" unless `allowed(value)`.
template <typename T, typename Allowed>
CLI::Validator NumberCheck(Allowed allowed, const std::string& bound, const std::string& description) {
  return CLI::Validator(
      [=](std::string& input) {
        T value{};
        if (ParseNumber(input, value) && allowed(value)) return std::string();
        return "expected " + std::string(std::is_integral_v<T> ? "a whole number " : "a number ") + bound +
               ", found '" + input + "'";
      },
      description);
}

}  // namespace internal

// A number from `least` to `most`; help shows both.
template <typename T>
CLI::Validator Between(T least, T most) {
  const std::string first = internal::Format(least), last = internal::Format(most);
  return internal::NumberCheck<T>([=](T value) { return value >= least && value <= most; },
                                  "from " + first + " to " + last, "[" + first + ".." + last + "]");
}

// A whole number from 1 on.
inline CLI::Validator Positive() {
  return internal::NumberCheck<int64_t>([](int64_t value) { return value >= 1 && value <= kLargestCount; },
                                        "from 1 to 2^53", "POSITIVE");
}

// A whole number from 0 on.
inline CLI::Validator Count() {
  return internal::NumberCheck<int64_t>([](int64_t value) { return value >= 0 && value <= kLargestCount; },
                                        "from 0 to 2^53", "NONNEGATIVE");
}

inline CLI::Validator PositiveReal() {
  return internal::NumberCheck<double>([](double value) { return value > 0; }, "above 0", "POSITIVE");
}

inline CLI::Validator NonnegativeReal() {
  return internal::NumberCheck<double>([](double value) { return value >= 0; }, "of at least 0",
                                       "NONNEGATIVE");
}

// Any number, but not "nan" or "inf".
inline CLI::Validator FiniteReal() {
  return internal::NumberCheck<double>([](double) { return true; }, "that is finite", "");
}

// A seed: all 64 bits.
inline CLI::Validator Unsigned() {
  return internal::NumberCheck<uint64_t>([](uint64_t) { return true; }, "from 0 to 2^64 - 1", "");
}

}  // namespace pdc::base

#endif  // PDC_RUNTIME_BASE_NUMBER_CHECKS_H_
