// A program made ready: the loop that a step is.
#ifndef PDC_RUNTIME_EXEC_INSTRUCTION_LIST_H_
#define PDC_RUNTIME_EXEC_INSTRUCTION_LIST_H_

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/exec/session.h"

namespace pdc::exec {

// The groups of this rank, by their members.
using Groups = std::map<std::vector<int>, std::unique_ptr<comm::Group>>;

class InstructionList {
 public:
  // An error names rank and instruction. Everything that is passed outlives the list.
  static absl::StatusOr<std::unique_ptr<InstructionList>> Prepare(const program::Program& program,
                                                                  device::Device& device,
                                                                  comm::Communicator& communicator,
                                                                  const Groups& groups,
                                                                  const device::Arenas& arenas);

  // One pass over the list; `write` as for Session::Run. Allocates nothing, unless the communicator or a library does.
  // `trace` may be empty.
  absl::Status Run(int64_t step, std::chrono::nanoseconds timeout, const InputWriter& write,
                   const std::function<void(const InstructionEvent&)>& trace);

 private:
  // One instruction; which fields count depends on its opcode.
  struct Entry {
    program::Opcode opcode;
    std::unique_ptr<device::Prepared> prepared;
    int32_t slot = -1;  // the operation that it starts or ends, in pending_
    enum class Collective { kNone, kAllReduce, kAllGather, kReduceScatter, kAllToAll, kBroadcast };
    Collective collective = Collective::kNone;
    comm::Group* group = nullptr;
    void* data = nullptr;
    void* receive = nullptr;  // all_to_all
    int64_t count = 0;        // elements; all_to_all: of one block; send, receive: bytes
    std::vector<int64_t> counts;
    program::ElementType type = program::ElementType::kU8;
    program::ReduceOp reduce = program::ReduceOp::kSum;
    int root = 0, peer = -1, tag = 0;
  };

  // A kInput buffer.
  struct Input {
    int32_t first_use;  // -1: before the first instruction
    size_t number;      // among the inputs of the program
    std::byte* data;
  };

  InstructionList(const program::Program& program, comm::Communicator& communicator)
      : program_(program), communicator_(communicator) {}

  void FindInputs(const device::Arenas& arenas);
  absl::Status WriteInput(const Input& input, const InputWriter& write) const;
  absl::StatusOr<Entry> PrepareEntry(uint32_t index, device::Device& device, const Groups& groups,
                                     const device::Arenas& arenas);
  void PrepareCollective(const program::Instruction& instruction, const Groups& groups, Entry& entry);
  absl::Status RunEntry(const Entry& entry, std::chrono::nanoseconds timeout);
  absl::StatusOr<std::unique_ptr<comm::Pending>> StartCollective(const Entry& entry);
  absl::Status At(const absl::Status& status, int64_t step, int32_t index) const;

  const program::Program& program_;
  comm::Communicator& communicator_;
  std::vector<Entry> entries_;
  std::vector<Input> inputs_;  // in the order of their first uses
  std::vector<std::unique_ptr<comm::Pending>> pending_;
};

}  // namespace pdc::exec

#endif  // PDC_RUNTIME_EXEC_INSTRUCTION_LIST_H_
