//===- MessageTimes.cpp - what messages between stages take ---------------===//

#include "compiler/pipeline/MessageTimes.h"
#include "compiler/cost/DeviceKinds.h"
#include "compiler/machine/ClusterFile.h"
#include "compiler/plan/search/MeshCosts.h"
#include "compiler/simulate/ClusterCosts.h"
#include <limits>

using namespace mlir;
using namespace pdc;
using namespace pdc::pipeline;

namespace {

class MessageTimes final : public passes::MessageCosts {
public:
  MessageTimes(machine::Cluster machine, const CompileOptions &options)
      : cluster(std::move(machine)), model(llvm::cantFail(cost::makeCostModel("native", cluster, options.threads))),
        links(simulate::costsOnCluster(cluster, *model, noKernels).links) {}

  double reshardSeconds(RankedTensorType type, dist::LayoutAttr from, dist::LayoutAttr to,
                        dist::MeshOp mesh) const override {
    auto steps = passes::planReshard(from, to, type.getShape(), mesh);
    if (failed(steps))
      return std::numeric_limits<double>::infinity();
    plan::MeshCosts meshCosts(cluster, *model, mesh);
    double seconds = 0;
    dist::LayoutAttr before = from;
    for (const passes::ReshardStep &step : *steps) {
      if (auto message = meshCosts.messageOf(type, before, step)) {
        SmallVector<int64_t> group = mesh.getGroups(message->axes).front();
        seconds += model->collectiveSeconds(message->collective, static_cast<double>(message->bytes),
                                            cost::shapeOfRanks(cluster, {group.begin(), group.end()}));
      }
      before = step.result;
    }
    return seconds;
  }

  double slowness(int64_t first, int64_t count) const override {
    return cost::slowness(*model, cost::slowestKind(*model, cluster, first, count));
  }

  double transferSeconds(ArrayRef<passes::TransferPiece> pieces, int64_t elementBytes) const override {
    std::map<std::pair<int, int64_t>, double> busy; // ranks as senders, as receivers, and links
    double most = 0;
    auto occupy = [&](int kind, int64_t number, double seconds) {
      double &sum = busy[{kind, number}];
      most = std::max(most, sum += seconds);
    };
    for (const passes::TransferPiece &piece : pieces) {
      auto bytes = static_cast<double>(ShapedType::getNumElements(piece.box.shape) * elementBytes);
      double seconds = cost::p2pSeconds(cluster, bytes, piece.from, piece.to);
      occupy(0, piece.from, seconds);
      occupy(1, piece.to, seconds);
      for (int64_t link : links({static_cast<int>(piece.from), static_cast<int>(piece.to)}, true))
        occupy(2, link, seconds);
    }
    return most;
  }

private:
  machine::Cluster cluster;
  cost::KernelOperations noKernels;
  std::unique_ptr<cost::CostModel> model;
  std::function<std::vector<int64_t>(const std::vector<int> &, bool)> links;
};

} // namespace

std::shared_ptr<const passes::MessageCosts> pipeline::makeMessageTimes(const CompileOptions &options) {
  return std::make_shared<MessageTimes>(options.cluster ? *options.cluster : machine::local(options.ranks), options);
}
