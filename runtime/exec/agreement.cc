#include "runtime/exec/agreement.h"

#include <cstring>
#include <memory>
#include <numeric>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/base/status.h"

namespace pdc::exec {

absl::Status CompareOverRanks(comm::Communicator& communicator, const std::string& text,
                              comm::Clock::time_point deadline) {
  int size = communicator.size();
  if (size == 1) return absl::OkStatus();
  std::vector<int> ranks(size);
  std::iota(ranks.begin(), ranks.end(), 0);
  PDC_ASSIGN_OR_RETURN(std::unique_ptr<comm::Group> group, communicator.CreateGroup(ranks));
  PDC_ASSIGN_OR_RETURN(void* memory, communicator.AllocateShared(text.size() * size));
  char* all = static_cast<char*>(memory);
  std::memcpy(all + text.size() * communicator.rank(), text.data(), text.size());
  std::vector<int64_t> counts(size, static_cast<int64_t>(text.size()));
  PDC_ASSIGN_OR_RETURN(std::unique_ptr<comm::Pending> pending,
                       communicator.AllGather(*group, all, counts, program::ElementType::kU8));
  PDC_RETURN_IF_ERROR(pending->Wait(deadline));
  std::vector<int> different;
  for (int rank = 1; rank < size; ++rank) {
    if (std::memcmp(all, all + text.size() * rank, text.size()) != 0) different.push_back(rank);
  }
  if (different.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("ranks ", absl::StrJoin(different, ", "), " of ", size,
                   " run another executable than rank 0; start the same file on every rank"));
}

}  // namespace pdc::exec
