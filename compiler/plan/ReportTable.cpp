//===- ReportTable.cpp - the plan of an executable, for a person ----------===//

#include "compiler/plan/EqualLayers.h"
#include "compiler/plan/Report.h"
#include "compiler/plan/ReportText.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include <map>

using namespace llvm;
using namespace pdc::plan;

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

std::string pdc::plan::bytesText(double bytes) {
  return withUnit(bytes,
                  {StringLiteral("B"), StringLiteral("KiB"), StringLiteral("MiB"), StringLiteral("GiB"),
                   StringLiteral("TiB")},
                  1024);
}

std::string pdc::plan::secondsText(double seconds) {
  return withUnit(seconds * 1e6, {StringLiteral("us"), StringLiteral("ms"), StringLiteral("s")}, 1000);
}

double pdc::plan::number(const json::Object &object, StringRef key) {
  return object.getNumber(key).value_or(0);
}

std::string pdc::plan::exchangeText(const json::Object &report) {
  const json::Object *exchange = report.getObject("exchange");
  if (!exchange)
    return "";
  const json::Object &seconds = *exchange->getObject("step_time");
  auto text = [&](StringRef key) {
    std::optional<double> value = seconds.getNumber(key);
    return value ? secondsText(*value) : std::string("no plan that fits");
  };
  return exchange->getString("chosen") == "split"
             ? "replicas split each micro-batch, predicted " + text("split") + "; " + text("round-robin") +
                   " where they take whole ones in turn"
             : "replicas take whole micro-batches in turn, predicted " + text("round-robin") + "; " + text("split") +
                   " where they split each";
}

std::string pdc::plan::methodText(const json::Object &search) {
  // Sums in another order differ by less.
  constexpr double rounding = 1e-6;
  return search.getString("method").value_or("").str() + (number(search, "gap") > rounding ? " (not proved best)" : "");
}

std::string pdc::plan::axesText(const json::Object &communication) {
  std::string text;
  for (const json::Value &axis : *communication.getArray("axes"))
    text += (text.empty() ? "" : " and ") + axis.getAsString().value_or("").str();
  return text;
}

/// "3", or "3-5".
static std::string rangeText(int64_t first, int64_t last) {
  return std::to_string(first) + (last > first ? "-" + std::to_string(last) : "");
}

/// Ranks that follow each other and need the same have one line.
static void printMemory(const json::Array &rows, raw_ostream &os) {
  constexpr StringLiteral columns[] = {"parameters",         "optimizer_state", "state",
                                       "gradients",          "activations",     "temporaries",
                                       "inputs_and_outputs", "unused",          "total"};
  os << "Memory per rank, in bytes, at the instruction that needs most (kinds and unused add up to the "
        "arenas)\n";
  os << format("  %-9s %6s", "ranks", "batch");
  for (StringRef column : columns)
    os << format(" %18s", column.str().c_str());
  os << "\n";
  std::vector<std::pair<std::string, std::string>> lines; // ranks, numbers
  int64_t first = 0;
  for (const json::Value &value : rows) {
    const json::Object &row = *value.getAsObject();
    auto rank = static_cast<int64_t>(number(row, "rank"));
    std::string numbers;
    raw_string_ostream text(numbers);
    text << format(" %6lld", static_cast<long long>(number(row, "local_batch")));
    for (StringRef column : columns)
      text << format(" %18lld", static_cast<long long>(number(row, column)));
    if (lines.empty() || lines.back().second != numbers) {
      first = rank;
      lines.emplace_back("", numbers);
    }
    lines.back().first = rangeText(first, rank);
  }
  for (const auto &[ranks, numbers] : lines)
    os << format("  %-9s", ranks.c_str()) << numbers << "\n";
}

/// A plan for other machines than this one may be looked at all the same, so this is no error.
static void printExcess(const json::Array &rows, raw_ostream &os) {
  for (const json::Value &value : rows) {
    const json::Object &row = *value.getAsObject();
    double needed = number(row, "needed"), available = number(row, "available");
    StringRef device = row.getString("device").value_or("");
    os << "  Rank " << static_cast<int64_t>(number(row, "rank"))
       << (device == "host" ? " and those beside it need " : " needs ") << bytesText(needed) << ", "
       << bytesText(needed - available) << " more than "
       << (device == "host" ? "its host" : ("its device, " + device + ",").str()) << " has ("
       << bytesText(available) << "): --memory-limit=BYTES asks for a plan that fits\n";
  }
}

static void printCollective(const json::Object &row, StringRef indent, raw_ostream &os) {
  os << indent
     << format("  %-15s %12s %12s  %lld ranks  ", row.getString("kind").value_or("").str().c_str(),
               bytesText(number(row, "bytes")).c_str(), secondsText(number(row, "time")).c_str(),
               static_cast<long long>(number(row, "ranks")))
     << row.getString("label").value_or("") << "\n";
}

/// What equal layers or micro-batches do after each other stands once.
static void printCollectives(const json::Array &rows, raw_ostream &os) {
  os << "Collectives and messages of rank 0 in a step, in order\n";
  if (rows.empty())
    os << "  none\n";
  for (const Repeat &repeat : findRepeats(keysOfEqualLayers(rows, {"label"}))) {
    if (repeat.times > 1)
      os << "  " << repeat.times << " times\n";
    for (size_t i = repeat.begin; i < repeat.begin + repeat.length; ++i) {
      json::Array alike;
      for (size_t time = 0; time < repeat.times; ++time)
        alike.push_back(rows[i + time * repeat.length]);
      json::Object row = *mergeEqualLayers(alike, {"label"}).front().getAsObject();
      row["time"] = number(*rows[i].getAsObject(), "time"); // of one
      printCollective(row, repeat.times > 1 ? "  " : "", os);
    }
  }
}

static void printCommunication(const json::Array &rows, raw_ostream &os) {
  os << "Why ranks communicate (times, kind, mesh axes, bytes each, time of all)\n";
  for (const json::Value &value : mergeEqualLayers(rows, {"cause", "why"})) {
    const json::Object &row = *value.getAsObject();
    os << format("  %4lld x %-14s %-12s %12s %12s  ", static_cast<long long>(row.getInteger("count").value_or(1)),
                 row.getString("kind").value_or("").str().c_str(), axesText(row).c_str(),
                 bytesText(number(row, "bytes")).c_str(), secondsText(number(row, "time")).c_str())
       << row.getString("cause").value_or("") << " " << row.getString("why").value_or("") << "\n";
  }
  os << "\n";
}

std::string pdc::plan::layoutText(const json::Object &row) {
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

std::string pdc::plan::stagesText(const json::Object &row) {
  std::string text;
  if (const json::Array *stages = row.getArray("stages"))
    for (const json::Value &stage : *stages)
      text += (text.empty() ? "  (stages " : ", ") + std::to_string(stage.getAsInteger().value_or(0));
  return text.empty() ? text : text + ")";
}

std::string pdc::plan::countText(const json::Object &row) {
  int64_t count = row.getInteger("count").value_or(1);
  return count > 1 ? " (" + std::to_string(count) + ")" : "";
}

static void printLayouts(const json::Array &rows, raw_ostream &os) {
  os << "Layouts (dimension/axis that splits it)\n";
  for (const json::Value &value : mergeEqualLayers(rows, {"value"})) {
    const json::Object &row = *value.getAsObject();
    os << format("  %-36s ", (row.getString("value").value_or("") + countText(row)).str().c_str()) << layoutText(row)
       << stagesText(row) << "\n";
  }
}

static void printDecisions(const json::Array &rows, raw_ostream &os) {
  os << "\nDecisions\n";
  for (const json::Value &value : mergeEqualLayers(rows, {"what"})) {
    const json::Object &row = *value.getAsObject();
    os << "  " << row.getString("what").value_or("") << countText(row) << ": " << row.getString("chosen").value_or("");
    if (StringRef other = row.getString("runner_up").value_or(""); !other.empty())
      os << " rather than " << other << " (" << secondsText(number(row, "cost_difference")) << " more)";
    os << "\n";
  }
}

static void printMesh(const json::Object &row, StringRef title, raw_ostream &os) {
  const json::Array *mesh = row.getArray("mesh");
  if (!mesh || mesh->empty())
    return;
  os << title;
  for (const json::Value &value : *mesh) {
    const json::Object &axis = *value.getAsObject();
    os << " " << axis.getString("axis").value_or("") << "=" << static_cast<int64_t>(number(axis, "size"));
  }
}

/// What the best plans take as finished programs: this chose among them.
static void printSimulated(const json::Object &search, raw_ostream &os) {
  const json::Array *plans = search.getArray("simulated");
  if (!plans || plans->empty())
    return;
  os << "Chosen by simulating the best of " << plans->size() << " meshes and presets\n";
  for (const json::Value &value : *plans) {
    const json::Object &plan = *value.getAsObject();
    os << format("  %s %-24s cost %12s  predicted %12s %16lld B\n", plan.getBoolean("chosen").value_or(false) ? "*" : " ",
                 plan.getString("plan").value_or("").str().c_str(), secondsText(number(plan, "cost")).c_str(),
                 secondsText(number(plan, "step_time")).c_str(), static_cast<long long>(number(plan, "memory")));
  }
}

/// The plans of a space, which can be more than a number of JSON holds.
static std::string plansText(double plans) {
  if (plans >= 1e308)
    return "over 1e+308 plans";
  std::string text;
  raw_string_ostream(text) << format("%.3g plans", plans);
  return text;
}

static void printSearch(const json::Object &report, raw_ostream &os) {
  printMesh(report, "Mesh", os);
  if (const json::Array *mesh = report.getArray("mesh"); mesh && !mesh->empty())
    os << "\n";
  const json::Object *search = report.getObject("search");
  if (search && search->getNumber("lower_bound")) {
    os << "Search: " << methodText(*search) << ", " << plansText(number(*search, "plans_considered")) << ", cost "
       << secondsText(number(*search, "cost"))
       << ", lower bound " << secondsText(number(*search, "lower_bound")) << " (gap "
       << format("%.3g", 100 * number(*search, "gap")) << " %)\n";
    printSimulated(*search, os);
  }
  os << "\n";
}

/// ", recompute full"; nothing where a stage keeps all that its backward pass needs.
static std::string recomputeText(const json::Object &parallel, size_t stage) {
  const json::Array *words = parallel.getArray("recompute");
  StringRef word = words && stage < words->size() ? (*words)[stage].getAsString().value_or("none") : "none";
  return word == "none" ? "" : ", recompute " + word.str();
}

/// "wte to h0.fc, h2.ln to h2.fc": of a stage's layers, which stand in the order of the model, those that follow each other.
static std::string layersText(const json::Array &layers, const json::Array &layouts) {
  std::map<std::string, size_t> places; // of all layers of the model
  for (const json::Value &value : layouts)
    places.try_emplace(value.getAsObject()->getString("value").value_or("").rsplit('.').first.str(), places.size());
  std::string text;
  for (size_t begin = 0, end; begin < layers.size(); begin = end) {
    auto nameAt = [&](size_t i) { return layers[i].getAsString().value_or("").str(); };
    for (end = begin + 1; end < layers.size() && places[nameAt(end)] == places[nameAt(end - 1)] + 1;)
      ++end;
    text += (begin ? ", " : " ") + nameAt(begin) + (end - begin > 1 ? " to " + nameAt(end - 1) : "");
  }
  return text;
}

/// Micro-batches, and which ranks hold which layers.
static void printStages(const json::Object &report, raw_ostream &os) {
  const json::Object &parallel = *report.getObject("parallel");
  StringRef schedule = parallel.getString("schedule").value_or("none");
  if (schedule == "none") {
    if (std::string text = recomputeText(parallel, 0); !text.empty())
      os << "Whole batch" << text << "\n\n";
    return;
  }
  os << "Schedule " << schedule << ": " << static_cast<int64_t>(number(parallel, "micro_batches"))
     << (number(parallel, "micro_batches") == 1 ? " micro-batch" : " micro-batches") << ", stages wait "
     << format("%.3g", 100 * number(*report.getObject("predicted"), "bubble_fraction")) << " % of a step\n";
  if (std::string text = exchangeText(report); !text.empty())
    os << "  " << text << "\n";
  for (auto [index, value] : enumerate(*report.getArray("stages"))) {
    const json::Object &stage = *value.getAsObject();
    const json::Array &ranks = *stage.getArray("ranks"), &layers = *stage.getArray("layers");
    os << "  stage " << index << ": " << (ranks.size() > 1 ? "ranks " : "rank ")
       << rangeText(ranks.front().getAsInteger().value_or(0), ranks.back().getAsInteger().value_or(0)) << ", " << secondsText(number(stage, "time")) << ", " << static_cast<int64_t>(number(stage, "memory"))
       << " B, layers" << layersText(layers, *report.getArray("layouts"));
    printMesh(stage, ", mesh", os);
    os << recomputeText(parallel, index) << "\n";
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
  printStages(report, os);
  os << "Predicted step on machine '" << report.getString("machine").value_or("")
     << "': " << secondsText(number(predicted, "step_time")) << " (compute "
     << secondsText(number(predicted, "compute_time")) << ", exposed communication "
     << secondsText(number(predicted, "exposed_comm_time")) << ")\n\n";
  printSearch(report, os);
  printMemory(*report.getArray("memory"), os);
  if (const json::Array *excess = report.getArray("exceeds_memory"))
    printExcess(*excess, os);
  os << "\n";
  printCollectives(*report.getArray("collectives"), os);
  os << "\n";
  if (const json::Array *rows = report.getArray("communication"); rows && !rows->empty())
    printCommunication(*rows, os);
  printLayouts(*report.getArray("layouts"), os);
  if (const json::Array *decisions = report.getArray("decisions"); decisions && !decisions->empty())
    printDecisions(*decisions, os);
}
