// Rules over the order of instructions: liveness, written before read, pending collectives.
#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/program/check_rules.h"
#include "runtime/program/view.h"

namespace pdc::program {
namespace {

// Instructions at which a buffer's contents matter; -1 stands for before the first instruction.
struct Lifetime {
  int64_t first, last;
};

Lifetime LifetimeOf(const Program& program, const Buffer& buffer) {
  int64_t end = Size(program.instructions());
  bool always = IsPersistent(buffer.kind()) || buffer.kind() == BufferKind::kConstant;
  bool from_start = buffer.kind() == BufferKind::kScalarInput;
  bool to_end = buffer.kind() == BufferKind::kOutput;
  return {always || from_start || buffer.first_use() < 0 ? -1 : buffer.first_use(),
          always || to_end || buffer.last_use() < 0 ? end : buffer.last_use()};
}

// Live buffers of one segment by their offset; they never overlap, so neighbours are enough to look at.
using LiveSet = std::map<uint64_t, uint32_t>;

absl::Status Insert(const Program& program, LiveSet& live, uint32_t index, int64_t time) {
  const Buffer& buffer = *program.buffers()->Get(index);
  auto next = live.lower_bound(buffer.offset());
  std::vector<uint32_t> neighbours;
  if (next != live.end()) neighbours.push_back(next->second);
  if (next != live.begin()) neighbours.push_back(std::prev(next)->second);
  for (uint32_t other : neighbours) {
    if (RangeOf(buffer).Overlaps(RangeOf(*program.buffers()->Get(other)))) {
      return BufferError(
          program, index,
          absl::StrCat("overlaps buffer ", other, " (", BufferName(*program.buffers()->Get(other)),
                       ") in memory while both are live at instruction ", time));
    }
  }
  live.emplace(buffer.offset(), index);
  return absl::OkStatus();
}

absl::Status CheckOverlaps(const Program& program) {
  int64_t end = Size(program.instructions());
  // Slot 0 stands for "before the first instruction".
  std::vector<std::vector<uint32_t>> begins(end + 2), ends(end + 2);
  for (uint32_t i = 0; i < Size(program.buffers()); ++i) {
    const Buffer& buffer = *program.buffers()->Get(i);
    if (buffer.bytes() == 0) continue;
    Lifetime life = LifetimeOf(program, buffer);
    begins[life.first + 1].push_back(i);
    ends[life.last + 1].push_back(i);
  }
  LiveSet live[2];
  auto set_of = [&](uint32_t index) -> LiveSet& {
    return live[static_cast<int>(program.buffers()->Get(index)->segment())];
  };
  for (int64_t time = -1; time <= end; ++time) {
    for (uint32_t index : begins[time + 1]) {
      absl::Status status = Insert(program, set_of(index), index, time);
      if (!status.ok()) return status;
    }
    for (uint32_t index : ends[time + 1]) set_of(index).erase(program.buffers()->Get(index)->offset());
  }
  return absl::OkStatus();
}

// Calls `use(index of the instruction, buffer, first, last)` for each use; an operation that is started and
// ended uses its operands until it is ended.
template <typename Use>
absl::Status ForEachUse(const Program& program, Use use) {
  for (uint32_t i = 0; i < Size(program.instructions()); ++i) {
    const Instruction& instruction = *program.instructions()->Get(i);
    for (uint32_t o = 0; o < Size(instruction.operands()); ++o) {
      absl::Status status = use(i, instruction.operands()->Get(o)->buffer());
      if (!status.ok()) return status;
    }
    if (instruction.workspace() >= 0) {
      absl::Status status = use(i, static_cast<uint32_t>(instruction.workspace()));
      if (!status.ok()) return status;
    }
    if (instruction.opcode() != Opcode::kCollectiveDone) continue;
    int32_t start = instruction.start_index();
    if (start < 0 || start >= static_cast<int64_t>(i)) continue;  // CheckPending() says so.
    const Instruction& started = *program.instructions()->Get(start);
    for (uint32_t o = 0; o < Size(started.operands()); ++o) {
      absl::Status status = use(i, started.operands()->Get(o)->buffer());
      if (!status.ok()) return status;
    }
  }
  return absl::OkStatus();
}

// The byte ranges of a buffer that have been written, joined.
class Written {
 public:
  void Add(uint64_t begin, uint64_t end) {
    if (begin == end) return;
    auto next = ranges_.upper_bound(begin);
    if (next != ranges_.begin() && std::prev(next)->second >= begin) --next;
    while (next != ranges_.end() && next->first <= end) {
      begin = std::min(begin, next->first);
      end = std::max(end, next->second);
      next = ranges_.erase(next);
    }
    ranges_.emplace(begin, end);
  }

  bool Covers(uint64_t begin, uint64_t end) const {
    if (begin == end) return true;
    auto next = ranges_.upper_bound(begin);
    return next != ranges_.begin() && std::prev(next)->second >= end;
  }

 private:
  std::map<uint64_t, uint64_t> ranges_;
};

// By others than the program. Of an input: before its life begins.
bool WrittenFromOutside(BufferKind kind) {
  return IsPersistent(kind) || kind == BufferKind::kInput || kind == BufferKind::kScalarInput ||
         kind == BufferKind::kConstant;
}

// A dense view must be written throughout. Of another view the first and the last element are looked at: what
// lies between its elements may rightly be unwritten.
bool ReadsWritten(const Written& written, const ByteRange& span, const Operand& operand) {
  if (IsDense(Span(operand.shape()), Span(operand.strides()))) return written.Covers(span.begin, span.end);
  if (span.begin == span.end) return true;
  uint64_t bytes = ElementBytes(operand.element_type());
  return written.Covers(span.begin, span.begin + bytes) && written.Covers(span.end - bytes, span.end);
}

// Whether what member `member` brings to an all_gather or a broadcast has been written.
bool BringsPart(const Written& written, const ByteRange& span, const Instruction& instruction, uint32_t member) {
  if (Text(instruction.target()) == "broadcast")
    return static_cast<int64_t>(member) != instruction.root() || written.Covers(span.begin, span.end);
  absl::Span<const int64_t> counts = FindIntegers(instruction, "counts");
  const uint64_t bytes = ElementBytes(instruction.operands()->Get(0)->element_type());
  uint64_t begin = span.begin;
  for (uint32_t m = 0; m < member; ++m) begin += static_cast<uint64_t>(counts[m]) * bytes;
  return written.Covers(begin, begin + static_cast<uint64_t>(counts[member]) * bytes);
}

// Each rank that runs the program must bring its own part; of a program alone, nobody is known to run it.
absl::Status CheckContributions(const Program& program, uint32_t index, const Written& written,
                                const std::set<int>& runners) {
  const Instruction& instruction = *program.instructions()->Get(index);
  ByteRange span = SpanOf(program, *instruction.operands()->Get(0));
  absl::Span<const int> ranks = Span(program.groups()->Get(instruction.group())->ranks());
  for (uint32_t member = 0; member < ranks.size(); ++member) {
    if (runners.count(ranks[member]) == 0 || BringsPart(written, span, instruction, member)) continue;
    return InstructionError(program, index,
                            absl::StrCat("rank ", ranks[member], " has not written what it brings to this ",
                                         std::string(Text(instruction.target()))));
  }
  return absl::OkStatus();
}

// A collective whose operand each member needs to have written in part only.
bool TakesContributions(const Instruction& instruction) {
  return instruction.opcode() == Opcode::kCollectiveStart &&
         (Text(instruction.target()) == "all_gather" || Text(instruction.target()) == "broadcast");
}

bool IsStart(Opcode opcode) {
  return opcode == Opcode::kCollectiveStart || opcode == Opcode::kSend || opcode == Opcode::kReceive;
}

// Memory of operations that were started and not ended, by where it begins.
class InFlight {
 public:
  struct Touch {
    uint64_t end;
    uint32_t start;  // the instruction
    bool writes;
  };
  using Touches = std::multimap<uint64_t, Touch>;

  void Start(uint32_t index, const ByteRange& span, bool writes) {
    auto& [touches, longest] = segments_[static_cast<int>(span.segment)];
    auto place = touches.emplace(span.begin, Touch{span.end, index, writes});
    longest = std::max(longest, span.end - span.begin);
    operations_[index].emplace_back(static_cast<int>(span.segment), place);
  }

  // False when no such operation is in flight.
  bool End(int64_t index) {
    auto found = operations_.find(static_cast<uint32_t>(index));
    if (index < 0 || found == operations_.end()) return false;
    for (auto& [segment, place] : found->second) segments_[segment].first.erase(place);
    operations_.erase(found);
    return true;
  }

  // The first operation that reading or writing `span` would disturb, or that would disturb it; -1: none.
  int64_t Disturbed(const ByteRange& span, bool writes) const {
    const auto& [touches, longest] = segments_[static_cast<int>(span.segment)];
    for (auto touch = touches.lower_bound(span.end); touch != touches.begin();) {
      --touch;
      if (touch->first + longest <= span.begin) break;
      if (touch->second.end > span.begin && (writes || touch->second.writes)) return touch->second.start;
    }
    return -1;
  }

  // The earliest operation that is still in flight; -1: none.
  int64_t Earliest() const { return operations_.empty() ? -1 : int64_t{operations_.begin()->first}; }

  // An operation without memory is in flight too.
  void Start(uint32_t index) { operations_[index]; }

 private:
  std::pair<Touches, uint64_t> segments_[2];  // and the longest range there ever was
  std::map<uint32_t, std::vector<std::pair<int, Touches::iterator>>> operations_;
};

absl::Status CheckUntouched(const Program& program, uint32_t index, const ByteRange& span, bool writes,
                            const InFlight& in_flight) {
  int64_t start = span.begin < span.end ? in_flight.Disturbed(span, writes) : -1;
  if (start < 0) return absl::OkStatus();
  return InstructionError(
      program, index,
      absl::StrCat(writes ? "writes" : "reads", " memory that instruction ", start,
                   " started to work on and that no collective_done has ended"));
}

absl::Status CheckInstructionTouches(const Program& program, uint32_t index,
                                     const InFlight& in_flight) {
  const Instruction& instruction = *program.instructions()->Get(index);
  for (uint32_t o = 0; o < Size(instruction.operands()); ++o) {
    const Operand& operand = *instruction.operands()->Get(o);
    absl::Status status = CheckUntouched(program, index, SpanOf(program, operand),
                                         operand.access() != Access::kRead, in_flight);
    if (!status.ok()) return status;
  }
  if (instruction.workspace() < 0) return absl::OkStatus();
  return CheckUntouched(program, index, RangeOf(*program.buffers()->Get(instruction.workspace())), true,
                        in_flight);
}

}  // namespace

absl::Status CheckLiveness(const Program& program) {
  absl::Status status = ForEachUse(program, [&](uint32_t index, uint32_t buffer_index) {
    const Buffer& buffer = *program.buffers()->Get(buffer_index);
    Lifetime life = LifetimeOf(program, buffer);
    if (index >= life.first && index <= life.last) return absl::OkStatus();
    return InstructionError(
        program, index,
        absl::StrCat("uses buffer ", buffer_index, " (", BufferName(buffer),
                     "), which is live from instruction ", life.first, " to ", life.last));
  });
  return status.ok() ? CheckOverlaps(program) : status;
}

absl::Status CheckDataFlow(const Program& program, const std::set<int>& runners) {
  std::vector<Written> written(Size(program.buffers()));
  for (uint32_t i = 0; i < written.size(); ++i) {
    const Buffer& buffer = *program.buffers()->Get(i);
    if (WrittenFromOutside(buffer.kind())) written[i].Add(buffer.offset(), buffer.offset() + buffer.bytes());
  }
  for (uint32_t i = 0; i < Size(program.instructions()); ++i) {
    const Instruction& instruction = *program.instructions()->Get(i);
    for (uint32_t o = 0; o < Size(instruction.operands()); ++o) {
      const Operand& operand = *instruction.operands()->Get(o);
      if (operand.access() == Access::kWrite) continue;
      if (TakesContributions(instruction)) {
        absl::Status status = CheckContributions(program, i, written[operand.buffer()], runners);
        if (!status.ok()) return status;
        continue;
      }
      if (ReadsWritten(written[operand.buffer()], SpanOf(program, operand), operand)) continue;
      return InstructionError(
          program, i,
          absl::StrCat("operand ", o, " reads buffer ", operand.buffer(), " (",
                       BufferName(*program.buffers()->Get(operand.buffer())), ") before it is written"));
    }
    for (uint32_t o = 0; o < Size(instruction.operands()); ++o) {
      const Operand& operand = *instruction.operands()->Get(o);
      if (operand.access() == Access::kRead) continue;
      ByteRange span = SpanOf(program, operand);
      written[operand.buffer()].Add(span.begin, span.end);
    }
  }
  for (uint32_t i = 0; i < written.size(); ++i) {
    const Buffer& buffer = *program.buffers()->Get(i);
    if (buffer.kind() == BufferKind::kOutput &&
        !written[i].Covers(buffer.offset(), buffer.offset() + buffer.bytes())) {
      return BufferError(program, i, "is an output that no instruction writes");
    }
  }
  return absl::OkStatus();
}

absl::Status CheckPending(const Program& program) {
  InFlight in_flight;
  for (uint32_t i = 0; i < Size(program.instructions()); ++i) {
    const Instruction& instruction = *program.instructions()->Get(i);
    if (instruction.opcode() == Opcode::kCollectiveDone) {
      if (in_flight.End(instruction.start_index())) continue;
      return InstructionError(program, i,
                              absl::StrCat("ends instruction ", instruction.start_index(),
                                           ", which is no operation in flight"));
    }
    absl::Status status = CheckInstructionTouches(program, i, in_flight);
    if (!status.ok()) return status;
    if (!IsStart(instruction.opcode())) continue;
    in_flight.Start(i);
    for (uint32_t o = 0; o < Size(instruction.operands()); ++o) {
      const Operand& operand = *instruction.operands()->Get(o);
      in_flight.Start(i, SpanOf(program, operand), operand.access() != Access::kRead);
    }
  }
  if (in_flight.Earliest() < 0) return absl::OkStatus();
  return InstructionError(program, static_cast<uint32_t>(in_flight.Earliest()),
                          "is started and never ended by a collective_done");
}

}  // namespace pdc::program
