//===- CostModel.h - the costs that a search minimizes ----------*- C++ -*-===//
//
// The native model and published ones behind one interface (--cost-model), so that published answers can be
// checked exactly.
//
//===----------------------------------------------------------------------===//
#ifndef PDC_COMPILER_COST_COSTMODEL_H
#define PDC_COMPILER_COST_COSTMODEL_H

#include "compiler/cost/Collectives.h"
#include "compiler/cost/OpWork.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <memory>

namespace pdc::cost {

class CostModel {
public:
  virtual ~CostModel() = default;
  virtual const char *name() const = 0;
  /// On the device of `rank`.
  virtual double opSeconds(const OpWork &work, int64_t rank = 0) const = 0;
  /// `bytes` as in LinkCosts::seconds.
  virtual double collectiveSeconds(Collective collective, double bytes, const GroupShape &shape) const = 0;
  /// Whether work takes time. Where it does not, no plan may let ranks repeat matrix products or convolutions that they
  /// could share: communication alone would never be worth it.
  virtual bool countsWork() const { return true; }
};

/// What --cost-model says:
///
///   native               op times and link times of the cluster
///   alpa                 Alpa's mesh costs (Zheng et al. 2022, auto_sharding): only communication counts. Its alpha
/// and
///                        beta are 1 for the outermost level and, innermost first, can be set:
///                        "alpa:alpha=1/1,beta=0.1/1" (a single number is for all levels). Not seconds.
///   pipedream            PipeDream's (Narayanan et al. 2019, section 3.1): bytes over bandwidth, no latency
///   piper                Piper's (Tarnawski et al. 2021, section 5)
///
/// `threads` of each rank, where devices are cores.
llvm::Expected<std::unique_ptr<CostModel>> makeCostModel(llvm::StringRef spec,
                                                         const machine::Cluster &cluster, int threads = 1);

} // namespace pdc::cost

#endif // PDC_COMPILER_COST_COSTMODEL_H
