#include "runtime/kernels/onednn/reordered.h"

#include <algorithm>
#include <utility>

namespace pdc::kernels::onednn {
namespace {

using dnnl::memory;

dnnl::reorder::primitive_desc ReorderOf(const Port& port) {
  const memory::desc& from = port.output ? port.wanted : port.plain;
  const memory::desc& to = port.output ? port.plain : port.wanted;
  return dnnl::reorder::primitive_desc(CpuEngine(), from, CpuEngine(), to, UserScratchpad());
}

// Where everything lies in the workspace: the reordered tensors, then one scratchpad for all primitives,
// which run one after the other.
struct Places {
  std::vector<std::byte*> tensors;  // null where a port is not reordered
  std::byte* scratchpad;
  int64_t total;
};

Places PlaceAll(const std::vector<Port>& ports, const memory::desc& scratchpad, std::byte* base) {
  WorkspaceLayout layout(base);
  Places places;
  size_t scratchpad_bytes = scratchpad.get_size();
  for (const Port& port : ports) {
    bool reordered = port.plain != port.wanted;
    places.tensors.push_back(reordered ? layout.Take(static_cast<int64_t>(port.wanted.get_size())) : nullptr);
    if (reordered)
      scratchpad_bytes = std::max(scratchpad_bytes, ReorderOf(port).scratchpad_desc().get_size());
  }
  places.scratchpad = layout.Take(static_cast<int64_t>(scratchpad_bytes));
  places.total = layout.total();
  return places;
}

}  // namespace

int64_t ReorderedWorkspace(const std::vector<Port>& ports, const memory::desc& scratchpad) {
  return PlaceAll(ports, scratchpad, nullptr).total;
}

std::unique_ptr<Call> BuildReordered(const dnnl::primitive& primitive, const std::vector<Port>& ports,
                                     const memory::desc& scratchpad, const Binding& binding) {
  dnnl::engine& engine = CpuEngine();
  Places places = PlaceAll(ports, scratchpad, binding.workspace);
  std::vector<Execution> before, after;
  Execution main{primitive, {}};
  for (size_t i = 0; i < ports.size(); ++i) {
    const Port& port = ports[i];
    memory plain(port.plain, engine, port.data);
    if (port.plain == port.wanted) {
      main.arguments.emplace(port.argument, plain);
      continue;
    }
    memory wanted(port.wanted, engine, places.tensors[i]);
    main.arguments.emplace(port.argument, wanted);
    dnnl::reorder::primitive_desc reorder = ReorderOf(port);
    Execution execution{dnnl::reorder(reorder), {}};
    execution.arguments.emplace(DNNL_ARG_FROM, port.output ? wanted : plain);
    execution.arguments.emplace(DNNL_ARG_TO, port.output ? plain : wanted);
    execution.arguments.emplace(DNNL_ARG_SCRATCHPAD,
                                memory(reorder.scratchpad_desc(), engine, places.scratchpad));
    (port.output ? after : before).push_back(std::move(execution));
  }
  main.arguments.emplace(DNNL_ARG_SCRATCHPAD, memory(scratchpad, engine, places.scratchpad));
  std::vector<Execution> all = std::move(before);
  all.push_back(std::move(main));
  std::move(after.begin(), after.end(), std::back_inserter(all));
  return std::make_unique<PrimitiveCall>(std::move(all), binding.workers);
}

}  // namespace pdc::kernels::onednn
