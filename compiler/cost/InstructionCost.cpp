//===- InstructionCost.cpp - what an instruction costs --------------------===//

#include "compiler/cost/InstructionCost.h"
#include "runtime/program/call_name.h"
#include "runtime/program/view.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/StringSwitch.h"
#include <algorithm>

using namespace pdc;
using namespace pdc::program;
using machine::OpClass;
using machine::Precision;

static double bytesOf(const OperandT &operand) {
  return static_cast<double>(ElementCount(operand.shape)) *
         static_cast<double>(ElementBytes(operand.element_type));
}

//===----------------------------------------------------------------------===//
// Compute
//===----------------------------------------------------------------------===//

static OpClass classOf(const InstructionT &instruction) {
  if (instruction.opcode == Opcode::kFill || instruction.opcode == Opcode::kCopy)
    return OpClass::Copy;
  if (instruction.opcode != Opcode::kLibrary)
    return OpClass::Elementwise;
  llvm::StringRef target = instruction.target;
  if (target.starts_with("conv"))
    return OpClass::Convolution;
  if (target.starts_with("embedding"))
    return OpClass::Gather;
  if (target.contains("pool"))
    return OpClass::Pooling;
  return llvm::StringSwitch<OpClass>(target)
      .Case("matmul", OpClass::Matmul)
      .Cases({"copy_view", "transpose"}, OpClass::Copy)
      .Default(OpClass::Elementwise);
}

static Precision precisionOf(ElementType type) {
  switch (type) {
  case ElementType::kF64:
    return Precision::F64;
  case ElementType::kBF16:
    return Precision::BF16;
  case ElementType::kF16:
    return Precision::F16;
  default:
    return Precision::F32;
  }
}

/// Channels as lanes: a convolution's output channels, a gradient's input channels. The gradient of a first layer's
/// weights has too few of them, and code of its own. Images are [n, c, h, w], weights [o, c, kh, kw].
static double channelsOf(const InstructionT &instruction) {
  constexpr int64_t kOfAnImage = 3;
  llvm::StringRef target = instruction.target;
  auto channels = [&](size_t operand) -> double {
    const std::vector<int64_t> &shape = instruction.operands[operand]->shape;
    return shape.size() == 4 ? static_cast<double>(shape[1]) : 0;
  };
  if (instruction.opcode != Opcode::kLibrary || instruction.operands.size() < 2)
    return 0;
  size_t result = instruction.operands.size() - 1;
  if (target == "conv2d_grad_weight")
    return channels(0) <= kOfAnImage ? channels(1) : channels(0);
  if (target.starts_with("conv2d") || target.contains("pool"))
    return channels(result);
  return 0;
}

cost::OpWork cost::workOf(const InstructionT &instruction, const KernelOperations &kernels,
                          double workingSetBytes) {
  OpWork work;
  work.opClass = classOf(instruction);
  auto kernel = instruction.opcode == Opcode::kKernel ? kernels.find(instruction.target) : kernels.end();
  work.flops = kernel == kernels.end() ? instruction.flops : kernel->second;
  // What is read and what is written cost the same.
  work.bytesRead = instruction.traffic_bytes;
  for (const auto &operand : instruction.operands)
    if (operand->access == Access::kWrite)
      work.bytesFetched += bytesOf(*operand);
  if (!instruction.operands.empty())
    work.precision = precisionOf(instruction.operands.front()->element_type);
  work.call = CallName(instruction);
  work.channels = channelsOf(instruction);
  work.workingSetBytes = workingSetBytes;
  return work;
}

//===----------------------------------------------------------------------===//
// Communication
//===----------------------------------------------------------------------===//

/// Bytes as LinkCosts::seconds counts them. Operands are what is read, then what is written; in place there is
/// one.
static double collectiveBytes(const InstructionT &instruction) {
  double read = 0, written = 0;
  for (const auto &operand : instruction.operands) {
    if (operand->access != Access::kWrite)
      read += bytesOf(*operand);
    if (operand->access != Access::kRead)
      written += bytesOf(*operand);
  }
  return std::max(read, written);
}

double cost::communicationSeconds(const InstructionT &instruction, const ProgramT &program, int64_t rank,
                                  const machine::Cluster &cluster, const CostModel &model) {
  double bytes = collectiveBytes(instruction);
  if (instruction.opcode != Opcode::kCollectiveStart)
    return model.collectiveSeconds(
        Collective::PointToPoint, bytes,
        shapeOfRanks(cluster, {static_cast<int32_t>(rank), static_cast<int32_t>(instruction.peer)}));
  auto collective = parseCollective(instruction.target);
  if (!collective)
    return 0;
  return model.collectiveSeconds(*collective, bytes,
                                 shapeOfRanks(cluster, program.groups.at(instruction.group)->ranks));
}
