#include "runtime/train/collect.h"

#include <algorithm>
#include <vector>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/comm/gather.h"
#include "runtime/train/checkpoint/parts.h"

namespace pdc::train {
namespace {

absl::Status SendText(comm::Communicator& communicator, comm::Clock::time_point deadline,
                      const std::string& text, int peer) {
  const uint64_t size = text.size();
  PDC_ASSIGN_OR_RETURN(auto sent_size, communicator.Send(&size, sizeof(size), peer, kTrainerTag));
  PDC_RETURN_IF_ERROR(sent_size->Wait(deadline));
  if (size == 0) return absl::OkStatus();
  PDC_ASSIGN_OR_RETURN(auto sent, communicator.Send(text.data(), size, peer, kTrainerTag));
  return sent->Wait(deadline);
}

absl::StatusOr<std::string> ReceiveText(comm::Communicator& communicator, comm::Clock::time_point deadline,
                                        int peer) {
  uint64_t size = 0;
  PDC_ASSIGN_OR_RETURN(auto pending_size, communicator.Receive(&size, sizeof(size), peer, kTrainerTag));
  PDC_RETURN_IF_ERROR(pending_size->Wait(deadline));
  std::string text(size, '\0');
  if (size == 0) return text;
  PDC_ASSIGN_OR_RETURN(auto pending, communicator.Receive(text.data(), size, peer, kTrainerTag));
  PDC_RETURN_IF_ERROR(pending->Wait(deadline));
  return text;
}

constexpr char kAgreedPayload[] = "pdc.train/agreed";

// The code as one character, then the message.
std::string Encode(const absl::Status& status) {
  return absl::StrCat(std::string(1, static_cast<char>(status.code())), status.message());
}

absl::Status Decode(const std::string& text) {
  if (text.empty()) return absl::InternalError("a rank sent no status");
  return absl::Status(static_cast<absl::StatusCode>(text[0]), text.substr(1));
}

}  // namespace

absl::StatusOr<std::string> BroadcastText(comm::Communicator& communicator, comm::Clock::time_point deadline,
                                          const std::string& text) {
  if (communicator.rank() != 0) return ReceiveText(communicator, deadline, 0);
  for (int peer = 1; peer < communicator.size(); ++peer) {
    PDC_RETURN_IF_ERROR(SendText(communicator, deadline, text, peer));
  }
  return text;
}

absl::Status AgreeOnStatus(comm::Communicator& communicator, comm::Clock::time_point deadline,
                           const absl::Status& mine) {
  PDC_ASSIGN_OR_RETURN(const std::vector<std::string> all,
                       comm::GatherText(communicator, Encode(mine), deadline));
  std::string outcome;
  if (communicator.rank() == 0) {
    outcome = Encode(absl::OkStatus());
    const bool alike =
        std::all_of(all.begin(), all.end(), [&](const std::string& text) { return text == all[0]; });
    for (size_t rank = all.size(); rank-- > 0;) {
      const absl::Status status = Decode(all[rank]);
      if (!status.ok()) outcome = Encode(alike ? status : AtPlace(status, {.rank = static_cast<int>(rank)}));
    }
  }
  PDC_ASSIGN_OR_RETURN(const std::string agreed, BroadcastText(communicator, deadline, outcome));
  absl::Status status = Decode(agreed);
  if (!status.ok()) status.SetPayload(kAgreedPayload, absl::Cord("1"));
  return status;
}

bool IsAgreed(const absl::Status& status) { return status.GetPayload(kAgreedPayload).has_value(); }

absl::StatusOr<bool> OnAnyRank(comm::Communicator& communicator, comm::Clock::time_point deadline,
                               bool mine) {
  char flag = mine ? 1 : 0;
  const auto send = [&](int peer) -> absl::Status {
    PDC_ASSIGN_OR_RETURN(auto sent, communicator.Send(&flag, 1, peer, kTrainerTag));
    return sent->Wait(deadline);
  };
  const auto receive = [&](int peer) -> absl::StatusOr<bool> {
    char received = 0;
    PDC_ASSIGN_OR_RETURN(auto pending, communicator.Receive(&received, 1, peer, kTrainerTag));
    PDC_RETURN_IF_ERROR(pending->Wait(deadline));
    return received != 0;
  };
  if (communicator.rank() != 0) {
    PDC_RETURN_IF_ERROR(send(0));
    return receive(0);
  }
  for (int peer = 1; peer < communicator.size(); ++peer) {
    PDC_ASSIGN_OR_RETURN(const bool theirs, receive(peer));
    if (theirs) flag = 1;
  }
  for (int peer = 1; peer < communicator.size(); ++peer) PDC_RETURN_IF_ERROR(send(peer));
  return flag != 0;
}

}  // namespace pdc::train
