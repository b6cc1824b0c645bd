//===- ProfileFields.h - what the readers of profiles share -----*- C++ -*-===//
#ifndef PDC_COMPILER_PLACE_PROFILEFIELDS_H
#define PDC_COMPILER_PLACE_PROFILEFIELDS_H

#include "compiler/place/Dag.h"
#include "compiler/place/Placement.h"
#include "nlohmann/json.hpp"
#include <functional>
#include <string_view>

namespace pdc::place {

std::string_view trim(std::string_view text);
/// All of the text as a number.
std::optional<double> parseNumber(std::string_view text);

/// Parses JSON whose root is an object.
nlohmann::json parseJsonObject(const std::string &text);
/// A member that must be there; `where` begins the error, "node 3".
const nlohmann::json &member(const nlohmann::json &object, const std::string &where, const char *key);
/// A number that must be there, finite and not negative.
double readAmount(const nlohmann::json &object, const std::string &where, const char *key);
int64_t readInteger(const nlohmann::json &object, const std::string &where, const char *key);
/// true, false, 0 or 1.
bool readFlag(const nlohmann::json &object, const std::string &where, const char *key);
const nlohmann::json &readArray(const nlohmann::json &object, const std::string &where, const char *key);

/// Throws when a graph is larger than its planners are made for.
void checkNodeCount(size_t nodes);
/// Throws, with a way around, when there is a cycle.
void checkAcyclic(const Dag &dag, const std::function<std::string(int)> &name);

} // namespace pdc::place

#endif // PDC_COMPILER_PLACE_PROFILEFIELDS_H
