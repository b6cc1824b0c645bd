//===- EqualLayers.cpp - rows of a report that say the same of many layers ===//

#include "compiler/plan/EqualLayers.h"
#include "compiler/plan/ReportText.h"
#include "llvm/ADT/StringExtras.h"
#include <map>

using namespace llvm;
using namespace pdc::plan;

namespace {

/// A text in parts, of which every second one is a number: those at the end of a word, as in "layer11.fc" and "fc1 linear",
/// not those in it, as in "conv2d".
std::vector<std::string> splitAtNumbers(StringRef text) {
  std::vector<std::string> parts{""};
  for (size_t i = 0; i < text.size();) {
    size_t end = std::min(text.find_first_not_of("0123456789", i), text.size());
    bool endsWord = end > i && (end == text.size() || text[end] == '.' || text[end] == ' ');
    if (endsWord) {
      parts.push_back(text.slice(i, end).str());
      parts.push_back("");
    } else {
      end = std::max(end, i + 1);
      parts.back() += text.slice(i, end);
    }
    i = end;
  }
  return parts;
}

std::string withStars(StringRef text) {
  std::string general;
  for (auto [index, part] : enumerate(splitAtNumbers(text)))
    general += index % 2 ? "*" : part;
  return general;
}

/// What rows have to have in common: bytes and costs as they are told. Times are added up.
std::string keyOf(const json::Object &row, ArrayRef<StringRef> texts) {
  json::Object key = row;
  for (StringRef text : texts)
    if (std::optional<StringRef> found = row.getString(text))
      key[text] = withStars(*found);
  if (std::optional<double> cost = row.getNumber("cost_difference"))
    key["cost_difference"] = secondsText(*cost);
  if (std::optional<double> bytes = row.getNumber("bytes"))
    key["bytes"] = bytesText(*bytes);
  key.erase("time");
  key.erase("count");
  std::string text;
  raw_string_ostream(text) << json::Value(std::move(key));
  return text;
}

/// Numbers stay where they are the same in all rows.
struct MergedRow {
  json::Object row;
  std::map<std::string, std::vector<std::string>> parts; // by the key of the text
};

void merge(MergedRow &merged, const json::Object &row, ArrayRef<StringRef> texts) {
  merged.row["count"] = merged.row.getInteger("count").value_or(1) + row.getInteger("count").value_or(1);
  if (row.getNumber("time"))
    merged.row["time"] = number(merged.row, "time") + number(row, "time");
  for (StringRef text : texts) {
    std::vector<std::string> &parts = merged.parts[text.str()];
    for (auto [index, part] : enumerate(splitAtNumbers(row.getString(text).value_or(""))))
      if (part != parts[index])
        parts[index] = "*";
  }
}

} // namespace

json::Array pdc::plan::mergeEqualLayers(const json::Array &rows, ArrayRef<StringRef> texts) {
  std::vector<MergedRow> merged;
  std::map<std::string, size_t> known;
  for (const json::Value &value : rows) {
    const json::Object &row = *value.getAsObject();
    auto [entry, inserted] = known.try_emplace(keyOf(row, texts), merged.size());
    if (!inserted) {
      merge(merged[entry->second], row, texts);
      continue;
    }
    MergedRow &first = merged.emplace_back(MergedRow{row, {}});
    for (StringRef text : texts)
      first.parts[text.str()] = splitAtNumbers(row.getString(text).value_or(""));
  }
  json::Array result;
  for (MergedRow &each : merged) {
    for (StringRef text : texts)
      if (each.row.get(text))
        each.row[text] = join(each.parts[text.str()], "");
    result.push_back(std::move(each.row));
  }
  return result;
}

std::vector<std::string> pdc::plan::keysOfEqualLayers(const json::Array &rows, ArrayRef<StringRef> texts) {
  std::vector<std::string> keys;
  for (const json::Value &value : rows)
    keys.push_back(keyOf(*value.getAsObject(), texts));
  return keys;
}

std::vector<Repeat> pdc::plan::findRepeats(ArrayRef<std::string> list) {
  constexpr size_t longest = 64; // of what repeats: a layer's collectives, forward or backward
  std::vector<Repeat> repeats;
  for (size_t begin = 0; begin < list.size();) {
    Repeat best{begin, 1, 1};
    size_t bestSaved = 1; // lines: a heading takes one
    for (size_t length = 1; length <= longest && begin + 2 * length <= list.size(); ++length) {
      size_t end = begin + length;
      while (end < list.size() && list[end] == list[end - length])
        ++end;
      size_t times = (end - begin) / length, saved = (times - 1) * length;
      if (saved > bestSaved) {
        best = {begin, length, times};
        bestSaved = saved;
      }
    }
    repeats.push_back(best);
    begin += best.length * best.times;
  }
  return repeats;
}
