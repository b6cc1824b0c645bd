//===- ReportText.h - numbers of a report for a person ----------*- C++ -*-===//
#ifndef PDC_COMPILER_PLAN_REPORTTEXT_H
#define PDC_COMPILER_PLAN_REPORTTEXT_H

#include "llvm/Support/JSON.h"
#include <string>

namespace pdc::plan {

/// "4.00 MiB"
std::string bytesText(double bytes);
/// "12.30 us"
std::string secondsText(double seconds);
/// The number under a key; 0 where there is none.
double number(const llvm::json::Object &object, llvm::StringRef key);
/// "exact", or "exact (not proved best)" where the plan's cost is above the lower bound by more than rounding: of a search.
std::string methodText(const llvm::json::Object &search);
/// "batch/data x features": of a row of the report's layouts, a dimension's name, or its size, then the axes that split it.
std::string layoutText(const llvm::json::Object &layout);
/// "  (stages 1, 2)", where only some have it so.
std::string stagesText(const llvm::json::Object &layout);
/// " (12)", of a row that stands for so many equal layers.
std::string countText(const llvm::json::Object &row);
/// "replicas split each micro-batch, predicted 1.20 ms; 1.50 ms where they take whole ones in turn"; "" where nothing was chosen.
std::string exchangeText(const llvm::json::Object &report);
/// "tensor and data"
std::string axesText(const llvm::json::Object &communication);

} // namespace pdc::plan

#endif // PDC_COMPILER_PLAN_REPORTTEXT_H
