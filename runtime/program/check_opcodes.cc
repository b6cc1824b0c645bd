// What each opcode asks of its operands.
#include "absl/strings/str_cat.h"
#include "runtime/program/check_rules.h"
#include "runtime/program/view.h"

namespace pdc::program {
namespace {

bool Dense(const Operand& operand) { return IsDense(Span(operand.shape()), Span(operand.strides())); }

int64_t Elements(const Operand& operand) { return ElementCount(Span(operand.shape())); }

// One instruction with what its checks need.
struct Site {
  const Program& program;
  uint32_t index;
  const Instruction& instruction;

  absl::Status Error(absl::string_view message) const { return InstructionError(program, index, message); }

  uint32_t operands() const { return Size(instruction.operands()); }
  const Operand& operand(uint32_t i) const { return *instruction.operands()->Get(i); }

  // Exactly these accesses, all dense.
  absl::Status ExpectDense(std::initializer_list<Access> accesses) const {
    if (operands() != accesses.size()) {
      return Error(absl::StrCat("has ", operands(), " operands, expected ", accesses.size()));
    }
    uint32_t i = 0;
    for (Access access : accesses) {
      if (operand(i).access() != access) {
        return Error(absl::StrCat("operand ", i, " should be ", EnumNameAccess(access), " and is ",
                                  EnumNameAccess(operand(i).access())));
      }
      if (!Dense(operand(i))) return Error(absl::StrCat("operand ", i, " should be dense"));
      ++i;
    }
    return absl::OkStatus();
  }
};

// The output of a library call may share a buffer with an input only where they do not meet.
absl::Status CheckNoAliasing(const Site& site) {
  for (uint32_t w = 0; w < site.operands(); ++w) {
    if (site.operand(w).access() == Access::kRead) continue;
    ByteRange written = SpanOf(site.program, site.operand(w));
    for (uint32_t o = 0; o < site.operands(); ++o) {
      if (o != w && written.Overlaps(SpanOf(site.program, site.operand(o)))) {
        return site.Error(absl::StrCat("writes operand ", w, " over operand ", o));
      }
    }
  }
  return absl::OkStatus();
}

absl::Status CheckWorkspaceApart(const Site& site) {
  if (site.instruction.workspace() < 0) return absl::OkStatus();
  ByteRange workspace = RangeOf(*site.program.buffers()->Get(site.instruction.workspace()));
  for (uint32_t o = 0; o < site.operands(); ++o) {
    if (workspace.Overlaps(SpanOf(site.program, site.operand(o)))) {
      return site.Error(absl::StrCat("its workspace overlaps operand ", o));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckCopy(const Site& site) {
  absl::Status status = site.ExpectDense({Access::kRead, Access::kWrite});
  if (!status.ok()) return status;
  int64_t from = Elements(site.operand(0)) * ElementBytes(site.operand(0).element_type());
  int64_t to = Elements(site.operand(1)) * ElementBytes(site.operand(1).element_type());
  if (from != to) return site.Error(absl::StrCat("copies ", from, " bytes into ", to));
  return CheckNoAliasing(site);
}

absl::Status CheckCounts(const Site& site, int64_t members) {
  absl::Span<const int64_t> counts = FindIntegers(site.instruction, "counts");
  int64_t sum = 0;
  for (int64_t count : counts) {
    if (count < 0 || count > Elements(site.operand(0)))
      return site.Error(absl::StrCat("has the count ", count));
    sum += count;
  }
  if (static_cast<int64_t>(counts.size()) != members || sum != Elements(site.operand(0))) {
    return site.Error(absl::StrCat("has ", counts.size(), " 'counts' of ", sum,
                                   " elements together, expected ", members, " of ",
                                   Elements(site.operand(0))));
  }
  return absl::OkStatus();
}

absl::Status CheckReducible(const Site& site) {
  switch (site.operand(0).element_type()) {
    case ElementType::kF32:
    case ElementType::kF64:
    case ElementType::kBF16:
    case ElementType::kF16:
    case ElementType::kI32:
    case ElementType::kI64:
      return absl::OkStatus();
    default: {
      std::string_view name = ElementName(site.operand(0).element_type());
      return site.Error(absl::StrCat("cannot reduce elements of type ", std::string(name)));
    }
  }
}

absl::Status CheckCollective(const Site& site) {
  const Instruction& instruction = site.instruction;
  std::string_view target = Text(instruction.target());
  if (instruction.group() < 0 || instruction.group() >= static_cast<int64_t>(Size(site.program.groups()))) {
    return site.Error(
        absl::StrCat("works on group ", instruction.group(), " of ", Size(site.program.groups())));
  }
  int64_t members = Size(site.program.groups()->Get(instruction.group())->ranks());
  absl::Status status = target == "all_to_all" ? site.ExpectDense({Access::kRead, Access::kWrite})
                                               : site.ExpectDense({Access::kReadWrite});
  if (!status.ok()) return status;
  for (uint32_t o = 0; o < site.operands(); ++o) {
    if (site.program.buffers()->Get(site.operand(o).buffer())->segment() != Segment::kShared) {
      return site.Error(absl::StrCat("operand ", o, " of a collective must lie in the shared arena"));
    }
  }
  if (target == "all_reduce") return CheckReducible(site);
  if (target == "all_gather") return CheckCounts(site, members);
  if (target == "reduce_scatter") {
    status = CheckReducible(site);
    return status.ok() ? CheckCounts(site, members) : status;
  }
  if (target == "broadcast") {
    if (instruction.root() >= 0 && instruction.root() < members) return absl::OkStatus();
    return site.Error(absl::StrCat("has root ", instruction.root(), " in a group of ", members));
  }
  if (target == "all_to_all") {
    int64_t elements = Elements(site.operand(0));
    if (elements % members != 0 || elements != Elements(site.operand(1)) ||
        site.operand(0).element_type() != site.operand(1).element_type()) {
      return site.Error(absl::StrCat("its operands must be equal in size and type and split evenly over ",
                                     members, " members"));
    }
    return CheckNoAliasing(site);
  }
  return site.Error(
      absl::StrCat("'", std::string(target),
                   "' is not one of all_reduce, all_gather, reduce_scatter, all_to_all, broadcast"));
}

// Communicators have larger ones for themselves (runtime/comm/communicator.h).
constexpr int kMostProgramTag = (1 << 30) - 2;

absl::Status CheckPeer(const Site& site, int ranks, Access access) {
  int peer = site.instruction.peer();
  if (peer < 0 || peer >= ranks)
    return site.Error(absl::StrCat("has peer ", peer, " in a job of ", ranks, " ranks"));
  if (site.instruction.tag() < 0 || site.instruction.tag() > kMostProgramTag)
    return site.Error(absl::StrCat("has tag ", site.instruction.tag(), ", expected one from 0 to ", kMostProgramTag));
  return site.ExpectDense({access});
}

bool Communicates(Opcode opcode) {
  return opcode == Opcode::kCollectiveStart || opcode == Opcode::kSend || opcode == Opcode::kReceive;
}

absl::Status CheckOpcode(const Site& site, int ranks) {
  if (site.program.mode() == Mode::kReferenceGradient && Communicates(site.instruction.opcode())) {
    return site.Error("communicates, but a reference program runs on one device");
  }
  switch (site.instruction.opcode()) {
    case Opcode::kKernel:
      if (Text(site.instruction.target()).empty()) return site.Error("a kernel needs a symbol as its target");
      if (site.instruction.parallel_extent() < 0) return site.Error("has a negative parallel extent");
      return CheckWorkspaceApart(site);
    case Opcode::kLibrary: {
      if (Text(site.instruction.target()).empty())
        return site.Error("a library call needs a name as its target");
      absl::Status status = CheckNoAliasing(site);
      return status.ok() ? CheckWorkspaceApart(site) : status;
    }
    case Opcode::kFill:
      return site.ExpectDense({Access::kWrite});
    case Opcode::kCopy:
      return CheckCopy(site);
    case Opcode::kCollectiveStart:
      return CheckCollective(site);
    case Opcode::kCollectiveDone:
      if (site.operands() != 0) return site.Error("has operands; they belong to its start");
      return absl::OkStatus();
    case Opcode::kSend:
      return CheckPeer(site, ranks, Access::kRead);
    case Opcode::kReceive:
      return CheckPeer(site, ranks, Access::kWrite);
  }
  return site.Error("has an unknown opcode");
}

}  // namespace

absl::Status CheckOpcodes(const Program& program, int ranks) {
  for (uint32_t i = 0; i < Size(program.instructions()); ++i) {
    absl::Status status = CheckOpcode({program, i, *program.instructions()->Get(i)}, ranks);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace pdc::program
