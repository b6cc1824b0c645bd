// The payload that pdc has put into this executable's own file.
#ifndef PDC_RUNTIME_LAUNCHER_IMAGE_H_
#define PDC_RUNTIME_LAUNCHER_IMAGE_H_

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "runtime/program/program_generated.h"

namespace pdc::launcher {

class Image {
 public:
  // Maps the file (for a running program "/proc/self/exe"), finds the payload, and checks all of it: hashes,
  // format, and the rules of programs. NOT_FOUND when the file has no payload.
  static absl::StatusOr<std::unique_ptr<Image>> Open(const std::string& path);

  Image(const Image&) = delete;
  Image& operator=(const Image&) = delete;
  ~Image();

  // Aligned to 64 bytes.
  std::string_view payload() const { return payload_; }
  const program::Executable& executable() const { return *executable_; }
  // The plan report as JSON; empty when there is none.
  std::string_view report() const { return report_; }

 private:
  struct AlignedDelete {
    void operator()(std::byte* memory) const;
  };

  Image() = default;
  absl::Status Map(const std::string& path);
  absl::Status Read();

  void* mapping_ = nullptr;
  size_t mapping_bytes_ = 0;
  std::unique_ptr<std::byte, AlignedDelete> copy_;  // where the file does not align the payload
  std::string_view payload_;
  const program::Executable* executable_ = nullptr;
  std::string_view report_;
};

}  // namespace pdc::launcher

#endif  // PDC_RUNTIME_LAUNCHER_IMAGE_H_
