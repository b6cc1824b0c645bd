//===- Presets.h - the files of models/clusters, inside pdc -----*- C++ -*-===//
#ifndef PDC_COMPILER_MACHINE_PRESETS_H
#define PDC_COMPILER_MACHINE_PRESETS_H

#include <vector>

namespace pdc::machine {

struct Preset {
  const char *name; // of the file, without .yaml
  const char *text;
};

/// Sorted by name.
const std::vector<Preset> &presets();

} // namespace pdc::machine

#endif // PDC_COMPILER_MACHINE_PRESETS_H
