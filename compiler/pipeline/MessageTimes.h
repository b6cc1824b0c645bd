//===- MessageTimes.h - what messages between stages take -------*- C++ -*-===//
#ifndef PDC_COMPILER_PIPELINE_MESSAGETIMES_H
#define PDC_COMPILER_PIPELINE_MESSAGETIMES_H

#include "compiler/pipeline/Options.h"
#include "passes/pipeline/MessageCosts.h"
#include <memory>

namespace pdc::pipeline {

/// On the cluster that the compilation is for, by its cost model: of a reshard the time of its collectives; of messages that
/// set out together the time in which the busiest rank, or the busiest link of simulate::costsOnCluster, has passed its own.
std::shared_ptr<const passes::MessageCosts> makeMessageTimes(const CompileOptions &options);

} // namespace pdc::pipeline

#endif // PDC_COMPILER_PIPELINE_MESSAGETIMES_H
