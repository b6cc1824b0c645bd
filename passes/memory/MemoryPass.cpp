//===- MemoryPass.cpp - where buffers lie in the arenas -------------------===//

#include "passes/memory/MemoryPass.h"
#include "dialects/rt/IR/Rt.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/memory/ArenaPlan.h"
#include "passes/memory/Instruction.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include <map>

namespace pdc::passes {
#define GEN_PASS_DEF_MEMORYPASS
#include "passes/memory/MemoryPass.h.inc"
} // namespace pdc::passes

using namespace mlir;
using namespace pdc;
using namespace pdc::passes;

static constexpr int64_t kLine = 64;       // bytes: a cache line, and what the program format asks for
static constexpr int64_t kPage = 4096;     // large buffers begin at pages
static constexpr int64_t kLarge = 1 << 16; // bytes

static int64_t alignmentOf(rt::BufferOp buffer) { return buffer.getBytes() >= kLarge ? kPage : kLine; }
static int64_t alignUp(int64_t offset, int64_t alignment) {
  return (offset + alignment - 1) / alignment * alignment;
}

namespace {

/// Offsets of what persists, the same in all programs that share arenas: those of a rank, hence of all ranks that run one
/// of them. Ranks of different stages hold different parameters.
class Persistent {
public:
  void add(rt::BufferOp buffer) {
    auto [entry, inserted] =
        places.try_emplace(key(buffer), Place{0, buffer.getBytes(), alignmentOf(buffer)});
    entry->second.bytes = std::max(entry->second.bytes, buffer.getBytes());
  }

  void assign() {
    for (auto &[name, place] : places) {
      place.offset = alignUp(end, place.alignment);
      end = place.offset + place.bytes;
    }
  }

  int64_t offset(rt::BufferOp buffer) const { return places.at(key(buffer)).offset; }

  int64_t end = 0;

private:
  using Key = std::tuple<rt::BufferKind, std::string, std::string>;
  struct Place {
    int64_t offset, bytes, alignment;
  };
  static Key key(rt::BufferOp buffer) {
    return {buffer.getKind(), buffer.getName().str(), buffer.getSlot().value_or("").str()};
  }
  std::map<Key, Place> places;
};

/// Between which instructions a buffer's contents matter. -1 as first: from before the program; as last:
/// after it.
struct Life {
  int64_t first = -1, last = -1;
  bool used = false;

  void add(int64_t index) {
    first = used ? std::min(first, index) : index;
    last = used ? std::max(last, index) : index;
    used = true;
  }
};

class ProgramPlan {
public:
  ProgramPlan(rt::ProgramOp program, const WorkspaceQuery &workspace)
      : program(program), workspace(workspace) {}

  LogicalResult run(const Persistent &persistent) {
    if (failed(addWorkspaces()))
      return failure();
    findLives();
    Builder b(program.getContext());
    SmallVector<int64_t> live;
    for (rt::Segment segment : {rt::Segment::Private, rt::Segment::Shared}) {
      int64_t begin = segment == rt::Segment::Private ? persistent.end : 0, bytes = 0;
      if (failed(place(segment, begin, bytes, live.emplace_back())))
        return failure();
      program->setAttr(segment == rt::Segment::Private ? program.getPrivateBytesAttrName()
                                                       : program.getSharedBytesAttrName(),
                       b.getI64IntegerAttr(bytes));
    }
    program->setAttr("rt.live_bytes", b.getDenseI64ArrayAttr(live));
    for (rt::BufferOp buffer : program.getOps<rt::BufferOp>())
      if (buffer.isPersistent())
        buffer.setOffset(persistent.offset(buffer));
    return success();
  }

private:
  LogicalResult addWorkspaces() {
    if (!workspace)
      return success();
    for (rt::LibraryOp call : llvm::make_early_inc_range(program.getOps<rt::LibraryOp>())) {
      std::string reason;
      // The query looks at views and attributes, not at which buffer is which.
      int64_t bytes = workspace(toInstruction(call, [](rt::BufferOp) { return 0; }), reason);
      if (bytes < 0)
        return call.emitOpError() << "cannot run here: " << reason;
      if (bytes == 0)
        continue;
      OpBuilder b(call);
      b.setInsertionPointToStart(&program.getBody().front());
      OperationState state(call.getLoc(), rt::BufferOp::getOperationName());
      state.addAttribute("kind", rt::BufferKindAttr::get(b.getContext(), rt::BufferKind::Temporary));
      state.addAttribute("segment", rt::SegmentAttr::get(b.getContext(), rt::Segment::Private));
      state.addAttribute("name", b.getStringAttr(call.getLabel() + " workspace"));
      state.addTypes(MemRefType::get({bytes}, b.getI8Type()));
      call.getWorkspaceMutable().assign(b.create(state)->getResult(0));
    }
    return success();
  }

  void findLives() {
    int64_t index = 0;
    DenseMap<Operation *, int64_t> indices;
    for (Operation &op : program.getBody().front()) {
      if (!rt::isInstruction(&op))
        continue;
      auto use = [&](ValueRange operands) {
        for (Value operand : operands)
          if (rt::BufferOp buffer =
                  isa<MemRefType>(operand.getType()) ? rt::getBuffer(operand) : rt::BufferOp())
            lives[buffer].add(index);
      };
      use(op.getOperands());
      // In use until the collective has ended.
      if (auto done = dyn_cast<rt::CollectiveDoneOp>(op))
        use(done.getToken().getDefiningOp()->getOperands());
      ++index;
    }
    end = index;
    for (rt::BufferOp buffer : program.getOps<rt::BufferOp>()) {
      Life &life = lives[buffer];
      bool always = buffer.isPersistent() || buffer.getKind() == rt::BufferKind::Constant;
      // The runtime writes scalars before the step, inputs where they are used first.
      bool isInput = buffer.getKind() == rt::BufferKind::Input;
      bool before = buffer.getKind() == rt::BufferKind::ScalarInput;
      if (always || before || !life.used)
        life.first = -1;
      if (always || buffer.getKind() == rt::BufferKind::Output)
        life.last = -1;
      else if (!life.used)
        life.last = before || isInput ? 0 : -1; // what nothing reads is written by the runtime all the same
      if (end == 0)
        life.last = -1;
      buffer.setFirstUse(life.first);
      buffer.setLastUse(life.last);
    }
  }

  LogicalResult place(rt::Segment segment, int64_t begin, int64_t &bytes, int64_t &live) {
    ArenaProblem problem;
    problem.begin = begin;
    SmallVector<rt::BufferOp> buffers;
    for (rt::BufferOp buffer : program.getOps<rt::BufferOp>()) {
      if (buffer.getSegment() != segment || buffer.isPersistent())
        continue;
      Life life = lives.lookup(buffer);
      buffers.push_back(buffer);
      problem.buffers.push_back(
          {buffer.getBytes(), life.first, life.last < 0 ? end : life.last, alignmentOf(buffer)});
    }
    if (std::string error = checkArenaProblem(problem); !error.empty())
      return program.emitOpError() << "cannot be planned: " << error;
    ArenaPlan plan = planArena(problem);
    if (std::string error = verifyArenaPlan(problem, plan); !error.empty())
      return program.emitOpError() << "has a wrong memory plan: " << error;
    for (auto [buffer, offset] : llvm::zip(buffers, plan.offsets))
      buffer.setOffset(offset);
    bytes = plan.bytes;
    live = arenaLowerBound(problem);
    return success();
  }

  rt::ProgramOp program;
  const WorkspaceQuery &workspace;
  DenseMap<Operation *, Life> lives;
  int64_t end = 0;
};

struct Memory : passes::impl::MemoryPassBase<Memory> {
  Memory() = default;
  explicit Memory(WorkspaceQuery workspace) : workspace(std::move(workspace)) {}

  void runOnOperation() override {
    std::vector<Sharing> sharing = findSharing();
    for (Sharing &group : sharing) {
      for (rt::ProgramOp program : group.programs)
        for (rt::BufferOp buffer : program.getOps<rt::BufferOp>())
          if (buffer.isPersistent())
            group.persistent.add(buffer);
      group.persistent.assign();
    }
    for (Sharing &group : sharing)
      for (rt::ProgramOp program : group.programs)
        if (failed(ProgramPlan(program, workspace).run(group.persistent)))
          return signalPassFailure();
  }

private:
  /// Programs that some rank runs in the same arenas.
  struct Sharing {
    SmallVector<rt::ProgramOp> programs;
    Persistent persistent;
  };

  std::vector<Sharing> findSharing() {
    llvm::EquivalenceClasses<Operation *> classes;
    std::map<std::pair<bool, int64_t>, Operation *> first; // of a rank
    for (rt::ProgramOp program : getOperation().getOps<rt::ProgramOp>()) {
      classes.insert(program);
      // The reference has arenas of its own.
      bool isReference = program.getMode() == "reference_gradient";
      for (int64_t rank : program.getRanks()) {
        auto [entry, inserted] = first.try_emplace({isReference, rank}, program);
        if (!inserted)
          classes.unionSets(entry->second, program);
      }
    }
    std::vector<Sharing> sharing;
    DenseMap<Operation *, size_t> indices;
    for (rt::ProgramOp program : getOperation().getOps<rt::ProgramOp>()) {
      auto [entry, inserted] = indices.try_emplace(classes.getLeaderValue(program), sharing.size());
      if (inserted)
        sharing.emplace_back();
      sharing[entry->second].programs.push_back(program);
    }
    return sharing;
  }

  WorkspaceQuery workspace;
};

} // namespace

std::unique_ptr<Pass> passes::createMemoryPass(WorkspaceQuery workspace) {
  return std::make_unique<Memory>(std::move(workspace));
}
