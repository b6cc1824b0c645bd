// Files that a command line names: what is written must not destroy what is read.
#ifndef PDC_RUNTIME_BASE_FILE_USES_H_
#define PDC_RUNTIME_BASE_FILE_USES_H_

#include <string>
#include <vector>

namespace pdc::base {

struct FileUse {
  std::string what;  // "--log"
  std::string path;  // empty: not given
};

// The first file of `writes` that is also read, or written twice, as an error message; empty if there is none. The
// same file under another name (links, "./") is found; devices and pipes may be used twice, and so may "-".
std::string FindOverwrite(const std::vector<FileUse>& reads, const std::vector<FileUse>& writes);

}  // namespace pdc::base

#endif  // PDC_RUNTIME_BASE_FILE_USES_H_
