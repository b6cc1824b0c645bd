#include "runtime/base/workers.h"

#include <atomic>

// Two functions of omp.h, and the entry that GCC's `#pragma omp parallel` calls. It is called by hand because
// clang compiles that pragma for another OpenMP runtime than the one that oneDNN is linked with.
extern "C" {
void omp_set_num_threads(int threads);
int omp_get_thread_num();
void GOMP_parallel(void (*body)(void*), void* data, unsigned threads, unsigned flags);
}

namespace pdc {
namespace {

struct Region {
  void (*body)(void*, IndexRange);
  void* object;
  int64_t extent;
  int parts;
  // What orders the region's memory accesses for ThreadSanitizer, which does not see into the OpenMP runtime.
  std::atomic<int> begun{0};
  std::atomic<int> done{0};
};

void RunPart(void* data) {
  Region& region = *static_cast<Region*>(data);
  region.begun.load(std::memory_order_acquire);
  IndexRange range = PartOf(region.extent, region.parts, omp_get_thread_num());
  if (range.begin < range.end) region.body(region.object, range);
  region.done.fetch_add(1, std::memory_order_release);
}

}  // namespace

void Workers::ApplyToLibraries() const { omp_set_num_threads(threads_); }

void Workers::Run(int64_t extent, void (*body)(void*, IndexRange), void* object) const {
  int parts = extent < threads_ ? static_cast<int>(extent) : threads_;
  Region region{body, object, extent, parts};
  region.begun.store(1, std::memory_order_release);
  GOMP_parallel(RunPart, &region, static_cast<unsigned>(parts), 0);
  region.done.load(std::memory_order_acquire);
}

}  // namespace pdc
