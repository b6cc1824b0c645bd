//===- PlanInput.h - executables and plans that commands read ---*- C++ -*-===//
#ifndef PDC_TOOLS_PDC_PLANINPUT_H
#define PDC_TOOLS_PDC_PLANINPUT_H

#include "llvm/Support/Error.h"
#include <string>

namespace pdc::tool {

/// The payload (runtime/program/container.h) of the file at `path`: that which an executable carries, or that which a plan (as
/// --plan-out writes it) compiles to. A plan is compiled for `cluster`, a preset or a file; if empty for the cluster that the
/// plan was made for, or else this machine. Errors name the path.
llvm::Expected<std::string> readPlan(const std::string &path, const std::string &cluster = "");

} // namespace pdc::tool

#endif // PDC_TOOLS_PDC_PLANINPUT_H
