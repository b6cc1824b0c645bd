// Timing that says how sure it is.
#ifndef PDC_RUNTIME_PROFILE_SAMPLE_H_
#define PDC_RUNTIME_PROFILE_SAMPLE_H_

#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace pdc::profile {

// The median of repeated measurements, and half of the distance between their quartiles as a share of it: half of the
// measurements lie about that close to the median.
struct Sample {
  double seconds = 0;
  double spread = 0;
};

// `seconds` is not empty.
Sample Summarize(std::vector<double> seconds);

// Runs `body` once to warm up, then about `budget_seconds` long, at least three times. Bodies that are faster than the
// clock is fine are run several times for one measurement.
absl::StatusOr<Sample> Measure(const std::function<absl::Status()>& body, double budget_seconds);

double Now();  // seconds of a steady clock
double ProcessorSeconds();  // that this process has had, with all its threads

}  // namespace pdc::profile

#endif  // PDC_RUNTIME_PROFILE_SAMPLE_H_
