// The threads that a rank computes with. They are the threads of the OpenMP runtime that oneDNN uses: one set
// for library calls and for our kernels, so that two sets never wait for the same cores, and a set that is
// still spinning after one instruction is warm for the next.
#ifndef PDC_RUNTIME_BASE_WORKERS_H_
#define PDC_RUNTIME_BASE_WORKERS_H_

#include <cstdint>
#include <type_traits>

namespace pdc {

// Indices [begin, end).
struct IndexRange {
  int64_t begin;
  int64_t end;
};

// Part `index` of [0, extent) cut into `parts` contiguous ranges, as even as possible, the longer ones first.
constexpr IndexRange PartOf(int64_t extent, int parts, int index) {
  int64_t size = extent / parts, longer = extent % parts;
  int64_t begin = index * size + (index < longer ? index : longer);
  return {begin, begin + size + (index < longer ? 1 : 0)};
}

// Cheap to copy. Each thread that calls ParallelFor() is a master with workers of its own.
class Workers {
 public:
  explicit Workers(int threads) : threads_(threads < 1 ? 1 : threads) {}

  int threads() const { return threads_; }

  // Makes oneDNN calls of the calling thread use threads() threads. Costs nothing.
  void ApplyToLibraries() const;

  // Calls `body(range)` with range i on thread i, and returns when all have; allocates nothing. The cut
  // depends on `extent` and threads() only. `body` must not throw.
  template <typename Body>
  void ParallelFor(int64_t extent, Body&& body) const {
    if (threads_ == 1 || extent <= 1) {
      if (extent > 0) body(IndexRange{0, extent});
      return;
    }
    using Type = std::remove_reference_t<Body>;
    Run(
        extent, [](void* object, IndexRange range) { (*static_cast<Type*>(object))(range); },
        const_cast<void*>(static_cast<const void*>(&body)));
  }

 private:
  void Run(int64_t extent, void (*body)(void*, IndexRange), void* object) const;

  int threads_;
};

}  // namespace pdc

#endif  // PDC_RUNTIME_BASE_WORKERS_H_
