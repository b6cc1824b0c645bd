//===- SharedCores.h - ranks that take turns on cores -----------*- C++ -*-===//
#ifndef PDC_COMPILER_SIMULATE_SHAREDCORES_H
#define PDC_COMPILER_SIMULATE_SHAREDCORES_H

#include <functional>
#include <map>

namespace pdc::simulate {

/// The cores of a node with more ranks than cores. Those that compute have equal shares of them at every moment (processor
/// sharing: Kleinrock 1967); while others wait, the rest go faster.
class SharedCores {
public:
  /// `speed`: how fast each of so many ranks computes, for 1 where all do.
  explicit SharedCores(std::function<double(int computing)> speed) : speed(std::move(speed)) {}

  /// From `now` on the rank computes what takes so many seconds where all ranks compute.
  void start(int rank, double seconds, double now);
  /// When the next rank is done, if nothing changes before; infinite if none computes.
  double nextEnd() const;
  /// The rank that is done at nextEnd(), which has come.
  int finish();

private:
  void advance(double now);

  std::function<double(int computing)> speed;
  std::map<int, double> remaining; // seconds of the ranks that compute
  double last = 0;
};

} // namespace pdc::simulate

#endif // PDC_COMPILER_SIMULATE_SHAREDCORES_H
