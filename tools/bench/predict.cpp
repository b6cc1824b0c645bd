//===- predict.cpp - predicted against measured times of instructions -----===//
//
// predict EXE TRACE [--cluster=NAME|FILE] [--rank=N]
//
// TRACE is what `EXE bench --trace` or `train --trace` wrote. Prints, for every instruction of the rank's program
// (training, where there is one), its class, FLOPs, bytes, the predicted time and the least and the median that was
// measured, in microseconds, separated by tabs; then the sums by class.
//
//===----------------------------------------------------------------------===//

#include "CLI/CLI.hpp"
#include "compiler/codegen/executable/ExecutableWriter.h"
#include "compiler/cost/InstructionCost.h"
#include "compiler/machine/ClusterFile.h"
#include "runtime/program/container.h"
#include "runtime/program/reader.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include <algorithm>
#include <map>

using namespace pdc;
using namespace pdc::program;

namespace {

llvm::Error error(const std::string &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), "%s", message.c_str());
}

llvm::Expected<std::unique_ptr<ExecutableT>> readExecutable(const std::string &path) {
  auto payload = codegen::readPayloadOfExecutable(path);
  if (!payload)
    return payload.takeError();
  auto sections = ReadPayload(*payload);
  if (!sections.ok())
    return error(path + ": " + std::string(sections.status().message()));
  auto table = ReadExecutable(sections->at(kProgramSection));
  if (!table.ok())
    return error(path + ": " + std::string(table.status().message()));
  return std::unique_ptr<ExecutableT>((*table)->UnPack());
}

/// Instruction -> its times in all steps, in microseconds.
using Times = std::map<int64_t, std::vector<double>>;

llvm::Expected<Times> readTrace(const std::string &path, int64_t rank) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer)
    return error(path + ": " + buffer.getError().message());
  auto json = llvm::json::parse((*buffer)->getBuffer());
  if (!json)
    return json.takeError();
  const llvm::json::Object *top = json->getAsObject();
  const llvm::json::Array *events = top ? top->getArray("traceEvents") : nullptr;
  if (!events)
    return error(path + ": it is no trace of an executable");
  Times times;
  for (const llvm::json::Value &value : *events) {
    const llvm::json::Object *event = value.getAsObject();
    const llvm::json::Object *arguments = event ? event->getObject("args") : nullptr;
    if (!arguments || event->getInteger("pid") != rank)
      continue;
    auto instruction = arguments->getInteger("instruction");
    auto duration = event->getNumber("dur");
    if (instruction && duration)
      times[*instruction].push_back(*duration);
  }
  for (auto &[instruction, list] : times)
    std::sort(list.begin(), list.end());
  return times;
}

const ProgramT *findProgram(const ExecutableT &executable, int64_t rank) {
  const ProgramT *found = nullptr;
  for (const auto &ranks : executable.rank_programs)
    if (ranks->rank == rank)
      for (uint32_t index : ranks->programs)
        if (!found || executable.programs[index]->mode == Mode::kTrain)
          found = executable.programs[index].get();
  return found;
}

struct Sums {
  double predicted = 0, least = 0, median = 0;
};

void print(const ProgramT &program, const Times &times, int64_t rank, const machine::Cluster &cluster,
           const cost::CostModel &model) {
  std::map<std::string, Sums> sums;
  auto workingSet = static_cast<double>(program.private_bytes + program.shared_bytes);
  std::printf("index\tclass\tflops\tbytes\tpredicted\tleast\tmedian\tlabel\n");
  for (size_t i = 0; i < program.instructions.size(); ++i) {
    const InstructionT &instruction = *program.instructions[i];
    auto measured = times.find(static_cast<int64_t>(i));
    if (measured == times.end())
      continue;
    bool starts = instruction.opcode == Opcode::kCollectiveStart;
    bool computes = !starts && instruction.opcode != Opcode::kCollectiveDone;
    cost::OpWork work = computes ? cost::workOf(instruction, {}, workingSet) : cost::OpWork{};
    double predicted = computes ? model.opSeconds(work, rank)
                       : starts ? cost::communicationSeconds(instruction, program, rank, cluster, model)
                                : 0;
    std::string kind = computes ? toString(work.opClass) : starts ? instruction.target : "wait";
    double least = measured->second.front(), median = measured->second[measured->second.size() / 2];
    std::printf("%zu\t%s\t%.0f\t%.0f\t%.2f\t%.2f\t%.2f\t%s %s\n", i, kind.c_str(), work.flops, work.bytesRead,
                predicted * 1e6, least, median, instruction.label.c_str(), work.call.c_str());
    for (const std::string &name : {kind, std::string("all")}) {
      sums[name].predicted += predicted * 1e6;
      sums[name].least += least;
      sums[name].median += median;
    }
  }
  for (const auto &[kind, sum] : sums)
    std::printf("sum\t%s\t\t\t%.1f\t%.1f\t%.1f\t\n", kind.c_str(), sum.predicted, sum.least, sum.median);
}

llvm::Error run(const std::string &path, const std::string &trace, const std::string &clusterName,
                int64_t rank) {
  auto executable = readExecutable(path);
  if (!executable)
    return executable.takeError();
  auto times = readTrace(trace, rank);
  if (!times)
    return times.takeError();
  auto cluster = machine::resolveCluster(clusterName, (*executable)->ranks);
  if (!cluster)
    return cluster.takeError();
  auto model = cost::makeCostModel("native", *cluster, (*executable)->threads);
  if (!model)
    return model.takeError();
  const ProgramT *program = findProgram(**executable, rank);
  if (!program)
    return error(path + ": it has no program for rank " + std::to_string(rank));
  print(*program, *times, rank, *cluster, **model);
  return llvm::Error::success();
}

} // namespace

int main(int argc, char **argv) {
  CLI::App app("Predicted against measured times of every instruction", "predict");
  std::string executable, trace, cluster = "local";
  int64_t rank = 0;
  app.add_option("EXE", executable, "An executable made by pdc")->required();
  app.add_option("TRACE", trace, "What EXE bench --trace wrote")->required();
  app.add_option("--cluster", cluster, "Preset or cluster file")->capture_default_str();
  app.add_option("--rank", rank, "Whose program")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  if (llvm::Error failure = run(executable, trace, cluster, rank)) {
    std::fprintf(stderr, "predict: %s\n", llvm::toString(std::move(failure)).c_str());
    return 1;
  }
  return 0;
}
