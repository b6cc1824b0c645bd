//===- Yaml.h - descriptions as YAML ----------------------------*- C++ -*-===//
#ifndef PDC_COMPILER_MACHINE_YAML_H
#define PDC_COMPILER_MACHINE_YAML_H

#include "compiler/machine/Description.h"
#include "llvm/Support/Error.h"

namespace pdc::machine {

/// Reads one YAML document. Errors are "SOURCE:LINE: ...".
llvm::Expected<Description> parseYaml(const std::string &text, const std::string &source);

std::string writeYaml(const Description &description);

} // namespace pdc::machine

#endif // PDC_COMPILER_MACHINE_YAML_H
