//===- ReportTable.cpp - the plan of an executable, for a person ----------===//

#include "compiler/plan/Report.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"

using namespace llvm;

static std::string withUnit(double value, ArrayRef<StringLiteral> units, double base) {
  size_t unit = 0;
  while (value >= base && unit + 1 < units.size()) {
    value /= base;
    ++unit;
  }
  std::string text;
  raw_string_ostream os(text);
  os << format(unit == 0 && value == static_cast<int64_t>(value) ? "%.0f " : "%.2f ", value) << units[unit];
  return text;
}

static std::string bytesText(double bytes) {
  return withUnit(bytes,
                  {StringLiteral("B"), StringLiteral("KiB"), StringLiteral("MiB"), StringLiteral("GiB"),
                   StringLiteral("TiB")},
                  1024);
}

static std::string secondsText(double seconds) {
  return withUnit(seconds * 1e6, {StringLiteral("us"), StringLiteral("ms"), StringLiteral("s")}, 1000);
}

static double number(const json::Object &object, StringRef key) { return object.getNumber(key).value_or(0); }

static void printMemory(const json::Array &rows, raw_ostream &os) {
  constexpr StringLiteral columns[] = {"parameters",         "optimizer_state", "state",
                                       "gradients",          "activations",     "temporaries",
                                       "inputs_and_outputs", "unused",          "total"};
  os << "Memory per rank, in bytes, at the instruction that needs most (kinds and unused add up to the "
        "arenas)\n";
  os << format("  %-5s %6s", "rank", "batch");
  for (StringRef column : columns)
    os << format(" %18s", column.str().c_str());
  os << "\n";
  for (const json::Value &value : rows) {
    const json::Object &row = *value.getAsObject();
    os << format("  %-5lld %6lld", static_cast<long long>(number(row, "rank")),
                 static_cast<long long>(number(row, "local_batch")));
    for (StringRef column : columns)
      os << format(" %18lld", static_cast<long long>(number(row, column)));
    os << "\n";
  }
}

static void printCollectives(const json::Array &rows, raw_ostream &os) {
  os << "Collectives of a step, in order\n";
  if (rows.empty())
    os << "  none\n";
  for (const json::Value &value : rows) {
    const json::Object &row = *value.getAsObject();
    os << format("  %-15s %12s  %lld ranks  ", row.getString("kind").value_or("").str().c_str(),
                 bytesText(number(row, "bytes")).c_str(), static_cast<long long>(number(row, "ranks")))
       << row.getString("label").value_or("") << "\n";
  }
}

/// "batch/data x features": a dimension's name, or its size, then the axes that split it.
static std::string layoutText(const json::Object &row) {
  std::string text;
  const json::Array &names = *row.getArray("dims"), &axes = *row.getArray("axes"),
                    &shape = *row.getArray("shape");
  for (size_t i = 0; i < shape.size(); ++i) {
    std::string name = i < names.size() ? names[i].getAsString().value_or("").str() : "";
    text += (i ? " x " : "") + (name.empty() ? std::to_string(shape[i].getAsInteger().value_or(0)) : name);
    for (const json::Value &axis : *axes[i].getAsArray())
      text += "/" + axis.getAsString().value_or("").str();
  }
  return text.empty() ? "scalar" : text;
}

static void printLayouts(const json::Array &rows, raw_ostream &os) {
  os << "Layouts (dimension/axis that splits it)\n";
  for (const json::Value &value : rows) {
    const json::Object &row = *value.getAsObject();
    os << format("  %-36s ", row.getString("value").value_or("").str().c_str()) << layoutText(row) << "\n";
  }
}

static void printSearch(const json::Object &report, raw_ostream &os) {
  if (const json::Array *mesh = report.getArray("mesh"); mesh && !mesh->empty()) {
    os << "Mesh";
    for (const json::Value &value : *mesh) {
      const json::Object &axis = *value.getAsObject();
      os << " " << axis.getString("axis").value_or("") << "=" << static_cast<int64_t>(number(axis, "size"));
    }
    os << "\n";
  }
  const json::Object *search = report.getObject("search");
  if (search && search->getNumber("lower_bound")) {
    os << "Search: " << search->getString("method").value_or("") << ", "
       << format("%.3g", number(*search, "plans_considered")) << " plans in "
       << secondsText(number(*search, "time")) << ", cost " << secondsText(number(*search, "cost"))
       << ", lower bound " << secondsText(number(*search, "lower_bound")) << " (gap "
       << format("%.3g", 100 * number(*search, "gap")) << " %)\n";
  }
  os << "\n";
}

void pdc::plan::printTable(const json::Object &report, raw_ostream &os) {
  const json::Object &parallel = *report.getObject("parallel"), &predicted = *report.getObject("predicted");
  StringRef optimizer = report.getString("optimizer").value_or("");
  os << "Model " << report.getString("model").value_or("") << ": "
     << static_cast<int64_t>(number(report, "ranks")) << " ranks (data "
     << static_cast<int64_t>(number(parallel, "data")) << ", tensor "
     << static_cast<int64_t>(number(parallel, "tensor")) << ", pipeline "
     << static_cast<int64_t>(number(parallel, "pipeline")) << ", ZeRO "
     << static_cast<int64_t>(number(parallel, "zero")) << "), batch "
     << static_cast<int64_t>(number(report, "batch")) << ", " << report.getString("precision").value_or("")
     << ", " << (optimizer.empty() ? "inference" : optimizer) << ", "
     << static_cast<int64_t>(number(report, "threads")) << " thread(s) per rank\n\n";
  os << "Predicted step on machine '" << report.getString("machine").value_or("")
     << "': " << secondsText(number(predicted, "step_time")) << " (compute "
     << secondsText(number(predicted, "compute_time")) << ", exposed communication "
     << secondsText(number(predicted, "exposed_comm_time")) << ")\n\n";
  printSearch(report, os);
  printMemory(*report.getArray("memory"), os);
  os << "\n";
  printCollectives(*report.getArray("collectives"), os);
  os << "\n";
  printLayouts(*report.getArray("layouts"), os);
  if (const json::Array *decisions = report.getArray("decisions"); decisions && !decisions->empty()) {
    os << "\nDecisions\n";
    for (const json::Value &value : *decisions) {
      const json::Object &row = *value.getAsObject();
      os << "  " << row.getString("what").value_or("") << ": " << row.getString("chosen").value_or("");
      if (StringRef other = row.getString("runner_up").value_or(""); !other.empty())
        os << " rather than " << other << " (" << secondsText(number(row, "cost_difference")) << " more)";
      os << "\n";
    }
  }
}
