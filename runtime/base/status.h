// Errors of the runtime: absl::Status with the place where it happened, and the two macros that pass errors
// on.
#ifndef PDC_RUNTIME_BASE_STATUS_H_
#define PDC_RUNTIME_BASE_STATUS_H_

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace pdc {

// Where in a job something happened; negative fields are unknown and not shown.
struct Place {
  int rank = -1;
  int64_t step = -1;
  int32_t instruction = -1;
  std::string label = {};  // what a person calls the instruction
};

// "rank 1, step 3, instruction 17 (h3.attn.qkv matmul)"; empty when nothing is known.
std::string ToString(const Place& place);

// The same code with "`context`: " before the message; OK stays OK.
absl::Status Annotate(const absl::Status& status, const std::string& context);

// The same code with the place before the message: "rank 1, step 3: no space left on device". OK stays OK.
absl::Status AtPlace(const absl::Status& status, const Place& place);

// The error that `error_number` (an errno) stands for: "`what`: No such file or directory".
absl::Status ErrnoStatus(int error_number, const std::string& what);

}  // namespace pdc

#define PDC_STATUS_CONCAT_INNER(a, b) a##b
#define PDC_STATUS_CONCAT(a, b) PDC_STATUS_CONCAT_INNER(a, b)

// Returns from the enclosing function when `expression` (an absl::Status) is an error.
#define PDC_RETURN_IF_ERROR(expression)                             \
  do {                                                              \
    ::absl::Status pdc_status_ = (expression);                      \
    if (__builtin_expect(!pdc_status_.ok(), 0)) return pdc_status_; \
  } while (false)

// PDC_ASSIGN_OR_RETURN(auto x, F()): declares or assigns x, or returns the error of F().
#define PDC_ASSIGN_OR_RETURN(lhs, expression) \
  PDC_ASSIGN_OR_RETURN_INNER(PDC_STATUS_CONCAT(pdc_statusor_, __LINE__), lhs, expression)
#define PDC_ASSIGN_OR_RETURN_INNER(result, lhs, expression)      \
  auto result = (expression);                                    \
  if (__builtin_expect(!result.ok(), 0)) return result.status(); \
  lhs = std::move(result).value()

#endif  // PDC_RUNTIME_BASE_STATUS_H_
