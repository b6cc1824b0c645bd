//===- WantedLayouts.h - what ops want of the values around them -*- C++ -*-===//
#ifndef PDC_COMPILER_PLAN_SEARCH_WANTEDLAYOUTS_H
#define PDC_COMPILER_PLAN_SEARCH_WANTEDLAYOUTS_H

#include "compiler/plan/search/LayoutClasses.h"
#include "passes/layouts/OpSplits.h"
#include "llvm/ADT/SetVector.h"
#include <map>

namespace pdc::plan {

using LayoutSet = llvm::SetVector<dist::LayoutAttr>;

/// What the splits of the ops around values want of them and give them, by class.
class WantedLayouts {
public:
  explicit WantedLayouts(const LayoutClasses &classes)
      : classes(classes), byAll(classes.size()), byWork(classes.size()) {}

  void add(mlir::Operation *op, llvm::ArrayRef<passes::OpSplit> splits);

  const LayoutSet &ofClass(size_t index) const { return byAll[index]; }

  /// The layouts that ops which do more than go through elements want of a value, or of those from which and of which
  /// elementwise ops make it. Null where there are none, and where one of these values is an argument. To be asked when
  /// all ops have been added.
  const LayoutSet *ofWorkAround(size_t index);

private:
  size_t leaderOf(size_t index) const;
  void joinAlong(mlir::Operation *op);
  void unite();

  const LayoutClasses &classes;
  std::vector<LayoutSet> byAll, byWork;
  llvm::EquivalenceClasses<size_t> neighbors; // classes joined by elementwise ops
  std::map<size_t, LayoutSet> components;     // leader -> what its members' ops want
};

} // namespace pdc::plan

#endif // PDC_COMPILER_PLAN_SEARCH_WANTEDLAYOUTS_H
