//===- LayoutRule.cpp - what --layout says --------------------------------===//

#include "compiler/plan/search/LayoutRule.h"

using namespace llvm;
using namespace pdc;
using namespace pdc::plan;

Expected<std::vector<LayoutRule>> plan::parseLayoutRules(StringRef text) {
  std::vector<LayoutRule> rules;
  SmallVector<StringRef> items;
  text.split(items, ',');
  for (StringRef item : items) {
    auto [dimension, axis] = item.split(':');
    if (dimension.empty() || axis.empty() || axis.contains(':'))
      return createStringError(
          "--layout=%s: expected dim:axis pairs such as heads:tensor,batch:data, found '%s'",
          text.str().c_str(), item.str().c_str());
    for (const LayoutRule &rule : rules)
      if (rule.dimension == dimension)
        return createStringError("--layout=%s: dimension '%s' is given twice", text.str().c_str(),
                                 dimension.str().c_str());
    rules.push_back({dimension.str(), axis.str()});
  }
  return rules;
}
