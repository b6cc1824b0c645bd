//===- MinCut.h - the cheapest vertices that separate two sides -*- C++ -*-===//
#ifndef PDC_PASSES_RECOMPUTE_MINCUT_H
#define PDC_PASSES_RECOMPUTE_MINCUT_H

#include <cstdint>
#include <vector>

namespace pdc::passes {

/// Vertices 0 to n - 1 of a directed graph without cycles, each with the cost of taking it into the cut.
struct CutProblem {
  std::vector<int64_t> costs;                  // not negative
  std::vector<std::pair<int, int>> edges;      // from, to
  std::vector<int> sources, sinks;             // may themselves be in the cut
};

/// The vertices of least total cost without which no way leads from a source to a sink (a source that is a sink is such a
/// way); of equally cheap cuts the one that lies nearest to the sinks. By maximal flow (Dinitz, 1970) in the graph whose
/// vertices are split in two. Ascending.
std::vector<int> findVertexCut(const CutProblem &problem);

} // namespace pdc::passes

#endif // PDC_PASSES_RECOMPUTE_MINCUT_H
