#include "runtime/base/file_uses.h"

#include <filesystem>
#include <system_error>

namespace pdc::base {
namespace {

namespace fs = std::filesystem;

// Whether two names are one regular file, or would be once they are written.
bool IsSameFile(const std::string& a, const std::string& b) {
  std::error_code error;
  const fs::file_status first = fs::status(a, error), second = fs::status(b, error);
  if (fs::exists(first) != fs::exists(second)) return false;
  if (fs::exists(first)) return fs::is_regular_file(first) && fs::equivalent(a, b, error);
  // Of a relative name of which nothing exists, weakly_canonical() leaves what it was given.
  const fs::path first_path = fs::weakly_canonical(fs::absolute(a), error),
                 second_path = fs::weakly_canonical(fs::absolute(b), error);
  return !error && first_path == second_path;
}

}  // namespace

std::string FindOverwrite(const std::vector<FileUse>& reads, const std::vector<FileUse>& writes) {
  for (size_t i = 0; i < writes.size(); ++i) {
    const FileUse& write = writes[i];
    if (write.path.empty() || write.path == "-") continue;
    for (const FileUse& read : reads) {
      if (!read.path.empty() && IsSameFile(write.path, read.path)) {
        return write.what + "=" + write.path + " would overwrite " + read.what + ", which is read";
      }
    }
    for (size_t j = 0; j < i; ++j) {
      if (!writes[j].path.empty() && IsSameFile(write.path, writes[j].path)) {
        return write.what + "=" + write.path + " and " + writes[j].what + " are one file";
      }
    }
  }
  return "";
}

}  // namespace pdc::base
