//===- StepTrace.h - a simulated step as a trace ----------------*- C++ -*-===//
#ifndef PDC_COMPILER_SIMULATE_STEPTRACE_H
#define PDC_COMPILER_SIMULATE_STEPTRACE_H

#include "compiler/simulate/RankSimulation.h"

namespace pdc::simulate {

/// Chrome trace JSON in the form of an executable's --trace (runtime/base/trace.h): a process a rank, the same lanes,
/// names and arguments, times in microseconds, so that a predicted and a measured step can be laid side by side. One
/// lane more, "links (predicted)", has the transfers themselves, on each rank that takes part.
std::string toChromeTrace(const RankSimulation &simulation,
                          const std::vector<const program::ProgramT *> &programs);

} // namespace pdc::simulate

#endif // PDC_COMPILER_SIMULATE_STEPTRACE_H
