//===- Domains.cpp - which choices a search looks at ----------------------===//

#include "compiler/plan/problem/Domains.h"
#include <algorithm>

using namespace pdc::plan;

Domains pdc::plan::allowedChoices(const Problem &problem) {
  Domains domains(problem.nodes.size());
  for (uint32_t i = 0; i < problem.nodes.size(); ++i) {
    const Node &node = problem.nodes[i];
    const std::vector<double> &seconds = problem.unaryTables[node.unaryTable].seconds;
    for (uint32_t choice = 0; choice < seconds.size(); ++choice) {
      bool isLeft = node.fixedChoice && choice != *node.fixedChoice;
      bool isBanned = std::count(node.bannedChoices.begin(), node.bannedChoices.end(), choice) != 0;
      if (!isLeft && !isBanned && seconds[choice] != forbidden)
        domains[i].push_back(choice);
    }
  }
  return domains;
}

bool pdc::plan::hasEmptyDomain(const Domains &domains) {
  return std::any_of(domains.begin(), domains.end(), [](const auto &domain) { return domain.empty(); });
}
