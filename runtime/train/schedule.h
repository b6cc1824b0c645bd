// Learning-rate schedules: pure functions of the step.
#ifndef PDC_RUNTIME_TRAIN_SCHEDULE_H_
#define PDC_RUNTIME_TRAIN_SCHEDULE_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>

namespace pdc::train {

//   rate
//    |     ____                     constant
//    |    /    `-.                  cosine: Loshchilov and Hutter, "SGDR", ICLR 2017, one half wave without restarts
//    |   /        `-.               linear: a straight line down
//    |  /            `--.___        step: times gamma every `step_every` steps
//    +-+----+------------------ step
//      1   warmup_steps      total_steps
enum class ScheduleKind { kConstant, kCosine, kLinear, kStep };

struct LearningRateSchedule {
  ScheduleKind kind = ScheduleKind::kConstant;
  double peak = 1e-3;        // the rate after warm-up
  double minimum = 0;        // cosine and linear end here, step stops here
  int64_t warmup_steps = 0;  // the rate grows linearly from peak / warmup_steps in step 1 to peak
  int64_t total_steps = 1;   // cosine and linear reach `minimum` in this step
  int64_t step_every = 1;    // step: counted from step 1
  double gamma = 0.1;
};

// The rate of a step; the first step is 1.
inline double LearningRate(const LearningRateSchedule& schedule, int64_t step) {
  if (step <= schedule.warmup_steps) return schedule.peak * step / schedule.warmup_steps;
  const double left = static_cast<double>(std::max<int64_t>(schedule.total_steps - schedule.warmup_steps, 1));
  const double progress = std::min(1.0, (step - schedule.warmup_steps) / left);
  const double range = schedule.peak - schedule.minimum;
  switch (schedule.kind) {
    case ScheduleKind::kConstant:
      return schedule.peak;
    case ScheduleKind::kCosine:
      return schedule.minimum + range * 0.5 * (1 + std::cos(std::numbers::pi * progress));
    case ScheduleKind::kLinear:
      return schedule.minimum + range * (1 - progress);
    case ScheduleKind::kStep: {
      const int64_t drops = (step - 1) / schedule.step_every;
      return std::max(schedule.minimum, schedule.peak * std::pow(schedule.gamma, static_cast<double>(drops)));
    }
  }
  return schedule.peak;
}

// The linear scaling rule: a batch k times as large takes a rate k times as large. Goyal et al., "Accurate,
// Large Minibatch SGD", 2017, section 2.1.
inline double ScaleLearningRate(double rate, int64_t batch, int64_t base_batch) {
  return rate * static_cast<double>(batch) / static_cast<double>(base_batch);
}

}  // namespace pdc::train

#endif  // PDC_RUNTIME_TRAIN_SCHEDULE_H_
