//===- EmbeddedLauncher.cpp - the launcher inside pdc ---------------------===//

#include "tools/pdc/Commands.h"

// Set by the linker around the launcher's bytes (rule :launcher_object).
extern const char _binary_pdc_launcher_start[], _binary_pdc_launcher_end[];

llvm::StringRef pdc::tool::embeddedLauncher() {
  return {_binary_pdc_launcher_start,
          static_cast<size_t>(_binary_pdc_launcher_end - _binary_pdc_launcher_start)};
}
