#include "runtime/launcher/image.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/launcher/elf_section.h"
#include "runtime/program/checker.h"
#include "runtime/program/container.h"
#include "runtime/program/reader.h"

namespace pdc::launcher {
namespace {

constexpr size_t kAlignment = 64;

}  // namespace

void Image::AlignedDelete::operator()(std::byte* memory) const { std::free(memory); }

absl::StatusOr<std::unique_ptr<Image>> Image::Open(const std::string& path) {
  std::unique_ptr<Image> image(new Image);
  PDC_RETURN_IF_ERROR(image->Map(path));
  PDC_RETURN_IF_ERROR(image->Read());
  return image;
}

Image::~Image() {
  if (mapping_ != nullptr) munmap(mapping_, mapping_bytes_);
}

absl::Status Image::Map(const std::string& path) {
  int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return ErrnoStatus(errno, absl::StrCat("cannot open ", path));
  struct stat status;
  if (fstat(file, &status) != 0 || status.st_size == 0) {
    absl::Status error = ErrnoStatus(errno, absl::StrCat("cannot read ", path));
    close(file);
    return error;
  }
  mapping_bytes_ = static_cast<size_t>(status.st_size);
  void* mapping = mmap(nullptr, mapping_bytes_, PROT_READ, MAP_PRIVATE, file, 0);
  int why = errno;
  close(file);
  if (mapping == MAP_FAILED) return ErrnoStatus(why, absl::StrCat("cannot map ", path));
  mapping_ = mapping;
  return absl::OkStatus();
}

absl::Status Image::Read() {
  std::string_view file(static_cast<const char*>(mapping_), mapping_bytes_);
  absl::StatusOr<std::string_view> section = FindElfSection(file, program::kElfSection);
  if (absl::IsNotFound(section.status())) {
    return absl::NotFoundError(
        "this is the launcher without a program; compile a model with pdc to get an executable");
  }
  if (!section.ok()) return section.status();
  payload_ = *section;
  if (reinterpret_cast<uintptr_t>(payload_.data()) % kAlignment != 0) {
    size_t bytes = (payload_.size() + kAlignment - 1) / kAlignment * kAlignment;
    copy_.reset(static_cast<std::byte*>(std::aligned_alloc(kAlignment, bytes)));
    if (copy_ == nullptr)
      return absl::ResourceExhaustedError(absl::StrCat("no memory for a payload of ", bytes, " bytes"));
    std::memcpy(copy_.get(), payload_.data(), payload_.size());
    payload_ = std::string_view(reinterpret_cast<const char*>(copy_.get()), payload_.size());
  }
  PDC_ASSIGN_OR_RETURN(program::Sections sections, program::ReadPayload(payload_));
  auto found = sections.find(program::kProgramSection);
  if (found == sections.end()) return absl::DataLossError("the executable's payload has no program section");
  PDC_ASSIGN_OR_RETURN(executable_, program::ReadExecutable(found->second));
  PDC_RETURN_IF_ERROR(program::CheckExecutable(*executable_));
  auto report = sections.find(program::kReportSection);
  if (report != sections.end()) report_ = report->second;
  return absl::OkStatus();
}

}  // namespace pdc::launcher
