// The rate of oneDNN's f32 matrix product on this machine, one thread: what training steps are measured
// against.
//
//   bazel-bin/tools/bench/sgemm [SECONDS]
//
// prints a line of JSON: for each shape the best and the median rate of the calls made in SECONDS, in GFLOP/s
// by the wall clock and by the processor time of the thread (which a busy machine disturbs less).
#include <dnnl.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <vector>

#include "runtime/base/workers.h"

namespace {

struct Shape {
  const char *name;
  dnnl_dim_t m, n, k;
};

// A square one; a layer of GPT-2 small at batch 4 x 64 tokens; its logits.
constexpr Shape kShapes[] = {
    {"square", 2048, 2048, 2048}, {"gpt2_fc", 256, 3072, 768}, {"gpt2_logits", 256, 50257, 768}};

double Seconds(clockid_t clock) {
  timespec time;
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

bool Measure(const Shape &shape, double seconds, bool is_first) {
  const auto fill = [](dnnl_dim_t rows, dnnl_dim_t columns) {
    std::vector<float> matrix(static_cast<size_t>(rows * columns));
    for (size_t i = 0; i < matrix.size(); ++i)
      matrix[i] = static_cast<float>(i % 7) - 3.0f;
    return matrix;
  };
  const std::vector<float> a = fill(shape.m, shape.k), b = fill(shape.k, shape.n);
  std::vector<float> c = fill(shape.m, shape.n);
  std::vector<double> wall, processor;
  const double end = Seconds(CLOCK_MONOTONIC) + seconds;
  for (int call = 0; call < 4 || Seconds(CLOCK_MONOTONIC) < end; ++call) {
    const double wall_begin = Seconds(CLOCK_MONOTONIC), begin = Seconds(CLOCK_THREAD_CPUTIME_ID);
    if (dnnl_sgemm('N', 'N', shape.m, shape.n, shape.k, 1.0f, a.data(), shape.k, b.data(), shape.n, 0.0f,
                   c.data(), shape.n) != dnnl_success) {
      std::cerr << "dnnl_sgemm failed" << std::endl;
      return false;
    }
    if (call == 0)
      continue; // generates its code
    processor.push_back(Seconds(CLOCK_THREAD_CPUTIME_ID) - begin);
    wall.push_back(Seconds(CLOCK_MONOTONIC) - wall_begin);
  }
  const double gflop = 2e-9 * static_cast<double>(shape.m * shape.n * shape.k);
  std::printf(
      "%s\"%s\": {\"m\": %ld, \"n\": %ld, \"k\": %ld, \"calls\": %zu, \"best\": %.1f, \"median\": %.1f, "
      "\"median_by_processor_time\": %.1f}",
      is_first ? "{" : ", ", shape.name, shape.m, shape.n, shape.k, wall.size(),
      gflop / *std::min_element(wall.begin(), wall.end()), gflop / Median(wall), gflop / Median(processor));
  return true;
}

} // namespace

int main(int argc, char **argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 2;
  if (seconds <= 0) {
    std::cerr << "usage: sgemm [SECONDS]" << std::endl;
    return 2;
  }
  pdc::Workers(1).ApplyToLibraries();
  bool is_first = true;
  for (const Shape &shape : kShapes) {
    if (!Measure(shape, seconds, is_first))
      return 1;
    is_first = false;
  }
  std::puts("}");
  return 0;
}
