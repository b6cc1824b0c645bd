//===- Sizes.cpp - the bytes of values ------------------------------------===//

#include "dialects/nn/Utils/Sizes.h"
#include "dialects/nn/Utils/Labels.h"
#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;

namespace pdc::nn {

std::optional<int64_t> valueBytes(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return 0;
  // With a dimension of 0 there are no elements, whatever the others are.
  if (llvm::is_contained(tensor.getShape(), 0))
    return 0;
  int64_t bytes = (tensor.getElementTypeBitWidth() + 7) / 8;
  for (int64_t size : tensor.getShape()) {
    if (size < 0 || bytes > kMaxValueBytes / size)
      return std::nullopt;
    bytes *= size;
  }
  return bytes;
}

LogicalResult checkBytes(Type type, function_ref<InFlightDiagnostic()> error) {
  if (valueBytes(type))
    return success();
  return error() << type << ": more than the 2^46 bytes (64 TiB) that a value may have; lower --batch, or make the model smaller";
}

LogicalResult checkResultBytes(Operation *op) {
  for (auto [index, type] : llvm::enumerate(op->getResultTypes())) {
    auto error = [&, index = index] {
      InFlightDiagnostic diagnostic = op->emitOpError();
      if (StringRef label = getLabel(op->getLoc()); !label.empty())
        diagnostic << "of '" << label << "' ";
      diagnostic << "gives ";
      if (op->getNumResults() > 1)
        diagnostic << "as result #" << index << " ";
      return diagnostic;
    };
    if (failed(checkBytes(type, error)))
      return failure();
  }
  return success();
}

} // namespace pdc::nn
