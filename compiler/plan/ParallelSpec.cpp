//===- ParallelSpec.cpp - what --parallel says ----------------------------===//

#include "compiler/plan/ParallelSpec.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace pdc::plan;

/// Pipelines of as many stages as ranks, each with its schedule.
static constexpr StringLiteral kPipelines[] = {"gpipe", "1f1b", "interleaved", "zb", "bidirectional", "pipedream"};

template <typename... Args> static Error error(const char *format, const Args &...args) {
  return createStringError(inconvertibleErrorCode(), format, args...);
}

static Expected<ParallelSpec> checked(ParallelSpec spec, StringRef text, int64_t ranks) {
  std::string spelled = text.str();
  if (spec.zero > 0 && spec.data == 1 && ranks > 1)
    return error(
        "--parallel=%s: ZeRO splits over the data-parallel ranks, of which there is one: give data=N",
        spelled.c_str());
  int64_t product = spec.data * spec.tensor * spec.pipeline;
  if (product != ranks)
    return error("--parallel=%s uses %lld ranks, but --ranks=%lld: make the product of data, tensor and "
                 "pipeline equal "
                 "to the number of ranks",
                 spelled.c_str(), static_cast<long long>(product), static_cast<long long>(ranks));
  return spec;
}

/// Of a list with numbers that are searched, which are 0: the others must leave whole ranks.
static Expected<ParallelSpec> checkedPart(ParallelSpec spec, StringRef text, int64_t ranks) {
  int64_t product = 1;
  for (int64_t number : {spec.data, spec.tensor, spec.pipeline})
    product *= std::max<int64_t>(number, 1);
  bool isWhole = spec.data && spec.tensor && spec.pipeline;
  if (ranks % product != 0 || (isWhole && product != ranks))
    return error("--parallel=%s: --ranks=%lld cannot be split so: the product of data, tensor and pipeline is the number of "
                 "ranks",
                 text.str().c_str(), static_cast<long long>(ranks));
  return spec;
}

static Expected<ParallelSpec> parseList(StringRef text, int64_t ranks) {
  ParallelSpec spec;
  std::pair<StringRef, int64_t *> fields[] = {
      {"data", &spec.data}, {"tensor", &spec.tensor}, {"pipeline", &spec.pipeline}, {"zero", &spec.zero}};
  SmallVector<StringRef> items, seen;
  text.split(items, ',');
  for (StringRef item : items) {
    auto [key, value] = item.split('=');
    auto *field = find_if(fields, [&](const auto &candidate) { return candidate.first == key; });
    if (field == std::end(fields))
      return error(
          "--parallel=%s: unknown word '%s': expected auto, data, or a list of data=N, tensor=N, pipeline=N, "
          "zero=0..3",
          text.str().c_str(), key.str().c_str());
    if (is_contained(seen, key))
      return error("--parallel=%s: '%s' is given twice", text.str().c_str(), key.str().c_str());
    seen.push_back(key);
    bool isStage = key == "zero";
    if (value == "auto") {
      *field->second = isStage ? kSearchedZero : 0;
      spec.searchesStages = true;
      continue;
    }
    if (value.getAsInteger(10, *field->second) || *field->second < (isStage ? 0 : 1) ||
        *field->second > (isStage ? 3 : 1'000'000))
      return error("--parallel=%s: '%s' is not a number that %s can be: expected %s", text.str().c_str(),
                   value.str().c_str(), key.str().c_str(), isStage ? "0 to 3" : "1 to 1000000");
  }
  if (spec.searchesStages) {
    if (!is_contained(seen, "data"))
      spec.data = 0;
    return checkedPart(spec, text, ranks);
  }
  if (!is_contained(seen, "data") && ranks % (spec.tensor * spec.pipeline) == 0)
    spec.data = ranks / (spec.tensor * spec.pipeline);
  return checked(spec, text, ranks);
}

Expected<ParallelSpec> pdc::plan::parseParallelSpec(StringRef text, int64_t ranks) {
  ParallelSpec spec;
  if (text == "auto") {
    // One rank leaves nothing to search.
    spec.isSearched = ranks > 1;
    spec.searchesStages = ranks > 1;
    return spec;
  }
  if (text == "layouts") {
    spec.isSearched = ranks > 1;
    return spec;
  }
  if (text == "tensor") {
    spec.tensor = ranks;
    return spec;
  }
  if (text == "data" || text == "zero1" || text == "zero2" || text == "zero3") {
    spec.data = ranks;
    if (text.consume_front("zero"))
      spec.zero = text.front() - '0';
    return spec;
  }
  if (is_contained(kPipelines, text)) {
    spec.pipeline = ranks;
    return spec;
  }
  return parseList(text, ranks);
}
