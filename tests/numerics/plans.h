// Plans for tests: layouts for every value of every step, from layouts of arguments or at random. No planner: costs do
// not matter here, only that every legal layout gives the numbers of one device.
#ifndef PDC_TESTS_NUMERICS_PLANS_H_
#define PDC_TESTS_NUMERICS_PLANS_H_

#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace mlir {
class ModuleOp;
}  // namespace mlir

namespace pdc::numerics {

struct MeshShape {
  std::vector<std::string> names;
  std::vector<int64_t> sizes;
  int64_t ranks() const;
};

// An argument of a step.
struct ArgumentInfo {
  std::string role, name, slot;  // "parameter", "optimizer_state", "state" or "input"
  std::vector<int64_t> shape;
};

// Per dimension the axes that split it; empty: whole.
using DimAxes = std::vector<std::vector<std::string>>;

// What Job::plan takes.
using Plan = std::function<std::string(mlir::ModuleOp)>;

// Layouts of arguments, of gradients (role "gradient") and of what becomes of partial sums where nothing else speaks
// for a layout (role "sum") as given. Each op takes over what its operands split, first
// what is computed, then parameters, as far as one axis does not split two of its loops; the other operands are
// resharded.
Plan FollowingPlan(MeshShape mesh, std::function<DimAxes(const ArgumentInfo&)> layout);

// Random layouts of arguments; for each op a random choice of loops that are split over the mesh's axes, loops of
// windows among them, and through its parts where it must be; partial sums stay unreduced at random where an op can
// work on them.
Plan RandomPlan(MeshShape mesh, uint64_t seed);

// The plan of the training step; the steps beside it, which take most of the time to compile, are dropped.
Plan OfTrainingOnly(Plan plan);

}  // namespace pdc::numerics

#endif  // PDC_TESTS_NUMERICS_PLANS_H_
