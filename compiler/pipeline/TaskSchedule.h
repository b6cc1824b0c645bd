//===- TaskSchedule.h - which schedule --schedule names ---------*- C++ -*-===//
#ifndef PDC_COMPILER_PIPELINE_TASKSCHEDULE_H
#define PDC_COMPILER_PIPELINE_TASKSCHEDULE_H

#include "compiler/pipeline/Options.h"
#include "llvm/ADT/StringRef.h"
#include <memory>
#include <string>
#include <utility>

namespace mlir {
class Pass;
} // namespace mlir

namespace pdc::passes {
class MessageCosts;
} // namespace pdc::passes

namespace pdc::pipeline {

struct TaskSchedule {
  std::string name;         // as --schedule has it
  int64_t microBatches = 1; // of a step
  std::string tasks;        // as schedule::toString writes them
  bool verticalSync = false; // pipedream: a mini-batch meets one version of the parameters on all stages
  bool takesTurns = false;   // replicas of a stage take micro-batches in turn, instead of a part of each
  int mostInFlight = 0;      // message-driven: micro-batches whose activations a stage holds; 0: another schedule
  bool isTrivial() const { return name == "none"; }
};

/// The schedule for the stages, micro-batches and schedule that are asked for; "none" where a step is the whole batch on
/// one stage. What is not said: 1f1b, as many micro-batches as stages. Errors: a schedule that is none, that executables
/// cannot run yet, or that does not exist for these numbers.
llvm::Expected<TaskSchedule> makeTaskSchedule(const CompileOptions &options);

/// "zb-h1" and 1 for "zb", "interleaved" and 3 for "interleaved:chunks=3". Of what makeTaskSchedule refuses, the text as it is.
std::pair<std::string, int64_t> scheduleAndChunks(llvm::StringRef text);

/// The schedule with its replicas taking micro-batches in turn, "1f1b:round-robin"; "" where it cannot be one of these.
std::string withTurns(llvm::StringRef text);
/// Whether the text leaves to pdc what replicas do: it says neither round-robin nor split, and they could take turns with the
/// same results. (Without a flush they would make fewer updates.)
bool leavesTurnsOpen(llvm::StringRef text);

/// Whether it is one that stages are searched for with, or leaves that to the search. Whatever settings follow a colon.
bool isSearchedSchedule(llvm::StringRef text);

/// The pass that runs steps in a schedule; messages cost so much.
std::unique_ptr<mlir::Pass> createPipelinePass(const TaskSchedule &schedule,
                                               std::shared_ptr<const passes::MessageCosts> costs);

} // namespace pdc::pipeline

#endif // PDC_COMPILER_PIPELINE_TASKSCHEDULE_H
