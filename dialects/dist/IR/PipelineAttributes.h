//===- PipelineAttributes.h - how a plan states a pipeline ------*- C++ -*-===//
#ifndef PDC_DIALECTS_DIST_IR_PIPELINEATTRIBUTES_H
#define PDC_DIALECTS_DIST_IR_PIPELINEATTRIBUTES_H

#include "llvm/ADT/StringRef.h"
#include <optional>

namespace pdc::dist {

/// On forward ops of a planned step: the chunk of the pipeline that runs the op, from 0 on.
inline constexpr llvm::StringLiteral kChunkAttr = "dist.chunk";

/// On a planned module whose steps run in micro-batches: how many stages there are (1: no pipeline), how many micro-batches,
/// and in which order they run.
inline constexpr llvm::StringLiteral kStagesAttr = "dist.stages";
inline constexpr llvm::StringLiteral kMicroBatchesAttr = "dist.micro_batches";
inline constexpr llvm::StringLiteral kScheduleAttr = "dist.schedule";

/// On a planned module whose stages have different numbers of replicas, where these could share each micro-batch or take whole
/// ones in turn: what a step is predicted to take either way, `dist.exchange = {round_robin = 0.5 : f64, split = 0.4 : f64}`.
inline constexpr llvm::StringLiteral kExchangeAttr = "dist.exchange";
inline constexpr llvm::StringLiteral kSplitName = "split", kRoundRobinName = "round_robin";

/// On a planned module, also where it has one stage and no micro-batches: an array of strings, a word for each stage (of a
/// schedule with several chunks on a rank: for each rank's place in the pipeline) in order, that says what its backward pass
/// computes again; `dist.recompute = ["full", "none"]`. Without it no stage computes anything again.
inline constexpr llvm::StringLiteral kRecomputeAttr = "dist.recompute";

/// What a stage's backward pass computes again (activation checkpointing): the words of kRecomputeAttr and of --recompute.
enum class Recompute {
  None,
  /// All but products with parameters and what collectives give (Korthikanti et al., "Reducing Activation Recomputation in
  /// Large Transformer Models", 2022): the attention core, normalizations, activations.
  Selective,
  /// All but the values at a few borders between segments (Chen et al., "Training Deep Nets with Sublinear Memory Cost",
  /// 2016).
  Full
};
inline constexpr Recompute kRecomputes[] = {Recompute::None, Recompute::Selective, Recompute::Full};

inline const char *toString(Recompute recompute) {
  return recompute == Recompute::None ? "none" : recompute == Recompute::Full ? "full" : "selective";
}
inline std::optional<Recompute> parseRecompute(llvm::StringRef word) {
  for (Recompute recompute : kRecomputes)
    if (word == toString(recompute))
      return recompute;
  return std::nullopt;
}

} // namespace pdc::dist

#endif // PDC_DIALECTS_DIST_IR_PIPELINEATTRIBUTES_H
