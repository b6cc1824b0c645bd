//===- DescriptionReader.cpp - typed fields of a description --------------===//

#include "compiler/machine/DescriptionReader.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include <algorithm>
#include <cassert>
#include <set>

using namespace pdc::machine;

void ReadContext::fail(const Description &at, const std::string &path, const std::string &message) {
  if (!error.empty())
    return;
  error = source;
  if (at.line > 0)
    error += ":" + std::to_string(at.line);
  error += ": " + (path.empty() ? "" : path + ": ") + message;
}

static const char *describe(Description::Kind kind) {
  switch (kind) {
  case Description::Kind::Scalar:
    return "a single value";
  case Description::Kind::List:
    return "a list";
  case Description::Kind::Map:
    return "a map of keys";
  }
  return "";
}

static std::string found(const Description &description) {
  if (description.kind == Description::Kind::Scalar)
    return description.scalar.empty() ? "nothing" : "'" + description.scalar + "'";
  return describe(description.kind);
}

std::string pdc::machine::closestWord(const std::string &word, const std::vector<std::string> &words) {
  std::string best;
  unsigned least = std::max<unsigned>(2, static_cast<unsigned>(word.size()) / 3) + 1;
  for (const std::string &candidate : words) {
    unsigned distance = llvm::StringRef(word).edit_distance(candidate);
    if (distance < least) {
      least = distance;
      best = candidate;
    }
  }
  return best;
}

static std::string joined(const std::vector<std::string> &words) {
  std::string text;
  for (size_t i = 0; i < words.size(); ++i)
    text += (i == 0 ? "" : i + 1 == words.size() ? " or " : ", ") + words[i];
  return text;
}

double pdc::machine::readQuantity(const Description &scalar, const std::string &path, Unit unit, Range range,
                                  ReadContext &context) {
  std::optional<double> value;
  if (scalar.kind == Description::Kind::Scalar)
    value = parseQuantity(scalar.scalar, unit);
  if (!value) {
    context.fail(scalar, path, std::string("expected ") + describe(unit) + ", found " + found(scalar));
    return 0;
  }
  const char *expected = nullptr;
  if (range == Range::Share && (*value < 0 || *value > 1))
    expected = "expected a share between 0 and 1";
  else if (range == Range::Positive && *value <= 0)
    expected = "expected more than 0";
  else if (range == Range::NonNegative && *value < 0)
    expected = "expected 0 or more";
  if (expected) {
    std::string unitText = unit == Unit::Number ? "" : std::string(": ") + describe(unit);
    context.fail(scalar, path, expected + unitText + ", found " + found(scalar));
  }
  return *value;
}

std::vector<std::pair<double, double>> pdc::machine::readPoints(const Description &list,
                                                                const std::string &path, Unit size,
                                                                Unit value, ReadContext &context) {
  std::vector<std::pair<double, double>> points;
  if (list.items.empty())
    context.fail(list, path, "expected at least one [size, value], found none");
  for (size_t i = 0; i < list.items.size(); ++i) {
    const Description &item = list.items[i];
    std::string at = path + "[" + std::to_string(i) + "]";
    if (item.kind != Description::Kind::List || item.items.size() != 2) {
      context.fail(item, at, "expected a pair [size, value], found " + found(item));
      return points;
    }
    points.emplace_back(readQuantity(item.items[0], at, size, Range::Positive, context),
                        readQuantity(item.items[1], at, value, Range::Positive, context));
    if (i > 0 && points[i].first <= points[i - 1].first)
      context.fail(item, at,
                   "expected sizes that increase, found " + found(item.items[0]) + " after " +
                       found(list.items[i - 1].items[0]));
  }
  return points;
}

//===----------------------------------------------------------------------===//
// MapReader
//===----------------------------------------------------------------------===//

MapReader::MapReader(const Description &map, std::string path, std::vector<std::string> keys,
                     ReadContext &context)
    : map(map), path(std::move(path)), keys(std::move(keys)), context(context) {
  if (map.kind != Description::Kind::Map) {
    context.fail(map, this->path, "expected a map of keys, found " + found(map));
    return;
  }
  std::set<std::string> seen;
  for (const auto &[key, value] : llvm::zip_equal(map.keys, map.items)) {
    if (!seen.insert(key).second)
      context.fail(value, pathOf(key), "the key is given twice");
    if (llvm::is_contained(this->keys, key))
      continue;
    std::string meant = closestWord(key, this->keys);
    context.fail(value, pathOf(key),
                 meant.empty() ? "unknown key: expected " + joined(this->keys)
                               : "unknown key; did you mean '" + meant + "'?");
  }
}

const Description *MapReader::find(const std::string &key, bool required) {
  assert(llvm::is_contained(keys, key) && "the constructor was not told of this key");
  for (const auto &[name, value] : llvm::zip_equal(map.keys, map.items))
    if (name == key)
      return &value;
  if (required && map.kind == Description::Kind::Map)
    context.fail(map, path, "the key '" + key + "' is missing");
  return nullptr;
}

std::optional<double> MapReader::optionalQuantity(const std::string &key, Unit unit, Range range) {
  if (const Description *found = find(key, /*required=*/false))
    return readQuantity(*found, pathOf(key), unit, range, context);
  return std::nullopt;
}

double MapReader::quantity(const std::string &key, Unit unit, Range range, std::optional<double> ifAbsent) {
  const Description *value = find(key, !ifAbsent);
  return value ? readQuantity(*value, pathOf(key), unit, range, context) : ifAbsent.value_or(0);
}

int64_t MapReader::integer(const std::string &key, int64_t least, std::optional<int64_t> ifAbsent) {
  const Description *value = find(key, !ifAbsent);
  if (!value)
    return ifAbsent.value_or(least);
  int64_t number = 0;
  if (value->kind != Description::Kind::Scalar || llvm::StringRef(value->scalar).getAsInteger(10, number) ||
      number < least || number > 1'000'000'000) {
    context.fail(*value, pathOf(key),
                 "expected a whole number, at least " + std::to_string(least) + ", found " + found(*value));
    return least;
  }
  return number;
}

std::string MapReader::text(const std::string &key, std::optional<std::string> ifAbsent) {
  const Description *value = find(key, !ifAbsent);
  if (!value)
    return ifAbsent.value_or("");
  if (value->kind != Description::Kind::Scalar || (value->scalar.empty() && !ifAbsent))
    context.fail(*value, pathOf(key), "expected text, found " + found(*value));
  return value->scalar;
}

bool MapReader::boolean(const std::string &key, bool ifAbsent) {
  return word(key, {"false", "true"}, ifAbsent ? 1 : 0) == 1;
}

int MapReader::word(const std::string &key, const std::vector<std::string> &words, int ifAbsent) {
  const Description *value = find(key, false);
  if (!value)
    return ifAbsent;
  auto at = std::find(words.begin(), words.end(), value->scalar);
  if (value->kind == Description::Kind::Scalar && at != words.end())
    return static_cast<int>(at - words.begin());
  context.fail(*value, pathOf(key), "expected " + joined(words) + ", found " + found(*value));
  return ifAbsent;
}

const Description *MapReader::child(const std::string &key, Description::Kind kind, bool required) {
  const Description *value = find(key, required);
  if (value && value->kind != kind) {
    context.fail(*value, pathOf(key),
                 std::string("expected ") + ::describe(kind) + ", found " + found(*value));
    return nullptr;
  }
  return value;
}
