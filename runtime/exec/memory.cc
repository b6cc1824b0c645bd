#include "runtime/exec/memory.h"

#include <cstring>

#include "runtime/program/view.h"

namespace pdc::exec {

std::byte* Address(const device::Arenas& arenas, const program::Buffer& buffer) {
  const bool shared = buffer.segment() == program::Segment::kShared;
  return (shared ? arenas.shared_base : arenas.private_base) + buffer.offset();
}

void WriteConstants(const program::Program& program, const device::Arenas& arenas) {
  for (uint32_t i = 0; i < program::Size(program.buffers()); ++i) {
    const program::Buffer& buffer = *program.buffers()->Get(i);
    if (buffer.kind() != program::BufferKind::kConstant || buffer.bytes() == 0) continue;
    std::memcpy(Address(arenas, buffer), buffer.constant()->data(), buffer.bytes());
  }
}

}  // namespace pdc::exec
