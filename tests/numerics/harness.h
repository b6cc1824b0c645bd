// Compiles a model and runs it on ranks that are threads of this process, on data that is a pure function of a seed:
// what the tests of numbers are written with.
#ifndef PDC_TESTS_NUMERICS_HARNESS_H_
#define PDC_TESTS_NUMERICS_HARNESS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "compiler/pipeline/Options.h"

namespace mlir {
class ModuleOp;
}  // namespace mlir

namespace pdc::numerics {

using Tensor = std::vector<double>;

// How a field of the batch is made. Its value at step s is the stream "golden.<field>.<s>" of runtime/train/initialize.h.
struct Field {
  enum class Kind { kNormal, kIds } kind = Kind::kNormal;
  int64_t count = 0;          // kIds: ids are in [0, count)
  double masked_below = -1;   // kIds: where the stream "golden.masked.<s>" is not below this, the id is -100; -1: nowhere
};

struct Job {
  std::string model;  // path, or the text of a model if it contains a newline
  int64_t batch = 1;
  int ranks = 1;
  std::string parallel = "data";  // as --parallel says it
  int steps = 1;
  double learning_rate = 1e-3;
  uint64_t parameter_seed = 42;
  uint64_t data_seed = 7;
  std::map<std::string, Field> fields;  // by the name of the model's argument; normal where not named
  pipeline::CompileOptions options;     // batch, ranks, cluster and parallel are set from the above
  bool gradients = false;               // also run the gradient program before each step
  int64_t whole_batch = 0, first_row = 0;  // the batch is some rows of a larger one; 0: it is not
  // Writes a plan (a mesh of `ranks` ranks and layouts) into the module's steps; an error, or nothing. Empty: the batch
  // is split.
  std::function<std::string(mlir::ModuleOp)> plan;
};

struct Result {
  std::string error;                                   // empty when all went well
  std::vector<double> losses;                          // per step
  std::vector<std::map<std::string, Tensor>> gradients;  // per step, by parameter
  std::map<std::string, Tensor> parameters;            // after the last step
  std::map<std::string, Tensor> state;
  uint64_t bits = 0;                                   // hash of every persistent buffer of rank 0 after the last step
  int64_t arena_bytes = 0;                             // of rank 0
  std::vector<std::vector<double>> losses_of_ranks;    // per rank and step
  std::vector<int64_t> arena_bytes_of_ranks;
  std::vector<std::set<std::string>> parameters_of_ranks;  // which each has
  std::map<std::string, int64_t> samples;              // of each input, that rank 0 loads for a step of training
  std::vector<std::map<std::string, int64_t>> samples_of_ranks;
};

Result RunJob(const Job& job);

// The gradient program of a job of one rank, for parameters that the caller chooses.
class GradientStep {
 public:
  explicit GradientStep(const Job& job);
  ~GradientStep();

  const std::string& error() const { return error_; }  // empty when all went well
  std::map<std::string, Tensor> InitialParameters();
  size_t RankOf(const std::string& parameter);
  struct Outcome {
    double loss = 0;
    std::map<std::string, Tensor> gradients;
  };
  // Of the samples of a step's batch from `first_row` on.
  Outcome Run(const std::map<std::string, Tensor>& parameters, int step, int64_t first_row);

 private:
  struct Impl;
  Job job_;
  std::string error_;
  std::unique_ptr<Impl> impl_;
};

// The payload of the job's executable, or why there is none.
struct Compilation {
  std::string payload, error;
};

Compilation Compile(const Job& job);

// Largest |a - b| over the tensor, divided by the largest |b|.
double RelativeDifference(const Tensor& a, const Tensor& b);

}  // namespace pdc::numerics

#endif  // PDC_TESTS_NUMERICS_HARNESS_H_
