//===- Reshard.cpp - from one layout to another by collectives ------------===//

#include "passes/layouts/Reshard.h"
#include "mlir/IR/Builders.h"
#include "llvm/Support/raw_ostream.h"
#include <deque>
#include <limits>
#include <queue>
#include <unordered_map>

using namespace mlir;
using namespace pdc;
using namespace pdc::passes;
using dist::LayoutAttr;

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

LocalPart passes::getLocalPart(LayoutAttr layout, ArrayRef<int64_t> shape, dist::MeshOp mesh, int64_t rank) {
  LocalPart part;
  for (auto [d, size] : llvm::enumerate(shape)) {
    ArrayAttr axes = layout.getAxes(d);
    int64_t parts = mesh.getParts(axes), index = mesh.getPart(axes, rank), block = layout.getBlocks()[d];
    part.start.push_back(dist::shardStart(size, block, parts, index));
    part.shape.push_back(dist::shardSize(size, block, parts, index));
  }
  return part;
}

SmallVector<int64_t> passes::getPartSizes(ArrayAttr axes, int64_t dim, LayoutAttr split,
                                          ArrayRef<int64_t> shape, dist::MeshOp mesh, int64_t rank) {
  ArrayAttr all = split.getAxes(dim);
  int64_t parts = mesh.getParts(all), members = mesh.getParts(axes);
  int64_t first = mesh.getPart(all, rank) - mesh.getPart(axes, rank);
  SmallVector<int64_t> sizes;
  for (int64_t i = 0; i < members; ++i)
    sizes.push_back(dist::shardSize(shape[dim], split.getBlocks()[dim], parts, first + i));
  return sizes;
}

std::string passes::checkFits(LayoutAttr layout, ArrayRef<int64_t> shape, dist::MeshOp mesh) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (layout.getRank() != static_cast<int64_t>(shape.size())) {
    os << "layout " << layout << " is for " << layout.getRank() << " dimensions, the value has "
       << shape.size();
    return text;
  }
  auto lacks = [&](ArrayAttr axes) {
    for (StringRef axis : axes.getAsValueRange<StringAttr>())
      if (mesh.findAxis(axis) < 0) {
        os << "mesh @" << mesh.getSymName() << " has no axis \"" << axis << "\" of layout " << layout;
        return true;
      }
    return false;
  };
  if (lacks(layout.getSum()) || lacks(layout.getMax()))
    return text;
  for (auto [d, size] : llvm::enumerate(shape)) {
    if (!layout.isSplit(d))
      continue;
    if (lacks(layout.getAxes(d)))
      return text;
    int64_t block = layout.getBlocks()[d], parts = mesh.getParts(layout.getAxes(d));
    if (size % block == 0 && size / block >= parts)
      continue;
    os << "layout " << layout << " splits dimension " << d << " of " << size << " elements in blocks of "
       << block << " over " << parts << " ranks; every rank needs at least one whole block";
    return text;
  }
  return "";
}

LogicalResult passes::checkFits(Operation *op, Value value, dist::MeshOp mesh) {
  std::string error = checkFits(dist::getLayout(value), cast<RankedTensorType>(value.getType()).getShape(), mesh);
  if (!error.empty())
    return op->emitOpError() << "has a value of type " << value.getType() << " whose " << error;
  return success();
}

//===----------------------------------------------------------------------===//
// Layouts as numbers
//===----------------------------------------------------------------------===//

namespace {

using Axes = SmallVector<int, 4>; // indices of mesh axes, major to minor; none of size one

/// A layout, as far as it matters where elements lie.
struct State {
  SmallVector<Axes, 4> dims;
  SmallVector<int64_t, 4> blocks;
  unsigned sum = 0, max = 0; // bit i: partial over axis i

  bool operator==(const State &other) const = default;

  struct Hash {
    size_t operator()(const State &state) const {
      llvm::hash_code hash = llvm::hash_combine(state.sum, state.max, llvm::hash_combine_range(state.blocks));
      for (const Axes &axes : state.dims)
        hash = llvm::hash_combine(hash, llvm::hash_combine_range(axes));
      return hash;
    }
  };
};

/// One edge of the search.
struct Move {
  ReshardKind kind;
  Axes axes;
  int64_t dim = -1, otherDim = -1;
  bool isMax = false;
  int64_t elements = 0;
};

class Search {
public:
  Search(ArrayRef<int64_t> shape, dist::MeshOp mesh, LayoutAttr from, LayoutAttr to)
      : shape(shape), mesh(mesh), sizes(mesh.getAxisSizes()), wanted(to) {
    begin = stateOf(from);
    goal = stateOf(to);
    for (const State *state : {&begin, &goal}) {
      for (const Axes &axes : state->dims)
        for (int axis : axes)
          used |= 1u << axis;
      used |= state->sum | state->max;
    }
  }

  /// Of the moves, in order; failure where there is no way.
  FailureOr<SmallVector<ReshardStep>> run() {
    // Of equal ones the first that was found: a fixed order, since moves are listed in one.
    using Entry = std::tuple<int64_t, int64_t, uint32_t, uint32_t>; // elements, steps, when it was found, number of the state
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> open;
    uint32_t found = 0;
    auto push = [&](uint32_t number) { open.emplace(reached[number].elements, reached[number].steps, found++, number); };
    uint32_t first = numberOf(begin), last = numberOf(goal);
    reached[first].elements = reached[first].steps = 0;
    push(first);
    while (!open.empty()) {
      uint32_t number = std::get<3>(open.top());
      open.pop();
      if (reached[number].isFinal)
        continue;
      reached[number].isFinal = true;
      if (number == last)
        break;
      auto [elements, steps] = reached[number].cost();
      forEachMove(reached[number].state, [&](const State &state, const Move &move) {
        std::pair<int64_t, int64_t> cost(elements + move.elements, steps + 1);
        if (cost >= reached[last].cost()) // no way through here is better than one that is known
          return;
        uint32_t next = numberOf(state);
        Reached &there = reached[next];
        if (there.isFinal || cost >= there.cost())
          return;
        std::tie(there.elements, there.steps) = cost;
        there.before = number;
        there.move = move;
        push(next);
      });
    }
    if (!reached[last].isFinal)
      return failure();
    SmallVector<ReshardStep> way;
    for (uint32_t at = last; at != first; at = reached[at].before) {
      const Move &move = reached[at].move;
      LayoutAttr result = way.empty() ? wanted : layoutOf(reached[at].state);
      way.push_back(
          {move.kind, attributeOf(move.axes), move.dim, move.otherDim, move.isMax, move.elements, result});
    }
    std::reverse(way.begin(), way.end());
    return way;
  }

private:
  struct Reached {
    State state;
    int64_t elements = std::numeric_limits<int64_t>::max(), steps = 0; // of the cheapest way here
    uint32_t before = 0;
    Move move = {};
    bool isFinal = false;

    std::pair<int64_t, int64_t> cost() const { return {elements, steps}; }
  };

  uint32_t numberOf(const State &state) {
    auto [entry, isNew] = numbers.try_emplace(state, static_cast<uint32_t>(reached.size()));
    if (isNew)
      reached.push_back({state});
    return entry->second;
  }

  int64_t partsOf(ArrayRef<int> axes) const {
    int64_t parts = 1;
    for (int axis : axes)
      parts *= sizes[axis];
    return parts;
  }

  State stateOf(LayoutAttr layout) {
    State state;
    auto mask = [&](ArrayAttr axes) {
      unsigned bits = 0;
      for (int axis : axesOf(axes))
        bits |= 1u << axis;
      return bits;
    };
    for (size_t d = 0; d < shape.size(); ++d) {
      state.dims.push_back(axesOf(layout.getAxes(d)));
      state.blocks.push_back(plainBlock(d, state.dims.back(), layout.getBlocks()[d]));
    }
    state.sum = mask(layout.getSum());
    state.max = mask(layout.getMax());
    return state;
  }

  Axes axesOf(ArrayAttr names) {
    Axes axes;
    for (StringRef name : names.getAsValueRange<StringAttr>())
      if (int64_t axis = mesh.findAxis(name); sizes[axis] > 1)
        axes.push_back(static_cast<int>(axis));
    return axes;
  }

  ArrayAttr attributeOf(ArrayRef<int> axes) {
    SmallVector<Attribute> names;
    for (int axis : axes)
      names.push_back(mesh.getAxisNames()[axis]);
    return ArrayAttr::get(mesh.getContext(), names);
  }

  LayoutAttr layoutOf(const State &state) {
    auto bits = [&](unsigned mask) {
      Axes axes;
      for (size_t i = 0; i < sizes.size(); ++i)
        if (mask >> i & 1)
          axes.push_back(static_cast<int>(i));
      return attributeOf(axes);
    };
    SmallVector<Attribute> dims;
    for (const Axes &axes : state.dims)
      dims.push_back(attributeOf(axes));
    MLIRContext *context = mesh.getContext();
    return LayoutAttr::get(context, ArrayAttr::get(context, dims),
                           DenseI64ArrayAttr::get(context, state.blocks), bits(state.sum), bits(state.max));
  }

  /// Blocks that give the same parts are one: 1 where it does.
  int64_t plainBlock(int64_t d, ArrayRef<int> axes, int64_t block) const {
    return axes.empty() || nests(d, axes, 1, {}, block) ? 1 : block;
  }

  /// The parts of dimension d over `outer` in blocks of `outerBlock` are joined parts over outer and inner together.
  bool nests(int64_t d, ArrayRef<int> outer, int64_t outerBlock, ArrayRef<int> inner, int64_t block) const {
    int64_t parts = partsOf(outer), members = partsOf(inner), size = shape[d];
    if (size % block != 0 || size / block < parts * members)
      return false;
    // Even parts begin at the same multiples.
    if (size % (block * parts * members) == 0 && size % (outerBlock * parts) == 0)
      return true;
    for (int64_t i = 1; i < parts; ++i)
      if (dist::shardStart(size, outerBlock, parts, i) !=
          dist::shardStart(size, block, parts * members, i * members))
        return false;
    return true;
  }

  int64_t localElements(const State &state) const {
    int64_t elements = 1;
    for (auto [d, axes] : llvm::enumerate(state.dims)) // part 0 is the largest
      elements *= dist::shardSize(shape[d], state.blocks[d], partsOf(axes), 0);
    return elements;
  }

  /// Elements of the rank with the most, but its own of `members` shares.
  static int64_t others(int64_t elements, int64_t members) { return elements - elements / members; }

  /// Calls `visit` with every ordered choice of at least one of the axes in `mask`.
  void forEachChoice(unsigned mask, Axes &chosen, llvm::function_ref<void()> visit) const {
    for (size_t i = 0; i < sizes.size(); ++i) {
      if (!(mask >> i & 1))
        continue;
      chosen.push_back(static_cast<int>(i));
      visit();
      forEachChoice(mask & ~(1u << i), chosen, visit);
      chosen.pop_back();
    }
  }

  using Visit = llvm::function_ref<void(const State &, const Move &)>;

  /// `state` with dimension d split further over `axes`, once for each block that the parts can have.
  void forEachSplit(const State &state, int64_t d, const Axes &axes,
                    llvm::function_ref<void(const State &)> visit) {
    SmallVector<int64_t, 3> blocks;
    for (int64_t block : {goal.blocks[d], state.blocks[d], begin.blocks[d]})
      if (!llvm::is_contained(blocks, block))
        blocks.push_back(block);
    State next = state;
    llvm::append_range(next.dims[d], axes);
    for (int64_t block : blocks) {
      if (!nests(d, state.dims[d], state.blocks[d], axes, block))
        continue;
      next.blocks[d] = plainBlock(d, next.dims[d], block);
      visit(next);
    }
  }

  /// `state` with the minor `count` axes of dimension d gone; once for each block that the parts can have.
  void forEachJoin(const State &state, int64_t d, size_t count,
                   llvm::function_ref<void(const State &)> visit) {
    State next = state;
    next.dims[d].resize(state.dims[d].size() - count);
    ArrayRef<int> inner = ArrayRef<int>(state.dims[d]).take_back(count);
    SmallVector<int64_t, 3> blocks;
    for (int64_t block : {goal.blocks[d], state.blocks[d], int64_t{1}}) {
      if (!nests(d, next.dims[d], block, inner, state.blocks[d]))
        continue;
      next.blocks[d] = plainBlock(d, next.dims[d], block);
      if (!llvm::is_contained(blocks, next.blocks[d]))
        visit(next);
      blocks.push_back(next.blocks[d]);
    }
  }

  void forEachMove(const State &state, Visit visit) {
    moveReductions(state, visit);
    int64_t local = localElements(state);
    unsigned free = used & ~(state.sum | state.max);
    for (const Axes &axes : state.dims)
      for (int axis : axes)
        free &= ~(1u << axis);
    for (int64_t d = 0; d < static_cast<int64_t>(shape.size()); ++d) {
      Axes chosen;
      forEachChoice(free, chosen, [&] {
        forEachSplit(state, d, chosen, [&](const State &next) {
          visit(next, {ReshardKind::Slice, chosen, d, -1, false, 0});
        });
      });
      for (size_t count = 1; count <= state.dims[d].size(); ++count) {
        Axes inner(ArrayRef<int>(state.dims[d]).take_back(count));
        int64_t members = partsOf(inner);
        forEachJoin(state, d, count, [&](const State &joined) {
          visit(joined,
                {ReshardKind::AllGather, inner, d, -1, false, others(localElements(joined), members)});
          for (int64_t other = 0; other < static_cast<int64_t>(shape.size()); ++other)
            if (other != d)
              forEachSplit(joined, other, inner, [&](const State &next) {
                int64_t elements = others(std::max(local, localElements(next)), members);
                visit(next, {ReshardKind::AllToAll, inner, other, d, false, elements});
              });
        });
      }
    }
  }

  void moveReductions(const State &state, Visit visit) {
    bool isMax = state.sum == 0; // sums are complete before a maximum of them is
    unsigned reducible = isMax ? state.max & ~goal.max : state.sum & ~goal.sum;
    int64_t local = localElements(state);
    Axes chosen;
    forEachChoice(reducible, chosen, [&] {
      State next = state;
      for (int axis : chosen)
        (isMax ? next.max : next.sum) &= ~(1u << axis);
      int64_t part = others(local, partsOf(chosen));
      if (llvm::is_sorted(chosen)) // the order does not matter to an all_reduce
        visit(next, {ReshardKind::AllReduce, chosen, -1, -1, isMax, 2 * part});
      for (int64_t d = 0; d < static_cast<int64_t>(shape.size()); ++d)
        forEachSplit(next, d, chosen, [&](const State &split) {
          visit(split, {ReshardKind::ReduceScatter, chosen, d, -1, isMax, part});
        });
    });
  }

  ArrayRef<int64_t> shape;
  dist::MeshOp mesh;
  ArrayRef<int64_t> sizes;
  LayoutAttr wanted;
  State begin, goal;
  unsigned used = 0; // axes that either layout speaks of
  std::deque<Reached> reached; // states by number; they stay where they are
  std::unordered_map<State, uint32_t, State::Hash> numbers;
};

} // namespace

FailureOr<SmallVector<ReshardStep>> passes::planReshard(LayoutAttr from, LayoutAttr to,
                                                        ArrayRef<int64_t> shape, dist::MeshOp mesh,
                                                        std::string *error) {
  auto fail = [&](const std::string &why) -> FailureOr<SmallVector<ReshardStep>> {
    if (error)
      *error = why;
    return failure();
  };
  for (LayoutAttr layout : {from, to})
    if (std::string why = checkFits(layout, shape, mesh); !why.empty())
      return fail(why);
  if (from == to)
    return SmallVector<ReshardStep>();
  FailureOr<SmallVector<ReshardStep>> steps = Search(shape, mesh, from, to).run();
  if (succeeded(steps))
    return steps;
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "layout " << from << " cannot become " << to
     << ": a value becomes a partial result only by an op, never by moving it";
  return fail(text);
}
