//===- library_test.cpp - symbols, bytes, vectors, errors -----------------===//

#include "mlir/IR/Diagnostics.h"
#include "tests/compiler/codegen/fusions.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace pdc;
using namespace pdc::codegen;
using namespace pdc::codegen::test;

static SmallVector<MemRefType> denseArguments(nn::FusionOp fusion) {
  SmallVector<Type> types(fusion->getOperandTypes());
  size_t results = fusion.getNumResults() - (fusion.getDonate() ? fusion.getDonate()->size() : 0);
  llvm::append_range(types, llvm::drop_end(fusion.getResultTypes(), fusion.getNumResults() - results));
  SmallVector<MemRefType> arguments;
  for (Type type : types)
    arguments.push_back(MemRefType::get(cast<RankedTensorType>(type).getShape(),
                                        cast<RankedTensorType>(type).getElementType()));
  return arguments;
}

/// The optimized IR for processors with AVX-512.
static std::string optimizedIR(nn::FusionOp fusion) {
  KernelLibraryBuilder builder(fusion->getContext(), {"x86-64-v4", "", 3});
  if (failed(builder.add(fusion, denseArguments(fusion))))
    return "";
  auto text = builder.buildIR();
  return succeeded(text) ? *text : "";
}

static std::string messageOf(nn::FusionOp fusion, ArrayRef<MemRefType> arguments) {
  std::string message;
  ScopedDiagnosticHandler handler(fusion->getContext(),
                                  [&](Diagnostic &diagnostic) { message += diagnostic.str(); });
  KernelLibraryBuilder builder(fusion->getContext(), {});
  EXPECT_TRUE(failed(builder.add(fusion, arguments)));
  return message;
}

static bool contains(const std::string &text, const char *part) {
  return text.find(part) != std::string::npos;
}

TEST(KernelLibrary, VectorizesElementwiseKernels) {
  FusionWriter w;
  EXPECT_TRUE(contains(optimizedIR(adamW(w, {100000})), "<16 x float>"));
}

TEST(KernelLibrary, VectorizesExponentialsAndSumsOfSoftmax) {
  FusionWriter w;
  std::string ir = optimizedIR(softmax(w, {8, 1024}));
  EXPECT_TRUE(contains(ir, "fadd reassoc contract <16 x float>")) << ir;
  EXPECT_TRUE(contains(ir, "@llvm.maximum.v16f32") || contains(ir, "@llvm.vector.reduce.fmaximum.v16f32"))
      << ir;
  EXPECT_TRUE(contains(ir, "@llvm.fma.v16f32")) << ir;
  EXPECT_FALSE(contains(ir, "@llvm.exp.")) << ir;
}

TEST(KernelLibrary, VectorizesColumnSums) {
  FusionWriter w;
  std::string ir = optimizedIR(columnSums(w, 64, 768));
  EXPECT_TRUE(contains(ir, "fadd reassoc contract <16 x float>")) << ir;
}

TEST(KernelLibrary, VectorizesHalfPrecision) {
  FusionWriter w;
  EXPECT_TRUE(contains(optimizedIR(softmax(w, {8, 1024}, false, w.builder.getBF16Type())), "<16 x float>"));
}

TEST(KernelLibrary, SameBodiesAndLayoutsShareAKernel) {
  FusionWriter w;
  nn::FusionOp fusion = softmax(w, {4, 16});
  auto copy = cast<nn::FusionOp>(OpBuilder(fusion).clone(*fusion));
  copy.setLabel("another name");
  KernelLibraryBuilder builder(&w.context, {});
  auto first = builder.add(fusion, denseArguments(fusion)), second = builder.add(copy, denseArguments(copy));
  ASSERT_TRUE(succeeded(first) && succeeded(second));
  EXPECT_EQ(first->symbol, second->symbol);
  SmallVector<MemRefType> strided = denseArguments(copy);
  strided[0] =
      MemRefType::get({4, 16}, w.builder.getF32Type(), StridedLayoutAttr::get(&w.context, 0, {32, 1}));
  auto third = builder.add(copy, strided);
  ASSERT_TRUE(succeeded(third));
  EXPECT_NE(first->symbol, third->symbol);
}

TEST(KernelLibrary, WritesTheSameBytesTwice) {
  FusionWriter w;
  nn::FusionOp fusion = softmax(w, {4, 16});
  KernelLibraryBuilder builder(&w.context, {});
  std::string images[2];
  for (std::string &image : images) {
    ASSERT_TRUE(succeeded(builder.add(fusion, denseArguments(fusion))));
    auto built = builder.build();
    ASSERT_TRUE(succeeded(built));
    image = *built;
  }
  EXPECT_FALSE(images[0].empty());
  EXPECT_EQ(images[0], images[1]);
  EXPECT_EQ(images[0].substr(0, 4), "\x7f"
                                    "ELF");
}

TEST(KernelLibrary, BuildsALibraryWithoutKernels) {
  FusionWriter w;
  KernelLibraryBuilder builder(&w.context, {});
  auto built = builder.build();
  ASSERT_TRUE(succeeded(built));
  EXPECT_EQ(built->substr(0, 4), "\x7f"
                                 "ELF");
}

TEST(KernelLibrary, CountsOperationsAndBytes) {
  FusionWriter w;
  Value x = w.operand({100, 10}), y = w.operand({10});
  nn::FusionOp fusion = w.finish({w.op<nn::AddOp>({x, y})});
  KernelLibraryBuilder builder(&w.context, {});
  auto kernel = builder.add(fusion, denseArguments(fusion));
  ASSERT_TRUE(succeeded(kernel));
  EXPECT_EQ(kernel->flops, 1000);
  EXPECT_EQ(kernel->bytes, 4 * (1000 + 10 + 1000));
}

TEST(KernelLibrary, RefusesReductionsOverDifferentDimensions) {
  FusionWriter w;
  Value x = w.operand({3, 4});
  nn::FusionOp fusion = w.finish({w.sum(x, {0}), w.sum(x, {1})});
  EXPECT_TRUE(contains(messageOf(fusion, denseArguments(fusion)), "reductions over different dimensions"));
}

TEST(KernelLibrary, RefusesAWrongNumberOfArguments) {
  FusionWriter w;
  Value x = w.operand({3, 4});
  nn::FusionOp fusion = w.finish({w.op<nn::SquareOp>({x})});
  EXPECT_TRUE(contains(messageOf(fusion, {}), "expects 2 memory arguments"));
}

TEST(KernelLibrary, RefusesADonatedOperandThatIsReadAfterItIsOverwritten) {
  FusionWriter w;
  Value x = w.operand({3, 64});
  Value doubled = w.op<nn::MulOp>({x, w.splat(2)});
  Value result = w.op<nn::DivOp>({x, w.sum(x, {1})});
  nn::FusionOp fusion = w.finish({doubled, result}, {{0, 0}});
  EXPECT_TRUE(contains(messageOf(fusion, denseArguments(fusion)),
                       "cannot compute result 0 in the memory of operand 0"));
}

TEST(KernelLibrary, RefusesAnUnknownProcessor) {
  FusionWriter w;
  std::string message;
  ScopedDiagnosticHandler handler(&w.context, [&](Diagnostic &diagnostic) { message += diagnostic.str(); });
  KernelLibraryBuilder builder(&w.context, {"z80", "", 3});
  EXPECT_TRUE(failed(builder.build()));
  EXPECT_TRUE(contains(message, "unknown processor 'z80'")) << message;
}
