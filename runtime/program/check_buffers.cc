// Rules of buffers, groups and views.
#include <limits>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/program/check_rules.h"
#include "runtime/program/view.h"

namespace pdc::program {
namespace {

constexpr int64_t kMaxElements = std::numeric_limits<int64_t>::max() / 16;

std::string List(absl::Span<const int64_t> values) {
  return absl::StrCat("[", absl::StrJoin(values, ","), "]");
}

// False when a dimension is negative or the product does not fit.
bool CountElements(absl::Span<const int64_t> shape, int64_t* count) {
  *count = 1;
  for (int64_t dimension : shape) {
    if (dimension < 0) return false;
    if (dimension != 0 && *count > kMaxElements / dimension) return false;
    *count *= dimension;
  }
  return true;
}

absl::Status CheckShape(const Program& program, uint32_t index, const Buffer& buffer) {
  int64_t elements;
  if (!CountElements(Span(buffer.shape()), &elements)) {
    return BufferError(program, index, absl::StrCat("has the impossible shape ", List(Span(buffer.shape()))));
  }
  uint64_t needed = static_cast<uint64_t>(elements * ElementBytes(buffer.element_type()));
  bool exact = buffer.kind() != BufferKind::kTemporary;
  if (exact ? buffer.bytes() != needed : buffer.bytes() < needed) {
    return BufferError(program, index,
                       absl::StrCat("has ", buffer.bytes(), " bytes, but its shape ",
                                    List(Span(buffer.shape())), " takes ", needed));
  }
  if (Size(buffer.global_shape()) == 0 && Size(buffer.start()) == 0) return absl::OkStatus();
  if (Size(buffer.global_shape()) != Size(buffer.shape()) || Size(buffer.start()) != Size(buffer.shape())) {
    return BufferError(program, index, "has a shape, a global shape and a start of different ranks");
  }
  for (uint32_t d = 0; d < Size(buffer.shape()); ++d) {
    int64_t start = buffer.start()->Get(d), size = buffer.shape()->Get(d),
            global = buffer.global_shape()->Get(d);
    if (start < 0 || start > kMaxElements || global < 0 || start + size > global) {
      return BufferError(program, index,
                         absl::StrCat("holds [", start, ", ", start + size, ") of dimension ", d,
                                      ", which has size ", global, " on one device"));
    }
  }
  return absl::OkStatus();
}

// The shape in the model and in checkpoints is one of the whole value's elements.
absl::Status CheckDeclaredShape(const Program& program, uint32_t index, const Buffer& buffer) {
  if (Size(buffer.declared_shape()) == 0) return absl::OkStatus();
  if (buffer.kind() != BufferKind::kParameter && buffer.kind() != BufferKind::kOptimizerState) {
    return BufferError(program, index, "has a declared shape, but is no parameter and no optimizer state");
  }
  const auto* global = Size(buffer.global_shape()) == 0 ? buffer.shape() : buffer.global_shape();
  int64_t declared_elements, elements;
  if (!CountElements(Span(buffer.declared_shape()), &declared_elements) ||
      !CountElements(Span(global), &elements) || declared_elements != elements) {
    return BufferError(program, index,
                       absl::StrCat("has the declared shape ", List(Span(buffer.declared_shape())),
                                    ", which has other elements than ", List(Span(global))));
  }
  return absl::OkStatus();
}

absl::Status CheckContents(const Program& program, uint32_t index, const Buffer& buffer) {
  uint64_t constant = Size(buffer.constant());
  if (buffer.kind() == BufferKind::kConstant && constant != buffer.bytes()) {
    return BufferError(
        program, index,
        absl::StrCat("brings ", constant, " bytes of contents for ", buffer.bytes(), " bytes"));
  }
  if (buffer.kind() != BufferKind::kConstant && constant != 0) {
    return BufferError(program, index, "brings contents, but is no constant");
  }
  bool initialized = IsPersistent(buffer.kind());
  if (initialized && program.mode() != Mode::kReferenceGradient && buffer.initializer() == nullptr) {
    return BufferError(program, index, "persists over steps and has no initializer");
  }
  if (!initialized && buffer.initializer() != nullptr) {
    return BufferError(program, index, "has an initializer, but does not persist over steps");
  }
  if (buffer.kind() != BufferKind::kScalarInput) return absl::OkStatus();
  std::string_view name = Text(buffer.name());
  bool known = (name == "learning_rate" && buffer.element_type() == ElementType::kF32) ||
               (name == "step" && buffer.element_type() == ElementType::kF32) ||
               (name == "seed" && buffer.element_type() == ElementType::kI64);
  if (!known || buffer.bytes() != static_cast<uint64_t>(ElementBytes(buffer.element_type()))) {
    return BufferError(
        program, index,
        "is not one of the scalar inputs 'learning_rate' (f32), 'step' (f32) and 'seed' (i64)");
  }
  return absl::OkStatus();
}

absl::Status CheckPlace(const Program& program, uint32_t index, const Buffer& buffer) {
  uint64_t arena = buffer.segment() == Segment::kShared ? program.shared_bytes() : program.private_bytes();
  if (buffer.offset() % 64 != 0) {
    return BufferError(program, index,
                       absl::StrCat("lies at ", buffer.offset(), ", not at a multiple of 64"));
  }
  if (buffer.offset() > arena || buffer.bytes() > arena - buffer.offset()) {
    return BufferError(program, index,
                       absl::StrCat("lies at [", buffer.offset(), ", +", buffer.bytes(),
                                    "), outside its arena of ", arena, " bytes"));
  }
  int64_t last_instruction = static_cast<int64_t>(Size(program.instructions())) - 1;
  if (buffer.first_use() < -1 || buffer.last_use() < -1 || buffer.last_use() > last_instruction ||
      (buffer.last_use() >= 0 && buffer.first_use() > buffer.last_use())) {
    return BufferError(program, index,
                       absl::StrCat("is live from instruction ", buffer.first_use(), " to ",
                                    buffer.last_use(), " of 0 to ", last_instruction));
  }
  return absl::OkStatus();
}

// True when no two index tuples of a view reach the same element. Sorting by stride, each dimension must step
// over everything the smaller ones reach; views that interleave without meeting are refused too, which no
// compiler makes.
bool WritesEachElementOnce(absl::Span<const int64_t> shape, absl::Span<const int64_t> strides) {
  std::multiset<std::pair<int64_t, int64_t>> dimensions;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 0) return true;
    if (shape[d] > 1) dimensions.emplace(strides[d], shape[d]);
  }
  int64_t reach = 0;
  for (auto [stride, size] : dimensions) {
    if (stride <= reach) return false;
    reach += stride * (size - 1);
  }
  return true;
}

absl::Status CheckView(const Program& program, uint32_t index, uint32_t operand_index,
                       const Operand& operand) {
  std::string which = absl::StrCat("operand ", operand_index);
  if (operand.buffer() >= Size(program.buffers())) {
    return InstructionError(
        program, index,
        absl::StrCat(which, " is buffer ", operand.buffer(), " of ", Size(program.buffers())));
  }
  const Buffer& buffer = *program.buffers()->Get(operand.buffer());
  if (operand.element_type() != buffer.element_type() && buffer.kind() != BufferKind::kTemporary) {
    std::string_view expected = ElementName(buffer.element_type()),
                     found = ElementName(operand.element_type());
    return InstructionError(program, index,
                            absl::StrCat(which, " views ", BufferName(buffer), " of ", std::string(expected),
                                         " as ", std::string(found)));
  }
  absl::Span<const int64_t> shape = Span(operand.shape()), strides = Span(operand.strides());
  int64_t elements;
  if (shape.size() != strides.size() || !CountElements(shape, &elements)) {
    return InstructionError(
        program, index,
        absl::StrCat(which, " has the impossible shape ", List(shape), " with strides ", List(strides)));
  }
  int64_t last = operand.offset_elements();
  int64_t capacity = static_cast<int64_t>(buffer.bytes()) / ElementBytes(operand.element_type());
  bool inside = last >= 0 && last <= capacity;
  for (size_t d = 0; inside && elements > 0 && d < shape.size(); ++d) {
    inside = strides[d] >= 0 && (shape[d] == 1 || strides[d] <= (capacity - last) / (shape[d] - 1));
    if (inside) last += strides[d] * (shape[d] - 1);
  }
  if (!inside || (elements > 0 && last >= capacity)) {
    return InstructionError(
        program, index,
        absl::StrCat(which, " reaches outside of buffer ", operand.buffer(), " (", BufferName(buffer),
                     "): offset ", operand.offset_elements(), ", shape ", List(shape), ", strides ",
                     List(strides), ", but it has ", capacity, " elements"));
  }
  if (operand.access() != Access::kRead && !WritesEachElementOnce(shape, strides)) {
    return InstructionError(program, index,
                            absl::StrCat(which, " writes elements more than once: shape ", List(shape),
                                         ", strides ", List(strides)));
  }
  return absl::OkStatus();
}

}  // namespace

ByteRange RangeOf(const Buffer& buffer) {
  return {buffer.segment(), buffer.offset(), buffer.offset() + buffer.bytes()};
}

ByteRange SpanOf(const Program& program, const Operand& operand) {
  const Buffer& buffer = *program.buffers()->Get(operand.buffer());
  int64_t first = operand.offset_elements(), last = first;
  bool empty = false;
  for (uint32_t d = 0; d < Size(operand.shape()); ++d) {
    if (operand.shape()->Get(d) == 0) empty = true;
    last += operand.strides()->Get(d) * (operand.shape()->Get(d) - 1);
  }
  uint64_t bytes = ElementBytes(operand.element_type());
  uint64_t begin = buffer.offset() + first * bytes;
  return {buffer.segment(), begin, empty ? begin : buffer.offset() + (last + 1) * bytes};
}

absl::Status InstructionError(const Program& program, uint32_t index, absl::string_view message) {
  std::string_view mode = ModeName(program.mode());
  std::string_view label = Text(program.instructions()->Get(index)->label());
  return absl::InvalidArgumentError(absl::StrCat(std::string(mode), " program, instruction ", index, " (",
                                                 std::string(label), "): ", message));
}

absl::Status BufferError(const Program& program, uint32_t index, absl::string_view message) {
  std::string_view mode = ModeName(program.mode());
  return absl::InvalidArgumentError(absl::StrCat(std::string(mode), " program, buffer ", index, " (",
                                                 BufferName(*program.buffers()->Get(index)), "): ", message));
}

absl::Status CheckBuffers(const Program& program) {
  for (uint32_t i = 0; i < Size(program.buffers()); ++i) {
    const Buffer& buffer = *program.buffers()->Get(i);
    for (auto* rule : {CheckShape, CheckDeclaredShape, CheckContents, CheckPlace}) {
      absl::Status status = rule(program, i, buffer);
      if (!status.ok()) return status;
    }
  }
  return absl::OkStatus();
}

absl::Status CheckGroups(const Program& program, int ranks) {
  std::string_view mode = ModeName(program.mode());
  for (uint32_t i = 0; i < Size(program.groups()); ++i) {
    std::set<int> members;
    for (int rank : Span(program.groups()->Get(i)->ranks())) {
      if (rank < 0 || rank >= ranks || !members.insert(rank).second) {
        return absl::InvalidArgumentError(absl::StrCat(std::string(mode), " program, group ", i, ": rank ",
                                                       rank, " is not one of 0 to ", ranks - 1,
                                                       " or stands twice"));
      }
    }
    if (members.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat(std::string(mode), " program, group ", i, " has no members"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckViews(const Program& program) {
  for (uint32_t i = 0; i < Size(program.instructions()); ++i) {
    const Instruction& instruction = *program.instructions()->Get(i);
    for (uint32_t o = 0; o < Size(instruction.operands()); ++o) {
      absl::Status status = CheckView(program, i, o, *instruction.operands()->Get(o));
      if (!status.ok()) return status;
    }
    int32_t workspace = instruction.workspace();
    if (workspace == -1) continue;
    if (workspace < 0 || workspace >= static_cast<int64_t>(Size(program.buffers())) ||
        program.buffers()->Get(workspace)->kind() != BufferKind::kTemporary) {
      return InstructionError(program, i,
                              absl::StrCat("its workspace, buffer ", workspace, ", is no temporary"));
    }
  }
  return absl::OkStatus();
}

}  // namespace pdc::program
