//===- Yaml.cpp - descriptions as YAML ------------------------------------===//
//
// The only file that knows yaml-cpp; its exceptions end here.
//
//===----------------------------------------------------------------------===//

#include "compiler/machine/Yaml.h"
#include "yaml-cpp/yaml.h"
#include "llvm/ADT/STLExtras.h"

using namespace pdc::machine;

// A file says far less; aliases can make a short text an endless tree.
static constexpr int kMaxDepth = 32;
static constexpr int kMaxValues = 1'000'000;

namespace {

struct TooLarge {
  int line;
};

} // namespace

static Description convert(const YAML::Node &node, int depth, int &values) {
  int line = node.Mark().line + 1;
  if (depth > kMaxDepth || ++values > kMaxValues)
    throw TooLarge{line};
  Description description;
  description.line = line;
  if (node.IsSequence()) {
    description.kind = Description::Kind::List;
    for (const YAML::Node &item : node)
      description.items.push_back(convert(item, depth + 1, values));
  } else if (node.IsMap()) {
    description.kind = Description::Kind::Map;
    for (const auto &entry : node) {
      Description value = convert(entry.second, depth + 1, values);
      // A value may begin lines below its key; the key is what a message names.
      value.line = entry.first.Mark().line + 1;
      description.add(entry.first.IsScalar() ? entry.first.Scalar() : "?", std::move(value));
    }
  } else if (node.IsScalar()) {
    description.scalar = node.Scalar();
  }
  return description;
}

static llvm::Error error(const std::string &source, int line, const std::string &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), "%s:%d: %s", source.c_str(), line,
                                 message.c_str());
}

llvm::Expected<Description> pdc::machine::parseYaml(const std::string &text, const std::string &source) {
  try {
    std::vector<YAML::Node> documents = YAML::LoadAll(text);
    if (documents.size() != 1)
      return error(source, 1, "expected one YAML document, found " + std::to_string(documents.size()));
    int values = 0;
    return convert(documents.front(), 0, values);
  } catch (const YAML::Exception &exception) {
    return error(source, exception.mark.line + 1, "this is not YAML: " + exception.msg);
  } catch (const TooLarge &tooLarge) {
    return error(source, tooLarge.line, "lists and maps are nested too deeply, or there are too many");
  }
}

/// On one line: what holds nothing but values, or pairs of them.
static bool isShort(const Description &description) {
  return llvm::all_of(description.items, [](const Description &item) {
    return item.kind == Description::Kind::Scalar || (item.items.size() <= 1 && isShort(item));
  });
}

static void emit(YAML::Emitter &out, const Description &description, bool isTop) {
  switch (description.kind) {
  case Description::Kind::Scalar:
    out << description.scalar;
    return;
  case Description::Kind::List:
    out << (isShort(description) ? YAML::Flow : YAML::Block) << YAML::BeginSeq;
    for (const Description &item : description.items)
      emit(out, item, false);
    out << YAML::EndSeq;
    return;
  case Description::Kind::Map:
    out << (isShort(description) && !isTop ? YAML::Flow : YAML::Block) << YAML::BeginMap;
    for (const auto &[key, value] : llvm::zip_equal(description.keys, description.items)) {
      out << YAML::Key << key << YAML::Value;
      emit(out, value, false);
    }
    out << YAML::EndMap;
    return;
  }
}

std::string pdc::machine::writeYaml(const Description &description) {
  YAML::Emitter out;
  emit(out, description, /*isTop=*/true);
  return std::string(out.c_str()) + "\n";
}
