//===- LayoutPicture.cpp - how a tensor lies on the mesh, drawn -----------===//

#include "compiler/plan/LayoutPicture.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>

using namespace llvm;

namespace {

struct Axis {
  std::string name;
  int64_t size, stride; // ranks between neighbours along it
};

struct Dimension {
  std::string name;
  int64_t size = 1, block = 1, parts = 1;
  std::vector<const Axis *> axes; // that split it, major to minor

  std::string title() const {
    return name.empty() ? std::to_string(size) : name + " " + std::to_string(size);
  }

  /// "4..7": elements of a part. Of n blocks in p parts the first n mod p have one more.
  std::string range(int64_t part) const {
    int64_t blocks = size / block, more = blocks % parts;
    int64_t begin = part * (blocks / parts) + std::min(part, more), count = blocks / parts + (part < more);
    return std::to_string(begin * block) + ".." + std::to_string((begin + count) * block - 1);
  }

  int64_t partOf(int64_t rank) const {
    int64_t part = 0;
    for (const Axis *axis : axes)
      part = part * axis->size + rank / axis->stride % axis->size;
    return part;
  }
};

/// "0-3 8-11": ranks in ascending order, runs of neighbours joined; after `most` of these, how many ranks there are.
std::string ranksText(ArrayRef<int64_t> ranks, size_t most = 4) {
  std::vector<std::string> runs;
  for (size_t i = 0; i < ranks.size();) {
    size_t end = i + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1)
      ++end;
    if (end - i < 3)
      runs.push_back(std::to_string(ranks[i++]));
    else
      runs.push_back(std::to_string(ranks[i]) + "-" + std::to_string(ranks[end - 1])), i = end;
  }
  std::string text = join(runs.begin(), runs.begin() + static_cast<long>(std::min(runs.size(), most)), " ");
  return runs.size() > most ? text + " ... (" + std::to_string(ranks.size()) + ")" : text;
}

std::string padded(std::string text, size_t width) {
  text.resize(std::max(width, text.size()), ' ');
  return text;
}

class Picture {
public:
  Picture(const json::Object &report, const json::Object &row) : name(row.getString("value")->str()) {
    readMesh(report, row);
    readDimensions(row);
    for (const json::Value &axis : *row.getArray("partial"))
      partial.push_back(axis.getAsString()->str());
  }

  std::string draw() {
    raw_string_ostream os(text);
    header(os);
    chooseSides();
    std::vector<const Dimension *> others;
    for (const Dimension &dimension : dimensions)
      if (dimension.parts > 1 && &dimension != down && &dimension != across)
        others.push_back(&dimension);
    drawOthers(os, others, {});
    return text;
  }

private:
  using Fixed = std::vector<std::pair<const Dimension *, int64_t>>;

  /// Where stages are not alike: the first stage's that lays the value out so.
  void readMesh(const json::Object &report, const json::Object &row) {
    const json::Array *axes = report.getArray("mesh"), *stages = row.getArray("stages");
    if (stages && !stages->empty()) {
      const json::Object &stage = *(*report.getArray("stages"))[*stages->front().getAsInteger()].getAsObject();
      axes = stage.getArray("mesh");
      first = *stage.getArray("ranks")->front().getAsInteger();
    }
    for (const json::Value &value : *axes)
      mesh.push_back(
          {value.getAsObject()->getString("axis")->str(), *value.getAsObject()->getInteger("size"), 1});
    for (size_t i = mesh.size(); i-- > 0;) {
      mesh[i].stride = ranks;
      ranks *= mesh[i].size;
    }
  }

  void readDimensions(const json::Object &row) {
    if (const json::Array *sizes = row.getArray("declared_shape"))
      for (const json::Value &size : *sizes)
        declared.push_back(*size.getAsInteger());
    const json::Array &shape = *row.getArray("shape"), &names = *row.getArray("dims"),
                      *blocks = row.getArray("blocks");
    for (auto [d, axes] : enumerate(*row.getArray("axes"))) {
      Dimension dimension;
      dimension.size = *shape[d].getAsInteger();
      dimension.name = d < names.size() ? names[d].getAsString()->str() : "";
      dimension.block = blocks && d < blocks->size() ? *(*blocks)[d].getAsInteger() : 1;
      for (const json::Value &axis : *axes.getAsArray())
        for (const Axis &known : mesh)
          if (known.name == *axis.getAsString()) {
            dimension.axes.push_back(&known);
            dimension.parts *= known.size;
          }
      dimensions.push_back(std::move(dimension));
    }
  }

  void header(raw_ostream &os) {
    os << name << ": ";
    if (dimensions.empty())
      os << "scalar";
    interleave(
        dimensions, os, [&](const Dimension &d) { os << d.title(); }, " x ");
    if (!declared.empty()) {
      os << " (declared ";
      interleave(
          declared, os, [&](int64_t size) { os << size; }, " x ");
      os << ")";
    }
    int64_t parts = 1;
    for (auto [d, dimension] : enumerate(dimensions)) {
      if (dimension.parts == 1)
        continue;
      os << ", " << (dimension.name.empty() ? "dimension " + std::to_string(d) : dimension.name)
         << " split over ";
      interleave(
          dimension.axes, os, [&](const Axis *axis) { os << axis->name; }, " and ");
      os << " (" << dimension.parts << " parts";
      if (dimension.block > 1)
        os << " in blocks of " << dimension.block;
      os << ")";
      parts *= dimension.parts;
    }
    os << "\nmesh";
    for (const Axis &axis : mesh)
      os << " " << axis.name << "=" << axis.size;
    if (parts == 1)
      os << "; every rank holds all of it";
    else
      os << "; each part is held by " << ranks / parts << (ranks == parts ? " rank" : " ranks");
    os << "\n";
    if (!partial.empty())
      os << "a rank holds a term: the value is the sum over " << join(partial, " and ") << "\n";
  }

  /// Which dimensions run down and across: the last two that are split, in their order; a vector runs across.
  void chooseSides() {
    std::vector<const Dimension *> split;
    for (const Dimension &dimension : dimensions)
      if (dimension.parts > 1)
        split.push_back(&dimension);
    const Dimension *last = dimensions.empty() ? nullptr : &dimensions.back();
    if (split.size() >= 2) {
      down = split[split.size() - 2];
      across = split.back();
    } else if (split.size() == 1 && split[0] != last) {
      down = split[0];
      across = last;
    } else {
      across = last;
      down = dimensions.size() > 1 ? &dimensions[dimensions.size() - 2] : nullptr;
    }
  }

  void drawOthers(raw_ostream &os, ArrayRef<const Dimension *> others, const Fixed &fixed) {
    if (others.empty())
      return drawOne(os, fixed);
    for (int64_t part : shown(others.front()->parts)) {
      if (part < 0) {
        os << "\n...\n";
        continue;
      }
      Fixed more = fixed;
      more.emplace_back(others.front(), part);
      drawOthers(os, others.drop_front(), more);
    }
  }

  /// Parts to draw; -1 for those left out.
  static std::vector<int64_t> shown(int64_t parts) {
    std::vector<int64_t> list;
    for (int64_t part = 0; part < parts; ++part)
      if (parts <= 8 || part < 4 || part >= parts - 2)
        list.push_back(part);
      else if (part == 4)
        list.push_back(-1);
    return list;
  }

  std::string cell(int64_t row, int64_t column, const Fixed &fixed) {
    if (row < 0 || column < 0)
      return "...";
    SmallVector<int64_t> holders;
    for (int64_t rank = 0; rank < ranks; ++rank) {
      bool holds = (!down || down->partOf(rank) == row) && (!across || across->partOf(rank) == column);
      for (auto [dimension, part] : fixed)
        holds &= dimension->partOf(rank) == part;
      if (holds)
        holders.push_back(first + rank);
    }
    return ranksText(holders);
  }

  void drawOne(raw_ostream &os, const Fixed &fixed) {
    os << "\n";
    for (auto [dimension, part] : fixed)
      os << (dimension->name.empty() ? "dimension" : dimension->name) << " " << dimension->range(part)
         << ":\n";
    std::vector<int64_t> rows = shown(down ? down->parts : 1), columns = shown(across ? across->parts : 1);
    auto label = [](const Dimension *side, int64_t part) {
      return part < 0 ? std::string("...") : side ? side->range(part) : std::string();
    };
    std::string side = down && !down->name.empty() ? down->name + " " : "";
    size_t margin = 0, width = 0;
    for (int64_t row : rows)
      margin = std::max(margin, side.size() + label(down, row).size());
    for (int64_t column : columns) {
      width = std::max(width, label(across, column).size());
      for (int64_t row : rows)
        width = std::max(width, cell(row, column, fixed).size());
    }
    auto line = [&](const std::string &text) { os << StringRef(text).rtrim() << "\n"; };
    std::string indent(margin, ' '), border = indent + "  +";
    for (size_t i = 0; i < columns.size(); ++i)
      border += std::string(width + 2, '-') + "+";
    if (across && !across->name.empty())
      line(indent + "    " + across->name);
    std::string head = indent + "   ";
    for (int64_t column : columns)
      head += " " + padded(label(across, column), width) + "  ";
    line(head);
    line(border);
    for (int64_t row : rows) {
      std::string body = padded(side + label(down, row), margin) + "  |";
      for (int64_t column : columns)
        body += " " + padded(cell(row, column, fixed), width) + " |";
      line(body);
      line(border);
    }
  }

  std::string name, text;
  std::vector<Axis> mesh;
  int64_t ranks = 1, first = 0;
  std::vector<Dimension> dimensions;
  std::vector<int64_t> declared; // the shape in the model, where it is another one
  std::vector<std::string> partial;
  const Dimension *down = nullptr, *across = nullptr;
};

} // namespace

Expected<std::string> pdc::plan::drawLayout(const json::Object &report, StringRef value) {
  std::vector<std::string> alike;
  const json::Array *rows = report.getArray("layouts");
  if (!rows || !report.getArray("mesh"))
    return createStringError("the plan report has no layouts or no mesh");
  for (const json::Array *some : {rows, report.getArray("optimizer_layouts")}) {
    for (const json::Value &row : some ? *some : json::Array()) {
      StringRef name = row.getAsObject()->getString("value").value_or("");
      if (name == value)
        return Picture(report, *row.getAsObject()).draw();
      if (name.contains(value))
        alike.push_back(name.str());
    }
  }
  std::string hint = alike.empty() ? "" : "; there are " + join(ArrayRef(alike).take_front(8), ", ");
  if (alike.size() > 8)
    hint += " and " + std::to_string(alike.size() - 8) + " more";
  return createStringError("the plan has no parameter, state, input or optimizer state '" + value + "'" + hint);
}
