// The parts of the checker; see checker.h for the rules.
#ifndef PDC_RUNTIME_PROGRAM_CHECK_RULES_H_
#define PDC_RUNTIME_PROGRAM_CHECK_RULES_H_

#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "runtime/program/program_generated.h"

namespace pdc::program {

// Bytes [begin, end) of a segment.
struct ByteRange {
  Segment segment = Segment::kPrivate;
  uint64_t begin = 0;
  uint64_t end = 0;

  bool Overlaps(const ByteRange& other) const {
    return segment == other.segment && begin < other.end && other.begin < end;
  }
};

// The bytes from the first to the last element of a view that CheckViews() has accepted.
ByteRange SpanOf(const Program& program, const Operand& operand);
ByteRange RangeOf(const Buffer& buffer);

// INVALID_ARGUMENT "train program, instruction 12 (fc1 matmul): MESSAGE".
absl::Status InstructionError(const Program& program, uint32_t index, absl::string_view message);
// INVALID_ARGUMENT "train program, buffer 3 (parameter fc1.weight): MESSAGE".
absl::Status BufferError(const Program& program, uint32_t index, absl::string_view message);

// Each in the order in which it may be called: later rules rely on earlier ones.
absl::Status CheckBuffers(const Program& program);
// Inputs have different names; a kInput buffer is of one of them. Where the program states none there is nothing to check.
absl::Status CheckInputs(const Program& program);
absl::Status CheckGroups(const Program& program, int ranks);
absl::Status CheckViews(const Program& program);
absl::Status CheckOpcodes(const Program& program, int ranks);
absl::Status CheckLiveness(const Program& program);
// `runners`: the ranks that run the program, for what each of them brings to a collective.
absl::Status CheckDataFlow(const Program& program, const std::set<int>& runners);
absl::Status CheckPending(const Program& program);
// Of all programs that obey the rules above.
absl::Status CheckKernels(const Executable& executable);
absl::Status CheckSchedule(const Executable& executable);

}  // namespace pdc::program

#endif  // PDC_RUNTIME_PROGRAM_CHECK_RULES_H_
