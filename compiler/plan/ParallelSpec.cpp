//===- ParallelSpec.cpp - what --parallel says ----------------------------===//

#include "compiler/plan/ParallelSpec.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include <tuple>

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

/// Of a list with numbers that are searched, which are 0: the others must leave whole ranks, unless each stage may have a number
/// of its own.
static Expected<ParallelSpec> checkedPart(ParallelSpec spec, StringRef text, int64_t ranks) {
  int64_t product = 1;
  for (int64_t number : {spec.data, spec.tensor, spec.pipeline})
    product *= std::max<int64_t>(number, 1);
  bool isWhole = spec.data && spec.tensor && spec.pipeline;
  bool haveOneSize = spec.pipeline == 1 || isWhole;
  if (product > ranks || (haveOneSize && ranks % product != 0) || (isWhole && product != ranks))
    return error("--parallel=%s: --ranks=%lld cannot be split so: the product of data, tensor and pipeline is the number of "
                 "ranks",
                 text.str().c_str(), static_cast<long long>(ranks));
  return spec;
}

namespace {

/// A list as it was given: each kind with its number, or one for each stage.
struct ParallelList {
  SmallVector<int64_t> data, tensor, pipeline, zero;
  bool isSearched = false, searchesStages = false;
};

} // namespace

static Expected<SmallVector<int64_t>> parseNumbers(StringRef text, StringRef key, StringRef value) {
  int64_t least = key == "zero" ? 0 : 1, most = key == "zero" ? 3 : 1'000'000;
  SmallVector<int64_t> numbers;
  SmallVector<StringRef> words;
  value.split(words, ':');
  for (StringRef word : words)
    if (word.getAsInteger(10, numbers.emplace_back()) || numbers.back() < least || numbers.back() > most)
      return error("--parallel=%s: '%s' is not a number that %s can be: expected %lld to %lld", text.str().c_str(),
                   word.str().c_str(), key.str().c_str(), static_cast<long long>(least), static_cast<long long>(most));
  return numbers;
}

static Expected<ParallelList> parseItems(StringRef text) {
  ParallelList list;
  std::pair<StringRef, SmallVector<int64_t> *> fields[] = {
      {"data", &list.data}, {"tensor", &list.tensor}, {"pipeline", &list.pipeline}, {"zero", &list.zero}};
  SmallVector<StringRef> items, seen;
  text.split(items, ',');
  for (StringRef item : items) {
    auto [key, value] = item.split('=');
    if (is_contained(seen, key))
      return error("--parallel=%s: '%s' is given twice", text.str().c_str(), key.str().c_str());
    seen.push_back(key);
    if (item == "layouts") {
      list.isSearched = true;
      continue;
    }
    auto *field = find_if(fields, [&](const auto &candidate) { return candidate.first == key; });
    if (field == std::end(fields))
      return error("--parallel=%s: unknown word '%s': expected auto, layouts, data, tensor, zero1, zero2, zero3, a schedule "
                   "(%s) or a list of data=N, tensor=N, pipeline=N, zero=0..3",
                   text.str().c_str(), key.str().c_str(), join(ArrayRef<StringLiteral>(kPipelines), ", ").c_str());
    if (value == "auto") {
      *field->second = {key == "zero" ? kSearchedZero : 0};
      list.searchesStages = true;
      continue;
    }
    Expected<SmallVector<int64_t>> numbers = parseNumbers(text, key, value);
    if (!numbers)
      return numbers.takeError();
    *field->second = std::move(*numbers);
  }
  if (list.isSearched && !(list.data.empty() && list.tensor.empty() && list.zero.empty()))
    return error("--parallel=%s: layouts leaves data, tensor and zero to the search: beside it name pipeline alone",
                 text.str().c_str());
  return list;
}

bool pdc::plan::areAlike(const ParallelSpec &a, const ParallelSpec &b) {
  return std::tie(a.isSearched, a.data, a.tensor, a.zero) == std::tie(b.isSearched, b.data, b.tensor, b.zero);
}

/// Stages that are not alike. `ranksOf`: of each stage; empty: as many as data and tensor say.
static Expected<ParallelSpec> parseStages(const ParallelList &list, StringRef text, int64_t ranks) {
  std::string spelled = text.str();
  SmallVector<int64_t> ranksOf;
  if (list.pipeline.size() > 1)
    ranksOf = list.pipeline;
  size_t count = ranksOf.empty() ? (list.pipeline.empty() ? 1 : list.pipeline.front()) : ranksOf.size();
  for (const auto &[key, numbers] :
       {std::pair("data", list.data), {"tensor", list.tensor}, {"zero", list.zero}})
    if (numbers.size() > 1 && numbers.size() != count)
      return error("--parallel=%s: %s has %lld numbers, and there are %lld stages", spelled.c_str(), key,
                   static_cast<long long>(numbers.size()), static_cast<long long>(count));
  auto numberOf = [](ArrayRef<int64_t> numbers, size_t stage, int64_t absent) {
    return numbers.empty() ? absent : numbers.size() == 1 ? numbers.front() : numbers[stage];
  };
  ParallelSpec spec;
  spec.pipeline = static_cast<int64_t>(count);
  int64_t sum = 0;
  for (size_t i = 0; i < count; ++i) {
    ParallelSpec stage;
    stage.isSearched = list.isSearched;
    stage.tensor = numberOf(list.tensor, i, 1);
    stage.data = numberOf(list.data, i, ranksOf.empty() ? 1 : std::max<int64_t>(1, ranksOf[i] / stage.tensor));
    // Where there are no replicas there is nothing to split over them.
    stage.zero = stage.data > 1 ? numberOf(list.zero, i, 0) : 0;
    if (!ranksOf.empty() && stage.ranksOfStage() != ranksOf[i])
      return error("--parallel=%s: stage %lld has %lld ranks, which data=%lld and tensor=%lld do not give",
                   spelled.c_str(), static_cast<long long>(i), static_cast<long long>(ranksOf[i]),
                   static_cast<long long>(stage.data), static_cast<long long>(stage.tensor));
    sum += stage.ranksOfStage();
    spec.data = std::max(spec.data, stage.data);
    spec.tensor = std::max(spec.tensor, stage.tensor);
    spec.zero = std::max(spec.zero, stage.zero);
    spec.stages.push_back(std::move(stage));
  }
  spec.isSearched = list.isSearched;
  if (sum != ranks)
    return error("--parallel=%s: its stages have %lld ranks together, but --ranks=%lld", spelled.c_str(),
                 static_cast<long long>(sum), static_cast<long long>(ranks));
  if (spec.zero == 0 && any_of(list.zero, [](int64_t zero) { return zero > 0; }))
    return error("--parallel=%s: ZeRO splits over the data-parallel ranks of a stage, of which each stage has one",
                 spelled.c_str());
  if (all_of(spec.stages, [&](const ParallelSpec &stage) { return areAlike(stage, spec.stages.front()); }))
    spec.stages.clear();
  return spec;
}

static Expected<ParallelSpec> parseList(StringRef text, int64_t ranks) {
  Expected<ParallelList> list = parseItems(text);
  if (!list)
    return list.takeError();
  bool isOfStages = std::max({list->data.size(), list->tensor.size(), list->pipeline.size(), list->zero.size()}) > 1;
  if (isOfStages && list->searchesStages)
    return error("--parallel=%s: numbers of single stages leave nothing to search: name them all, or write auto for all",
                 text.str().c_str());
  if (isOfStages)
    return parseStages(*list, text, ranks);
  auto numberOf = [](ArrayRef<int64_t> numbers, int64_t absent) { return numbers.empty() ? absent : numbers.front(); };
  ParallelSpec spec;
  spec.isSearched = list->isSearched;
  spec.tensor = numberOf(list->tensor, 1);
  spec.pipeline = numberOf(list->pipeline, 1);
  spec.zero = numberOf(list->zero, 0);
  spec.data = numberOf(list->data, list->searchesStages ? 0 : 1);
  spec.searchesStages = list->searchesStages;
  if (spec.searchesStages)
    return checkedPart(spec, text, ranks);
  if (list->data.empty() && ranks % (spec.tensor * spec.pipeline) == 0)
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
