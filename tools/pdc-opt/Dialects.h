//===- Dialects.h - the dialects that the developer tools read --*- C++ -*-===//
#ifndef PDC_TOOLS_PDC_OPT_DIALECTS_H
#define PDC_TOOLS_PDC_OPT_DIALECTS_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace pdc {

/// The dialects of this project, and those of MLIR that its lowerings go through.
void registerDialects(mlir::DialectRegistry &registry);

} // namespace pdc

#endif // PDC_TOOLS_PDC_OPT_DIALECTS_H
