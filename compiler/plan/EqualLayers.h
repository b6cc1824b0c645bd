//===- EqualLayers.h - rows of a report that say the same of many layers ---*- C++ -*-===//
#ifndef PDC_COMPILER_PLAN_EQUALLAYERS_H
#define PDC_COMPILER_PLAN_EQUALLAYERS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/JSON.h"
#include <string>
#include <vector>

namespace pdc::plan {

/// Rows of a report, each that equal layers have ("h3.fc", "h4.fc") once: with '*' where the numbers in its `texts` differ,
/// `count`, and the sum of their `time`. In the order of the first of each; rows that differ in anything else stay apart.
llvm::json::Array mergeEqualLayers(const llvm::json::Array &rows, llvm::ArrayRef<llvm::StringRef> texts);

/// Elements begin to begin + length, and that `times` times.
struct Repeat {
  size_t begin, length, times;
  bool operator==(const Repeat &) const = default;
};

/// A list as repeats, from front to back: "a b c b c b c d" is a, three times "b c", d. What is said no shorter so is not
/// folded: then a repeat has one element, once.
std::vector<Repeat> findRepeats(llvm::ArrayRef<std::string> list);

/// Rows of a step in order, as the keys of findRepeats: equal where only the numbers in `texts` differ.
std::vector<std::string> keysOfEqualLayers(const llvm::json::Array &rows, llvm::ArrayRef<llvm::StringRef> texts);

} // namespace pdc::plan

#endif // PDC_COMPILER_PLAN_EQUALLAYERS_H
