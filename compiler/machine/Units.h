//===- Units.h - quantities as cluster files spell them ---------*- C++ -*-===//
#ifndef PDC_COMPILER_MACHINE_UNITS_H
#define PDC_COMPILER_MACHINE_UNITS_H

#include <optional>
#include <string>

namespace pdc::machine {

enum class Unit { Bytes, Seconds, BytesPerSecond, FlopsPerSecond, Number };

/// "bytes (such as 32 GiB)", for messages.
const char *describe(Unit unit);

/// A number, in the unit itself, or a number and a unit: "32 GiB", "5 us", "25 Gb/s" (bits), "900 GB/s" (bytes),
/// "15.7 TFLOP/s". k, M, G, T, P are powers of 1000, Ki, Mi, Gi, Ti powers of 1024. Empty where `text` is
/// not a quantity of this unit.
std::optional<double> parseQuantity(const std::string &text, Unit unit);

/// The shortest text that parseQuantity reads as the same number: "25 GB/s", "5 us", or all digits.
std::string formatQuantity(double value, Unit unit);

} // namespace pdc::machine

#endif // PDC_COMPILER_MACHINE_UNITS_H
