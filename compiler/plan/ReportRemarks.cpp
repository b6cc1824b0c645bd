//===- ReportRemarks.cpp - a plan, remark by remark -----------------------===//

#include "compiler/plan/Report.h"
#include "compiler/plan/ReportText.h"
#include "llvm/Support/Format.h"

using namespace llvm;
using namespace pdc::plan;

static StringRef text(const json::Object &row, StringRef key) { return row.getString(key).value_or(""); }

static void printSearch(const json::Object &search, raw_ostream &os) {
  if (!search.getNumber("lower_bound")) {
    os << "remark: search: none, the plan was given\n";
    return;
  }
  os << "remark: search: " << methodText(search) << ", cost " << secondsText(number(search, "cost"))
     << ", lower bound " << secondsText(number(search, "lower_bound")) << ", gap "
     << format("%.3g", 100 * number(search, "gap")) << " %\n";
  if (const json::Array *plans = search.getArray("simulated"))
    for (const json::Value &value : *plans) {
      const json::Object &plan = *value.getAsObject();
      os << "remark: simulated: " << text(plan, "plan") << ", cost " << secondsText(number(plan, "cost"))
         << ", predicted " << secondsText(number(plan, "step_time")) << ", " << bytesText(number(plan, "memory"))
         << (plan.getBoolean("chosen").value_or(false) ? ", chosen" : "") << "\n";
    }
}

void pdc::plan::printRemarks(const json::Object &report, raw_ostream &os) {
  if (const json::Object *search = report.getObject("search"))
    printSearch(*search, os);
  if (std::string exchange = exchangeText(report); !exchange.empty())
    os << "remark: exchange: " << exchange << "\n";
  for (const json::Value &value : *report.getArray("decisions")) {
    const json::Object &row = *value.getAsObject();
    os << "remark: " << text(row, "what") << ": " << text(row, "chosen");
    if (!text(row, "runner_up").empty())
      os << "; runner-up " << text(row, "runner_up") << ", " << secondsText(number(row, "cost_difference"))
         << " more";
    os << "\n";
  }
  if (const json::Array *rows = report.getArray("communication"))
    for (const json::Value &value : *rows) {
      const json::Object &row = *value.getAsObject();
      os << "remark: " << text(row, "kind") << " over " << axesText(row) << ": " << text(row, "cause") << " "
         << text(row, "why") << "; " << bytesText(number(row, "bytes")) << ", "
         << secondsText(number(row, "time")) << "\n";
    }
  for (const json::Value &value : *report.getArray("memory")) {
    const json::Object &row = *value.getAsObject();
    os << "remark: memory of rank " << static_cast<int64_t>(number(row, "rank")) << ": "
       << bytesText(number(row, "total")) << " (parameters " << bytesText(number(row, "parameters"))
       << ", optimizer state " << bytesText(number(row, "optimizer_state")) << ", gradients "
       << bytesText(number(row, "gradients")) << ", activations " << bytesText(number(row, "activations"))
       << "), most at " << text(row, "peak_at") << "\n";
  }
}
