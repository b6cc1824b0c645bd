//===- ProfileFields.cpp - what the readers of profiles share -------------===//

#include "compiler/place/ProfileFields.h"
#include <charconv>
#include <cmath>

using namespace pdc::place;
using nlohmann::json;

/// Sets of nodes are bit sets, some of them one a node: 20,000 nodes make 50 MB of them.
static constexpr size_t kMaxNodes = 20'000;

/// A value as errors quote it.
static std::string shown(const json &value) {
  std::string text = value.dump();
  return text.size() <= 40 ? text : text.substr(0, 37) + "...";
}

std::string_view pdc::place::trim(std::string_view text) {
  size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos)
    return {};
  return text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

std::optional<double> pdc::place::parseNumber(std::string_view text) {
  double value;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty())
    return std::nullopt;
  return value;
}

json pdc::place::parseJsonObject(const std::string &text) {
  if (trim(text).empty())
    throw PlaceError("it is empty");
  // These formats need six levels; printing a value, in an error, recurses.
  int depth = 0;
  auto shallow = [&](int level, json::parse_event_t, json &) {
    depth = std::max(depth, level);
    return level < 64;
  };
  json root;
  try {
    root = json::parse(text, shallow);
  } catch (const json::exception &error) {
    std::string what = error.what();
    size_t colon = what.find("] ");
    throw PlaceError("not JSON: " + (colon == std::string::npos ? what : what.substr(colon + 2)));
  }
  if (depth >= 64)
    throw PlaceError("its JSON is nested more than 64 levels deep");
  if (!root.is_object())
    throw PlaceError("not a JSON object");
  return root;
}

const json &pdc::place::member(const json &object, const std::string &where, const char *key) {
  if (!object.is_object())
    throw PlaceError(where + ": not a JSON object");
  auto found = object.find(key);
  if (found == object.end())
    throw PlaceError(where + ": no '" + key + "'");
  return *found;
}

double pdc::place::readAmount(const json &object, const std::string &where, const char *key) {
  const json &value = member(object, where, key);
  if (!value.is_number())
    throw PlaceError(where + ": '" + key + "' is " + shown(value) + ", not a number");
  double amount = value.get<double>();
  if (!std::isfinite(amount) || amount < 0)
    throw PlaceError(where + ": '" + key + "' is " + shown(value) + ", not a finite number of at least 0");
  return amount;
}

int64_t pdc::place::readInteger(const json &object, const std::string &where, const char *key) {
  const json &value = member(object, where, key);
  if (!value.is_number_integer())
    throw PlaceError(where + ": '" + key + "' is " + shown(value) + ", not an integer");
  return value.get<int64_t>();
}

bool pdc::place::readFlag(const json &object, const std::string &where, const char *key) {
  const json &value = member(object, where, key);
  if (value.is_boolean())
    return value.get<bool>();
  if (value.is_number_integer() && (value == 0 || value == 1))
    return value == 1;
  throw PlaceError(where + ": '" + key + "' is " + shown(value) + ", not true, false, 0 or 1");
}

const json &pdc::place::readArray(const json &object, const std::string &where, const char *key) {
  const json &value = member(object, where, key);
  if (!value.is_array())
    throw PlaceError(where + ": '" + key + "' is not an array");
  return value;
}

void pdc::place::checkNodeCount(size_t nodes) {
  if (nodes > kMaxNodes)
    throw PlaceError("it has more than " + std::to_string(kMaxNodes) +
                     " nodes, the most that can be planned");
}

void pdc::place::checkAcyclic(const Dag &dag, const std::function<std::string(int)> &name) {
  std::vector<int> cycle = dag.findCycle();
  if (cycle.empty())
    return;
  std::string path;
  constexpr size_t shown = 8;
  for (size_t i = 0; i < cycle.size() && i < shown; ++i)
    path += name(cycle[i]) + " -> ";
  throw PlaceError("a cycle of " + std::to_string(cycle.size()) + " nodes: " + path +
                   (cycle.size() > shown ? "... -> " : "") + name(cycle[0]));
}
