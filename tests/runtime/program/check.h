// The checker's verdict on an executable, as it is after it was written and read.
#ifndef PDC_TESTS_RUNTIME_PROGRAM_CHECK_H_
#define PDC_TESTS_RUNTIME_PROGRAM_CHECK_H_

#include <string>

#include "absl/status/status.h"
#include "runtime/program/checker.h"
#include "runtime/program/reader.h"

namespace pdc::program {

inline absl::Status Check(const ExecutableT& executable) {
  std::string section = WriteExecutable(executable);
  auto read = ReadExecutable(section);
  if (!read.ok()) return read.status();
  return CheckExecutable(**read);
}

}  // namespace pdc::program

#endif  // PDC_TESTS_RUNTIME_PROGRAM_CHECK_H_
