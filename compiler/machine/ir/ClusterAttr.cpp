//===- ClusterAttr.cpp - the cluster that a plan is for, in the IR --------===//

#include "compiler/machine/ir/ClusterAttr.h"
#include "compiler/machine/ClusterSchema.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/SmallString.h"

using namespace mlir;
using namespace pdc::machine;

/// Whole numbers become integers, all other values text with its unit, as in a file.
static Attribute attributeOf(Builder &builder, const Description &description) {
  switch (description.kind) {
  case Description::Kind::Scalar: {
    int64_t number = 0;
    if (!StringRef(description.scalar).getAsInteger(10, number))
      return builder.getI64IntegerAttr(number);
    return builder.getStringAttr(description.scalar);
  }
  case Description::Kind::List: {
    SmallVector<Attribute> items;
    for (const Description &item : description.items)
      items.push_back(attributeOf(builder, item));
    return builder.getArrayAttr(items);
  }
  case Description::Kind::Map: {
    SmallVector<NamedAttribute> entries;
    for (const auto &[key, value] : llvm::zip_equal(description.keys, description.items))
      entries.push_back(builder.getNamedAttr(key, attributeOf(builder, value)));
    return builder.getDictionaryAttr(entries);
  }
  }
  llvm_unreachable("unknown kind of description");
}

/// Attributes of other kinds become their text, which the schema then finds to be no quantity.
static Description descriptionOf(Attribute attribute) {
  if (auto text = dyn_cast<StringAttr>(attribute))
    return Description::text(text.str());
  if (auto truth = dyn_cast<BoolAttr>(attribute))
    return Description::text(truth.getValue() ? "true" : "false");
  if (auto number = dyn_cast<IntegerAttr>(attribute)) {
    SmallString<24> digits;
    number.getValue().toStringSigned(digits);
    return Description::text(digits.str().str());
  }
  if (auto number = dyn_cast<FloatAttr>(attribute)) {
    SmallString<24> digits;
    number.getValue().toString(digits);
    return Description::text(digits.str().str());
  }
  if (auto array = dyn_cast<ArrayAttr>(attribute)) {
    Description list = Description::list();
    for (Attribute item : array)
      list.items.push_back(descriptionOf(item));
    return list;
  }
  if (auto dictionary = dyn_cast<DictionaryAttr>(attribute)) {
    Description map = Description::map();
    for (NamedAttribute entry : dictionary)
      map.add(entry.getName().str(), descriptionOf(entry.getValue()));
    return map;
  }
  std::string text;
  llvm::raw_string_ostream(text) << attribute;
  return Description::text(text);
}

DictionaryAttr pdc::machine::toAttribute(MLIRContext *context, const Cluster &cluster) {
  Builder builder(context);
  return cast<DictionaryAttr>(attributeOf(builder, describeCluster(cluster)));
}

llvm::Expected<Cluster> pdc::machine::fromAttribute(DictionaryAttr attribute) {
  return readCluster(descriptionOf(attribute), kClusterAttr.str());
}

void pdc::machine::setCluster(ModuleOp module, const Cluster &cluster) {
  module->setAttr(kClusterAttr, toAttribute(module.getContext(), cluster));
}

llvm::Expected<std::optional<Cluster>> pdc::machine::getCluster(ModuleOp module) {
  Attribute attribute = module->getAttr(kClusterAttr);
  if (!attribute)
    return std::nullopt;
  auto dictionary = dyn_cast<DictionaryAttr>(attribute);
  if (!dictionary)
    return llvm::createStringError(llvm::inconvertibleErrorCode(), "dist.cluster: expected a dictionary");
  llvm::Expected<Cluster> cluster = fromAttribute(dictionary);
  if (!cluster)
    return cluster.takeError();
  return std::optional<Cluster>(std::move(*cluster));
}
