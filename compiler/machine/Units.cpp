//===- Units.cpp - quantities as cluster files spell them -----------------===//

#include "compiler/machine/Units.h"
#include <charconv>
#include <cmath>
#include <string_view>
#include <vector>

using namespace pdc::machine;

namespace {

struct Spelling {
  std::string_view text;
  double factor;
};

} // namespace

static std::optional<double> prefixFactor(std::string_view prefix) {
  static constexpr Spelling kPrefixes[] = {
      {"", 1},     {"k", 1e3},     {"M", 1e6},        {"G", 1e9},           {"T", 1e12},
      {"P", 1e15}, {"Ki", 1024.0}, {"Mi", 1048576.0}, {"Gi", 1073741824.0}, {"Ti", 1099511627776.0}};
  for (const Spelling &spelling : kPrefixes)
    if (prefix == spelling.text)
      return spelling.factor;
  return std::nullopt;
}

/// What is left of `text` before one of `suffixes`, as a prefix, times the suffix's factor.
static std::optional<double> unitFactor(std::string_view text, const std::vector<Spelling> &suffixes) {
  for (const Spelling &suffix : suffixes) {
    if (!text.ends_with(suffix.text))
      continue;
    if (auto factor = prefixFactor(text.substr(0, text.size() - suffix.text.size())))
      return *factor * suffix.factor;
  }
  return std::nullopt;
}

static std::optional<double> factorOf(std::string_view text, Unit unit) {
  switch (unit) {
  case Unit::Bytes:
    return unitFactor(text, {{"B", 1}});
  case Unit::BytesPerSecond:
    return unitFactor(text, {{"B/s", 1}, {"b/s", 0.125}, {"bit/s", 0.125}});
  case Unit::FlopsPerSecond:
    return unitFactor(text, {{"FLOP/s", 1}, {"FLOPS", 1}});
  case Unit::Seconds:
    for (const Spelling &spelling :
         {Spelling{"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"\u00b5s", 1e-6}, {"ns", 1e-9}})
      if (text == spelling.text)
        return spelling.factor;
    return std::nullopt;
  case Unit::Number:
    return std::nullopt;
  }
  return std::nullopt;
}

const char *pdc::machine::describe(Unit unit) {
  switch (unit) {
  case Unit::Bytes:
    return "bytes (such as 32 GiB)";
  case Unit::Seconds:
    return "seconds (such as 5 us)";
  case Unit::BytesPerSecond:
    return "bytes a second (such as 900 GB/s, or 25 Gb/s for bits)";
  case Unit::FlopsPerSecond:
    return "operations a second (such as 15.7 TFLOP/s)";
  case Unit::Number:
    return "a number";
  }
  return "";
}

std::optional<double> pdc::machine::parseQuantity(const std::string &text, Unit unit) {
  double value = 0;
  const char *end = text.data() + text.size();
  auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || !std::isfinite(value))
    return std::nullopt;
  std::string_view suffix(rest, static_cast<size_t>(end - rest));
  while (suffix.starts_with(' '))
    suffix.remove_prefix(1);
  if (suffix.empty())
    return value;
  auto factor = factorOf(suffix, unit);
  if (!factor)
    return std::nullopt;
  // Dividing by an exact power of ten rounds once; multiplying by 1e-6 would round twice.
  return *factor < 1 ? value / std::round(1 / *factor) : value * *factor;
}

static std::string shortest(double value) {
  char buffer[64];
  auto [end, error] = std::to_chars(buffer, buffer + sizeof(buffer), value);
  return std::string(buffer, end);
}

std::string pdc::machine::formatQuantity(double value, Unit unit) {
  std::vector<std::string> units;
  switch (unit) {
  case Unit::Bytes:
    units = {"TiB", "GiB", "MiB", "TB", "GB", "MB"};
    break;
  case Unit::BytesPerSecond:
    units = {"TB/s", "GB/s", "MB/s", "kB/s"};
    break;
  case Unit::FlopsPerSecond:
    units = {"TFLOP/s", "GFLOP/s"};
    break;
  case Unit::Seconds:
    units = {"ms", "us", "ns"};
    break;
  case Unit::Number:
    break;
  }
  std::string best = shortest(value);
  for (const std::string &name : units) {
    double scaled = value / *factorOf(name, unit);
    // A few digits that read back as the same number, or none of it.
    std::string text = shortest(std::round(scaled * 1e6) / 1e6) + " " + name;
    if (scaled >= 1 && scaled < 10000 && parseQuantity(text, unit) == value)
      return text;
  }
  return best;
}
