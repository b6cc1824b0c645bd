//===- Registration.h - every pass of this project --------------*- C++ -*-===//
#ifndef PDC_PASSES_REGISTRATION_H
#define PDC_PASSES_REGISTRATION_H

namespace pdc {

/// Makes every pass of passes/ known to pass pipelines written as text, as pdc-opt takes them.
void registerAllPasses();

} // namespace pdc

#endif // PDC_PASSES_REGISTRATION_H
