//===- Description.h - a cluster as nested maps and lists -------*- C++ -*-===//
//
// What a cluster file and an attribute of the IR have in common: ClusterSchema.h reads clusters from it and
// writes them to it, Yaml.h and ir/ClusterAttr.h give it their form. So there is one schema and one set of
// messages.
//
//===----------------------------------------------------------------------===//
#ifndef PDC_COMPILER_MACHINE_DESCRIPTION_H
#define PDC_COMPILER_MACHINE_DESCRIPTION_H

#include <string>
#include <utility>
#include <vector>

namespace pdc::machine {

struct Description {
  enum class Kind { Scalar, List, Map };
  Kind kind = Kind::Scalar;
  std::string scalar;             // Scalar: its text
  std::vector<Description> items; // List: its items; Map: its values, in the order of the file
  std::vector<std::string> keys;  // Map: the key of each value
  int line = 0;                   // in its file, from 1; 0: none

  static Description text(std::string scalar) {
    Description description;
    description.scalar = std::move(scalar);
    return description;
  }
  static Description list() {
    Description description;
    description.kind = Kind::List;
    return description;
  }
  static Description map() {
    Description description;
    description.kind = Kind::Map;
    return description;
  }
  void add(std::string key, Description value) {
    keys.push_back(std::move(key));
    items.push_back(std::move(value));
  }
  void add(std::string key, std::string value) { add(std::move(key), text(std::move(value))); }
};

} // namespace pdc::machine

#endif // PDC_COMPILER_MACHINE_DESCRIPTION_H
