#include "runtime/profile/sample.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <utility>

#include "runtime/base/status.h"

namespace pdc::profile {

namespace {

// Of one measurement, so that reading the clock and being interrupted between two instructions do not count.
constexpr double kShortestSeconds = 100e-6;
constexpr int kFewest = 3;
constexpr int kMost = 41;

// Between the two elements where the share of the sorted values falls.
double Quantile(const std::vector<double>& sorted, double share) {
  const double at = share * static_cast<double>(sorted.size() - 1);
  const auto low = static_cast<size_t>(at);
  const size_t high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (at - static_cast<double>(low)) * (sorted[high] - sorted[low]);
}

}  // namespace

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double ProcessorSeconds() {
  timespec time = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

Sample Summarize(std::vector<double> seconds) {
  std::sort(seconds.begin(), seconds.end());
  const double median = Quantile(seconds, 0.5);
  const double spread = (Quantile(seconds, 0.75) - Quantile(seconds, 0.25)) / 2;
  return {median, median > 0 ? spread / median : 0};
}

absl::StatusOr<Sample> Measure(const std::function<absl::Status()>& body, double budget_seconds) {
  PDC_RETURN_IF_ERROR(body());
  const double start = Now();
  PDC_RETURN_IF_ERROR(body());
  const double once = std::max(Now() - start, 1e-9);
  const int inner = std::max(1, static_cast<int>(std::ceil(kShortestSeconds / once)));
  const double wanted = budget_seconds / (once * inner);
  const int repeats = static_cast<int>(std::clamp<double>(wanted, kFewest, kMost));
  std::vector<double> seconds;
  for (int i = 0; i < repeats; ++i) {
    const double begin = Now();
    for (int k = 0; k < inner; ++k) PDC_RETURN_IF_ERROR(body());
    seconds.push_back((Now() - begin) / inner);
  }
  return Summarize(std::move(seconds));
}

}  // namespace pdc::profile
