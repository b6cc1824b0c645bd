#include "runtime/base/status.h"

#include <cerrno>
#include <string>
#include <system_error>

namespace pdc {

namespace {

absl::StatusCode CodeOfErrno(int error_number) {
  switch (error_number) {
    case ENOENT:
    case ENOTDIR:
    case ESRCH:
      return absl::StatusCode::kNotFound;
    case EEXIST:
      return absl::StatusCode::kAlreadyExists;
    case EACCES:
    case EPERM:
    case EROFS:
      return absl::StatusCode::kPermissionDenied;
    case ENOMEM:
    case ENOSPC:
    case EDQUOT:
    case EMFILE:
    case ENFILE:
      return absl::StatusCode::kResourceExhausted;
    case EINVAL:
    case EISDIR:
    case ENAMETOOLONG:
      return absl::StatusCode::kInvalidArgument;
    case ETIMEDOUT:
      return absl::StatusCode::kDeadlineExceeded;
    default:
      return absl::StatusCode::kUnknown;
  }
}

}  // namespace

std::string ToString(const Place& place) {
  std::string text;
  auto add = [&text](const std::string& part) {
    if (!text.empty()) text += ", ";
    text += part;
  };
  if (place.rank >= 0) add("rank " + std::to_string(place.rank));
  if (place.step >= 0) add("step " + std::to_string(place.step));
  if (place.instruction >= 0) add("instruction " + std::to_string(place.instruction));
  if (!place.label.empty()) text += (text.empty() ? "" : " ") + ("(" + place.label + ")");
  return text;
}

absl::Status Annotate(const absl::Status& status, const std::string& context) {
  if (status.ok() || context.empty()) return status;
  std::string message = context + ": " + std::string(status.message().data(), status.message().size());
  return absl::Status(status.code(), message);
}

absl::Status AtPlace(const absl::Status& status, const Place& place) {
  return Annotate(status, ToString(place));
}

absl::Status ErrnoStatus(int error_number, const std::string& what) {
  return absl::Status(CodeOfErrno(error_number), what + ": " + std::generic_category().message(error_number));
}

}  // namespace pdc
