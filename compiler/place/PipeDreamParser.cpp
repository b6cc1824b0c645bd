//===- PipeDreamParser.cpp - PipeDream's text profiles --------------------===//

#include "compiler/place/PipeDreamProfile.h"
#include "compiler/place/ProfileFields.h"
#include <cmath>
#include <unordered_map>

using namespace pdc::place;

namespace {

struct Line {
  int number;
  std::string_view text;
};

[[noreturn]] void fail(const Line &line, const std::string &message) {
  throw PlaceError("line " + std::to_string(line.number) + ": " + message);
}

std::vector<std::string_view> split(std::string_view text, std::string_view separator) {
  std::vector<std::string_view> parts;
  for (size_t begin = 0;;) {
    size_t end = text.find(separator, begin);
    parts.push_back(text.substr(begin, end - begin));
    if (end == std::string_view::npos)
      return parts;
    begin = end + separator.size();
  }
}

/// A number, or a list '[1; 2; 3]' of numbers that is summed.
double parseSum(const Line &line, const std::string &name, std::string_view text) {
  if (text.size() >= 2 && text.front() == '[' && text.back() == ']') {
    double sum = 0;
    for (std::string_view part : split(text.substr(1, text.size() - 2), ";"))
      sum += parseSum(line, name, trim(part));
    return sum;
  }
  std::optional<double> value = parseNumber(text);
  if (!value)
    fail(line, name + " is '" + std::string(text) + "', not a number");
  if (*value < 0)
    fail(line, name + " is negative: " + std::string(text));
  if (!std::isfinite(*value))
    fail(line, name + " is not finite: " + std::string(text));
  return *value;
}

ProfiledNode parseNode(const Line &line) {
  std::vector<std::string_view> parts = split(line.text, " -- ");
  // "ID -- DESCRIPTION -- METADATA", and "-- stage_id=N" in what PipeDream's planner writes.
  if (parts.size() >= 4 && trim(parts.back()).starts_with("stage_id="))
    parts.pop_back();
  if (parts.size() < 3)
    fail(line,
         "not a node 'ID -- DESCRIPTION -- forward_compute_time=...', nor an edge, which begins with a tab");
  ProfiledNode node;
  node.id = trim(parts.front());
  if (node.id.empty())
    fail(line, "a node without an id");
  node.description =
      trim(line.text.substr(parts[1].data() - line.text.data(), parts.back().data() - parts[1].data() - 4));
  const std::pair<const char *, double *> fields[] = {{"forward_compute_time", &node.forwardSeconds},
                                                      {"backward_compute_time", &node.backwardSeconds},
                                                      {"activation_size", &node.activationBytes},
                                                      {"parameter_size", &node.parameterBytes}};
  std::vector<std::string_view> given = split(parts.back(), ",");
  for (const auto &[name, value] : fields) {
    bool found = false;
    for (std::string_view field : given) {
      size_t equals = field.find('=');
      if (equals == std::string_view::npos || trim(field.substr(0, equals)) != name)
        continue;
      if (found)
        fail(line, "node '" + node.id + "' has two of " + name);
      found = true;
      *value = parseSum(line, name, trim(field.substr(equals + 1)));
    }
    if (!found)
      fail(line, "node '" + node.id + "' has no " + name);
  }
  node.forwardSeconds /= 1000; // the file has milliseconds
  node.backwardSeconds /= 1000;
  return node;
}

} // namespace

PipeDreamProfile pdc::place::parsePipeDreamProfile(const std::string &text) {
  PipeDreamProfile profile;
  std::unordered_map<std::string, int> numberOf;
  std::vector<Line> edges;
  int number = 0;
  for (std::string_view raw : split(text, "\n")) {
    Line line{++number, raw};
    if (trim(raw).empty())
      continue;
    if (raw.front() == '\t' || raw.front() == ' ') {
      edges.push_back(line); // its nodes may follow
      continue;
    }
    ProfiledNode node = parseNode(line);
    if (!numberOf.emplace(node.id, profile.nodes.size()).second)
      fail(line, "a second node '" + node.id + "'");
    profile.nodes.push_back(std::move(node));
    checkNodeCount(profile.nodes.size());
  }
  if (profile.nodes.empty())
    throw PlaceError("it has no nodes");

  profile.dag = Dag(static_cast<int>(profile.nodes.size()));
  for (const Line &line : edges) {
    std::vector<std::string_view> ends = split(trim(line.text), " -- ");
    if (ends.size() != 2)
      fail(line, "an edge is '<tab>ID -- ID'");
    int nodes[2];
    for (int end : {0, 1}) {
      std::string id(trim(ends[end]));
      auto found = numberOf.find(id);
      if (found == numberOf.end())
        fail(line, "an edge of node '" + id + "', which the profile does not have");
      nodes[end] = found->second;
    }
    profile.dag.addEdge(nodes[0], nodes[1]);
  }
  checkAcyclic(profile.dag, [&](int node) { return profile.nodes[node].id; });
  return profile;
}
