//===- DescriptionReader.h - typed fields of a description ------*- C++ -*-===//
#ifndef PDC_COMPILER_MACHINE_DESCRIPTIONREADER_H
#define PDC_COMPILER_MACHINE_DESCRIPTIONREADER_H

#include "compiler/machine/Description.h"
#include "compiler/machine/Units.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace pdc::machine {

/// Where a description comes from, and the first thing that is wrong with it.
struct ReadContext {
  std::string source; // a file's name, or what else stands before ":line" in messages
  std::string error;  // "FILE:LINE: KEY: expected ..., found ..."; empty: nothing is wrong

  void fail(const Description &at, const std::string &path, const std::string &message);
};

enum class Range { Positive, NonNegative, Share }; // Share: 0 to 1

/// Reads the keys of one map. Errors go to the context; what is returned after one is of no use.
class MapReader {
public:
  /// `path` is what messages call the map: "nodes[0].host", or empty at the top. Keys that are not among `keys`
  /// are errors, and so is a key that is given twice.
  MapReader(const Description &map, std::string path, std::vector<std::string> keys, ReadContext &context);

  /// Required unless there is an `ifAbsent`.
  double quantity(const std::string &key, Unit unit, Range range, std::optional<double> ifAbsent = {});
  std::optional<double> optionalQuantity(const std::string &key, Unit unit, Range range);
  int64_t integer(const std::string &key, int64_t least, std::optional<int64_t> ifAbsent = {});
  std::string text(const std::string &key, std::optional<std::string> ifAbsent = {});
  bool boolean(const std::string &key, bool ifAbsent);
  /// The index of the word among `words`.
  int word(const std::string &key, const std::vector<std::string> &words, int ifAbsent);
  /// Null where the key is absent (an error if `required`).
  const Description *child(const std::string &key, Description::Kind kind, bool required = false);
  std::string pathOf(const std::string &key) const { return path.empty() ? key : path + "." + key; }

private:
  const Description *find(const std::string &key, bool required);
  const Description &map;
  std::string path;
  std::vector<std::string> keys;
  ReadContext &context;
};

/// "[[size, value], ...]" with increasing sizes.
std::vector<std::pair<double, double>> readPoints(const Description &list, const std::string &path, Unit size,
                                                  Unit value, ReadContext &context);

/// A number in `range`.
double readQuantity(const Description &scalar, const std::string &path, Unit unit, Range range,
                    ReadContext &context);

/// The word of `words` that was probably meant; empty where none is close.
std::string closestWord(const std::string &word, const std::vector<std::string> &words);

} // namespace pdc::machine

#endif // PDC_COMPILER_MACHINE_DESCRIPTIONREADER_H
