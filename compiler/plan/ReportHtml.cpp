//===- ReportHtml.cpp - the plan of an executable as a page ---------------===//

#include "compiler/plan/EqualLayers.h"
#include "compiler/plan/Report.h"
#include "compiler/plan/ReportText.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include <algorithm>

using namespace llvm;
using namespace pdc::plan;

namespace {

constexpr StringLiteral kStyle = R"(body{font:15px/1.45 system-ui,sans-serif;margin:2em auto;max-width:75em;padding:0 1em;color:#1c2733}
h1{font-size:1.5em}h2{font-size:1.15em;margin-top:2em}
table{border-collapse:collapse}th,td{padding:.25em .8em;text-align:left;border-bottom:1px solid #dde3ea;vertical-align:top}
th{color:#5b6b7c;font-weight:600}td.n{text-align:right;font-variant-numeric:tabular-nums}code{font-size:.92em}
.bar{display:flex;height:1.3em;background:#eef1f5;min-width:32em}.bar span{display:block;height:100%}
.key span{display:inline-block;width:.8em;height:.8em;margin:0 .35em 0 1em}
)";

struct Kind {
  StringLiteral key, color;
};
constexpr Kind kKinds[] = {
    {StringLiteral("parameters"), StringLiteral("#3567b0")},         {StringLiteral("optimizer_state"), StringLiteral("#7a4fa3")},
    {StringLiteral("state"), StringLiteral("#2a9d8f")},              {StringLiteral("gradients"), StringLiteral("#d1495b")},
    {StringLiteral("activations"), StringLiteral("#e5a323")},        {StringLiteral("temporaries"), StringLiteral("#8d99ae")},
    {StringLiteral("inputs_and_outputs"), StringLiteral("#90be6d")}, {StringLiteral("unused"), StringLiteral("#cfd8e3")}};

std::string escaped(StringRef text) {
  std::string result;
  raw_string_ostream os(result);
  printHTMLEscaped(text, os);
  return result;
}

std::string escaped(const json::Object &object, StringRef key) { return escaped(object.getString(key).value_or("")); }

/// A table: its heading, then rows of cells that are HTML already. Cells of numbers stand on the right.
class Table {
public:
  Table(raw_ostream &os, ArrayRef<StringRef> heading) : os(os) {
    os << "<table>";
    if (heading.empty())
      return;
    os << "<tr>";
    for (StringRef title : heading)
      os << "<th>" << title << "</th>";
    os << "</tr>\n";
  }
  ~Table() { os << "</table>\n"; }
  Table(const Table &) = delete;
  Table &operator=(const Table &) = delete;

  Table &row() {
    os << "<tr>";
    return *this;
  }
  Table &text(const Twine &html) {
    os << "<td>" << html << "</td>";
    return *this;
  }
  Table &figure(const Twine &html) {
    os << "<td class=n>" << html << "</td>";
    return *this;
  }
  void end() { os << "</tr>\n"; }

private:
  raw_ostream &os;
};

/// Calls `body` for each object of report[key]; not at all where there is none.
void forEach(const json::Object &report, StringRef key, function_ref<void(const json::Object &)> body) {
  if (const json::Array *rows = report.getArray(key))
    for (const json::Value &value : *rows)
      if (const json::Object *row = value.getAsObject())
        body(*row);
}

/// What equal layers have stands once.
void forEachOfEqual(const json::Object &report, StringRef key, ArrayRef<StringRef> texts,
                    function_ref<void(const json::Object &)> body) {
  if (const json::Array *rows = report.getArray(key))
    for (const json::Value &row : mergeEqualLayers(*rows, texts))
      body(*row.getAsObject());
}

void forEachWord(const json::Object &object, StringRef key, function_ref<void(StringRef)> body) {
  if (const json::Array *words = object.getArray(key))
    for (const json::Value &word : *words)
      body(word.getAsString().value_or(""));
}

bool isEmpty(const json::Object &report, StringRef key) {
  const json::Array *rows = report.getArray(key);
  return !rows || rows->empty();
}

void printSummary(const json::Object &report, raw_ostream &os) {
  const json::Object none, *parallel = report.getObject("parallel"), *predicted = report.getObject("predicted"),
                           *search = report.getObject("search");
  parallel = parallel ? parallel : &none;
  predicted = predicted ? predicted : &none;
  Table table(os, {});
  auto line = [&](StringRef what, const Twine &value) { table.row().text(what).text(value).end(); };
  std::string mesh;
  forEach(report, "mesh", [&](const json::Object &axis) {
    mesh += formatv("{0}{1} {2}", mesh.empty() ? "" : ", ", escaped(axis, "axis"), static_cast<int64_t>(number(axis, "size"))).str();
  });
  line("ranks", Twine(static_cast<int64_t>(number(report, "ranks"))) + (mesh.empty() ? "" : " (" + mesh + ")"));
  std::string degrees;
  for (StringRef key : {"data", "tensor", "pipeline", "zero", "micro_batches"})
    degrees += formatv("{0}{1} {2}", degrees.empty() ? "" : ", ", key, static_cast<int64_t>(number(*parallel, key))).str();
  line("parallel", degrees + ", schedule " + escaped(*parallel, "schedule"));
  if (std::string text = exchangeText(report); !text.empty())
    line("exchange between stages", text);
  std::string recompute;
  forEachWord(*parallel, "recompute", [&](StringRef word) { recompute += (recompute.empty() ? "" : ", ") + escaped(word); });
  line("recompute, by stage", recompute);
  line("batch, precision, optimizer", Twine(static_cast<int64_t>(number(report, "batch"))) + ", " + escaped(report, "precision") +
                                          ", " + escaped(report, "optimizer"));
  line("predicted step on " + escaped(report, "machine"),
       secondsText(number(*predicted, "step_time")) + " (compute " + secondsText(number(*predicted, "compute_time")) +
           ", exposed communication " + secondsText(number(*predicted, "exposed_comm_time")) + ")");
  if (search && search->getNumber("lower_bound"))
    line("search", escaped(methodText(*search)) + ": cost " + secondsText(number(*search, "cost")) + ", lower bound " +
                       secondsText(number(*search, "lower_bound")) +
                       formatv(" (gap {0:F2} %)", 100 * number(*search, "gap")).str());
  if (search)
    forEach(*search, "simulated", [&](const json::Object &plan) {
      line(plan.getBoolean("chosen").value_or(false) ? "chosen by simulation" : "simulated",
           escaped(plan, "plan") + ": predicted " + secondsText(number(plan, "step_time")) + ", cost " +
               secondsText(number(plan, "cost")));
    });
}

void printMemory(const json::Object &report, raw_ostream &os) {
  double most = 1;
  forEach(report, "memory", [&](const json::Object &row) { most = std::max(most, number(row, "total")); });
  os << "<h2>Memory by rank, at the instruction that needs most</h2>\n<p class=key>";
  for (const Kind &kind : kKinds)
    os << "<span style=\"background:" << kind.color << "\"></span>" << kind.key;
  os << "</p>\n";
  Table table(os, {"rank", "", "total", "peak at"});
  forEach(report, "memory", [&](const json::Object &row) {
    std::string bar = "<div class=bar>";
    for (const Kind &kind : kKinds)
      if (double bytes = number(row, kind.key); bytes > 0)
        bar += formatv("<span style=\"width:{0:F3}%;background:{1}\" title=\"{2}: {3} bytes\"></span>", 100 * bytes / most, kind.color,
                       kind.key, static_cast<int64_t>(bytes))
                   .str();
    table.row()
        .figure(Twine(static_cast<int64_t>(number(row, "rank"))))
        .text(bar + "</div>")
        .figure(bytesText(number(row, "total")))
        .text(escaped(row, "peak_at"))
        .end();
  });
}

void printCollectives(const json::Object &report, raw_ostream &os) {
  os << "<h2>Collectives and messages of rank 0 in a step, in order</h2>\n";
  if (isEmpty(report, "collectives")) {
    os << "<p>None.</p>\n";
    return;
  }
  Table table(os, {"kind", "bytes", "ranks", "time", "for"});
  forEach(report, "collectives", [&](const json::Object &row) {
    std::string time = row.getNumber("time") ? secondsText(number(row, "time")) : "";
    table.row()
        .text(escaped(row, "kind"))
        .figure(bytesText(number(row, "bytes")))
        .figure(Twine(static_cast<int64_t>(number(row, "ranks"))))
        .figure(time)
        .text(escaped(row, "label"))
        .end();
  });
}

void printCommunication(const json::Object &report, raw_ostream &os) {
  if (isEmpty(report, "communication"))
    return;
  os << "<h2>Why ranks communicate</h2>\n";
  Table table(os, {"times", "kind", "mesh axes", "bytes", "time of all", "caused by", "why"});
  forEachOfEqual(report, "communication", {"cause", "why"}, [&](const json::Object &row) {
    table.row()
        .figure(Twine(row.getInteger("count").value_or(1)))
        .text(escaped(row, "kind"))
        .text(row.getArray("axes") ? escaped(axesText(row)) : "")
        .figure(bytesText(number(row, "bytes")))
        .figure(secondsText(number(row, "time")))
        .text(escaped(row, "cause"))
        .text(escaped(row, "why"))
        .end();
  });
}

void printStages(const json::Object &report, raw_ostream &os) {
  const json::Array *stages = report.getArray("stages");
  if (!stages || stages->size() < 2)
    return;
  os << "<h2>Stages</h2>\n";
  Table table(os, {"stage", "ranks", "time", "memory", "layers"});
  int64_t index = 0;
  auto joined = [](const json::Array *values) {
    std::string text;
    for (const json::Value &value : values ? *values : json::Array())
      text += (text.empty() ? "" : ", ") +
              (value.getAsString() ? escaped(*value.getAsString()) : std::to_string(value.getAsInteger().value_or(0)));
    return text;
  };
  forEach(report, "stages", [&](const json::Object &row) {
    table.row()
        .figure(Twine(index++))
        .text(joined(row.getArray("ranks")))
        .figure(secondsText(number(row, "time")))
        .figure(bytesText(number(row, "memory")))
        .text(joined(row.getArray("layers")))
        .end();
  });
}

void printLayouts(const json::Object &report, raw_ostream &os) {
  os << "<h2>Layouts: dimensions and the axes that split them</h2>\n";
  Table table(os, {"value", "layout"});
  forEach(report, "layouts", [&](const json::Object &row) {
    table.row().text("<code>" + escaped(row, "value") + "</code>").text(escaped(layoutText(row) + stagesText(row))).end();
  });
}

void printDecisions(const json::Object &report, raw_ostream &os) {
  if (isEmpty(report, "decisions"))
    return;
  os << "<h2>Decisions</h2>\n";
  Table table(os, {"what", "chosen", "runner-up", "which costs more"});
  forEachOfEqual(report, "decisions", {"what"}, [&](const json::Object &row) {
    std::string other = escaped(row, "runner_up");
    table.row()
        .text(escaped(row, "what") + countText(row))
        .text(escaped(row, "chosen"))
        .text(other)
        .figure(other.empty() ? "" : secondsText(number(row, "cost_difference")))
        .end();
  });
}

} // namespace

void pdc::plan::printHtml(const json::Object &report, raw_ostream &os) {
  std::string model = escaped(report, "model");
  os << "<!DOCTYPE html>\n<html lang=en><meta charset=utf-8><meta name=viewport content=\"width=device-width\">\n<title>Plan of "
     << model << "</title>\n<style>" << kStyle << "</style>\n<h1>Plan of " << model << "</h1>\n";
  printSummary(report, os);
  printStages(report, os);
  printMemory(report, os);
  printCollectives(report, os);
  printCommunication(report, os);
  printDecisions(report, os);
  printLayouts(report, os);
  os << "</html>\n";
}
