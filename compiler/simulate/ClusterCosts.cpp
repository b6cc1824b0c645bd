//===- ClusterCosts.cpp - what rank programs take on a cluster ------------===//

#include "compiler/simulate/ClusterCosts.h"
#include "runtime/program/view.h"
#include "llvm/ADT/STLExtras.h"
#include <map>
#include <memory>
#include <set>
#include <tuple>

using namespace pdc;
using namespace pdc::simulate;
using program::InstructionT;
using program::Opcode;
using program::ProgramT;

namespace {

/// Ranks mostly run the same instructions: each is asked for once.
class Costs {
public:
  Costs(const machine::Cluster &cluster, const cost::CostModel &model, const cost::KernelOperations &kernels)
      : cluster(cluster), model(model), kernels(kernels), levels(cluster.levels()), blocks(cluster.blockSizes()) {}

  double compute(int rank, const ProgramT &program, const InstructionT &instruction) {
    auto [found, isNew] = computeSeconds.try_emplace({&instruction, cluster.nodeOf(rank)}, 0.0);
    if (isNew)
      found->second = model.opSeconds(
          cost::workOf(instruction, kernels, static_cast<double>(program.private_bytes + program.shared_bytes)),
          rank);
    return found->second;
  }

  double communicate(int rank, const ProgramT &program, const InstructionT &instruction) {
    bool isCollective = instruction.opcode == Opcode::kCollectiveStart;
    auto [found, isNew] = communicationSeconds.try_emplace({&instruction, isCollective ? -1 : rank}, 0.0);
    if (isNew)
      found->second = isCollective
                          ? cost::communicationSeconds(instruction, program, rank, cluster, model)
                          : cost::p2pSeconds(cluster, bytesOf(instruction), rank, instruction.peer);
    return found->second;
  }

  std::vector<int64_t> links(const std::vector<int> &ranks, bool isMessage) {
    if (isMessage)
      return linksOfMessage(ranks);
    auto [found, isNew] = collectiveLinks.try_emplace(ranks);
    if (isNew)
      found->second = linksOfCollective(ranks);
    return found->second;
  }

  double ownShare(const std::vector<int> &ranks) const {
    if (levels.empty())
      return 1 - cluster.overlap;
    return 1 - levels[levelOf(ranks)].overlap.value_or(cluster.overlap);
  }

private:
  /// The outermost that joins some of the ranks.
  size_t levelOf(const std::vector<int> &ranks) const {
    for (size_t level = levels.size() - 1; level > 0; --level)
      if (llvm::any_of(ranks, [&](int rank) { return rank / blocks[level] != ranks[0] / blocks[level]; }))
        return level;
    return 0;
  }

  std::vector<int64_t> linksOfMessage(const std::vector<int> &ranks) const {
    size_t level = levelOf(ranks);
    int64_t sender = ranks[0] / blocks[level], receiver = ranks[1] / blocks[level];
    switch (levels[level].sharing) {
    case machine::Sharing::PerDevice:
      if (levels[level].fullDuplex)
        return {};
      return {link(level, ranks[0], 0), link(level, ranks[1], 0)};
    case machine::Sharing::PerMember:
      return {link(level, sender, 0), link(level, receiver, levels[level].fullDuplex ? 1 : 0)};
    case machine::Sharing::Bus:
      return {link(level, ranks[0] / blocks[level + 1], 0)};
    }
    return {};
  }

  std::vector<int64_t> linksOfCollective(const std::vector<int> &ranks) const {
    std::set<int64_t> links;
    for (size_t level = 0; level < levels.size(); ++level) {
      // The members of the level in which the group has ranks, by what joins them.
      std::map<int64_t, std::set<int64_t>> membersOf;
      for (int rank : ranks)
        membersOf[rank / blocks[level + 1]].insert(rank / blocks[level]);
      for (int rank : ranks)
        if (int64_t joined = rank / blocks[level + 1]; membersOf[joined].size() > 1)
          addLinks(level, rank, links);
    }
    return {links.begin(), links.end()};
  }

  /// Those of a rank that sends and receives on a level.
  void addLinks(size_t level, int rank, std::set<int64_t> &links) const {
    int64_t member = rank / blocks[level];
    switch (levels[level].sharing) {
    case machine::Sharing::PerDevice:
      if (!levels[level].fullDuplex)
        links.insert(link(level, rank, 0));
      return;
    case machine::Sharing::PerMember:
      links.insert(link(level, member, 0));
      if (levels[level].fullDuplex)
        links.insert(link(level, member, 1));
      return;
    case machine::Sharing::Bus:
      links.insert(link(level, rank / blocks[level + 1], 0));
      return;
    }
  }

  static double bytesOf(const InstructionT &instruction) {
    const program::OperandT &memory = *instruction.operands.front();
    return static_cast<double>(program::ElementCount(memory.shape) * program::ElementBytes(memory.element_type));
  }

  /// A number for each link: its level, whose it is, and its direction.
  int64_t link(size_t level, int64_t owner, int64_t direction) const {
    return (owner * 2 + direction) * static_cast<int64_t>(levels.size()) + static_cast<int64_t>(level);
  }

  const machine::Cluster &cluster;
  const cost::CostModel &model;
  const cost::KernelOperations &kernels;
  const std::vector<machine::LinkLevel> levels;
  const std::vector<int64_t> blocks;
  std::map<std::vector<int>, std::vector<int64_t>> collectiveLinks; // by ranks
  std::map<std::pair<const InstructionT *, int64_t>, double> computeSeconds;    // instruction, node
  std::map<std::pair<const InstructionT *, int>, double> communicationSeconds; // instruction, rank of a message
};

} // namespace

StepCosts pdc::simulate::costsOnCluster(const machine::Cluster &cluster, const cost::CostModel &model,
                                        const cost::KernelOperations &kernels, int threads) {
  auto costs = std::make_shared<Costs>(cluster, model, kernels);
  StepCosts result;
  result.compute = [costs](int rank, const ProgramT &program, const InstructionT &instruction) {
    return costs->compute(rank, program, instruction);
  };
  result.communicate = [costs](int rank, const ProgramT &program, const InstructionT &instruction) {
    return costs->communicate(rank, program, instruction);
  };
  result.links = [costs](const std::vector<int> &ranks, bool isMessage) {
    return costs->links(ranks, isMessage);
  };
  result.sharedNode = [&cluster, threads](int rank) {
    return cluster.coreShare(rank, threads) < 1 ? static_cast<int>(cluster.nodeOf(rank)) : -1;
  };
  result.speed = [&cluster, threads](int rank, int computing) {
    return cluster.coreShare(rank, threads, computing) / cluster.coreShare(rank, threads);
  };
  result.ownShare = [costs](const std::vector<int> &ranks) { return costs->ownShare(ranks); };
  return result;
}

std::vector<const ProgramT *> pdc::simulate::programsOf(const program::ExecutableT &executable,
                                                        program::Mode mode) {
  std::vector<const ProgramT *> programs(executable.rank_programs.size());
  for (const auto &entry : executable.rank_programs) {
    for (uint32_t index : entry->programs)
      if (executable.programs[index]->mode == mode)
        programs[entry->rank] = executable.programs[index].get();
    if (!programs[entry->rank])
      return {};
  }
  return programs;
}
