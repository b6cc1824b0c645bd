// Embeddings and strided copies, and what holds for all calls.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "runtime/kernels/library.h"
#include "tests/runtime/kernels/kernel_case.h"

namespace pdc::kernels {
namespace {

using Dims = std::vector<int64_t>;
constexpr auto kF32 = program::ElementType::kF32;
constexpr auto kBF16 = program::ElementType::kBF16;

TEST(Embedding, EqualsTheReference) {
  for (auto type : {kF32, kBF16}) {
    for (int threads : {1, 2}) {
      KernelCase test("embedding");
      test.Read({11, 6}, type).Ids({3, 5}, 11).Write({3, 5, 6}, type).Threads(threads);
      EXPECT_TRUE(test.Compare(0).ok()) << test.Compare(0);
    }
  }
}

TEST(Embedding, GradientAddsRepeatedIdsAndClearsTheRest) {
  for (auto rows : {kF32, kBF16}) {
    for (auto table : {kF32, kBF16}) {
      for (int64_t accumulate : {0, 1}) {
        KernelCase test("embedding_grad");
        test.Read({4, 7, 9}, rows)
            .Ids({4, 7}, 5)
            .Write({8, 9}, table)
            .Attribute("accumulate", {accumulate})
            .Threads(2);
        EXPECT_TRUE(test.Compare(table == kF32 ? 1e-5 : 8e-3).ok()) << test.Compare(1e-5);
      }
    }
  }
}

TEST(Embedding, GradientHasTheSameBitsWithOneAndThreeThreads) {
  std::vector<std::vector<std::byte>> one, three;
  KernelCase test("embedding_grad");
  test.Read({40, 10}).Ids({40}, 3).Write({4, 10});
  ASSERT_TRUE(test.RunOnce(&one).ok());
  ASSERT_TRUE(test.Threads(3).RunOnce(&three).ok());
  EXPECT_EQ(one, three);
}

TEST(Embedding, NamesAnIdOutsideOfTheVocabulary) {
  for (const char* target : {"embedding", "embedding_grad"}) {
    KernelCase test(target);
    bool gradient = std::string(target) == "embedding_grad";
    test.Read(gradient ? Dims{4, 3} : Dims{7, 3}).Ids({4}, 7).Write(gradient ? Dims{7, 3} : Dims{4, 3});
    int32_t id = 7;
    std::memcpy(&test.contents()[1][2 * sizeof(id)], &id, sizeof(id));
    std::vector<std::vector<std::byte>> contents;
    absl::Status status = test.RunOnce(&contents);
    EXPECT_EQ(status.code(), absl::StatusCode::kOutOfRange);
    EXPECT_NE(status.message().find("id 7 at position 2 is not one of 0 to 6"), absl::string_view::npos)
        << status;
  }
}

TEST(Embedding, OfAPartOfTheTableGivesZerosForOtherIds) {
  for (auto type : {kF32, kBF16}) {
    for (int64_t start : {0, 4, 7}) {
      KernelCase test("embedding");
      test.Read({4, 6}, type)
          .Ids({3, 5}, 11)
          .Scalar(start)
          .Write({3, 5, 6}, type)
          .Attribute("vocabulary", {11});
      EXPECT_TRUE(test.Threads(2).Compare(0).ok()) << test.Compare(0);
    }
  }
}

TEST(Embedding, GradientOfAPartOfTheTableSkipsOtherIds) {
  for (auto table : {kF32, kBF16}) {
    for (int64_t start : {0, 3}) {
      KernelCase test("embedding_grad");
      test.Read({4, 7, 9}).Ids({4, 7}, 8).Scalar(start).Write({5, 9}, table).Attribute("vocabulary", {8});
      EXPECT_TRUE(test.Threads(2).Compare(table == kF32 ? 1e-5 : 8e-3).ok()) << test.Compare(1e-5);
    }
  }
}

TEST(Embedding, OfAPartRefusesIdsThatNoPartHas) {
  KernelCase test("embedding");
  test.Read({4, 3}).Ids({4}, 7).Scalar(0).Write({4, 3}).Attribute("vocabulary", {7});
  int32_t id = 7;
  std::memcpy(&test.contents()[1][2 * sizeof(id)], &id, sizeof(id));
  std::vector<std::vector<std::byte>> contents;
  EXPECT_EQ(test.RunOnce(&contents).code(), absl::StatusCode::kOutOfRange);
}

TEST(CopyView, EqualsTheReferenceForRandomPermutationsAndGaps) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 80; ++i) {
    size_t rank = 1 + random() % 5;
    Dims shape(rank);
    for (int64_t& dimension : shape) dimension = 1 + random() % (rank < 3 ? 70 : 5);
    auto strides = [&] {
      Dims order(rank), result(rank);
      for (size_t d = 0; d < rank; ++d) order[d] = d;
      std::shuffle(order.begin(), order.end(), random);
      int64_t stride = 1 + random() % 2;
      for (int64_t d : order) {
        result[d] = stride;
        stride = stride * shape[d] + random() % 2;
      }
      return result;
    };
    KernelCase test("copy_view", i);
    auto type = i % 2 ? kF32 : kBF16;
    test.ReadView(shape, strides(), type).WriteView(shape, strides(), type).Threads(1 + i % 3);
    ASSERT_TRUE(test.Compare(0).ok()) << "case " << i << ": " << test.Compare(0);
  }
}

TEST(CopyView, RepeatsABroadcastView) {
  KernelCase test("copy_view");
  test.ReadView({4, 6}, {0, 1}).Write({4, 6});
  EXPECT_TRUE(test.Compare(0).ok()) << test.Compare(0);
}

TEST(CopyView, RefusesOtherShapesAndTypes) {
  std::vector<std::vector<std::byte>> contents;
  KernelCase shapes("copy_view");
  EXPECT_EQ(shapes.Read({2, 3}).Write({3, 2}).RunOnce(&contents).code(), absl::StatusCode::kInvalidArgument);
  KernelCase types("copy_view");
  EXPECT_EQ(types.Read({2, 3}).Write({2, 3}, kBF16).RunOnce(&contents).code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(Transpose, WritesDenseTensorsOnly) {
  KernelCase test("transpose");
  test.ReadView({33, 40}, {1, 33}).Write({33, 40});
  EXPECT_TRUE(test.Compare(0).ok()) << test.Compare(0);
  KernelCase strided("transpose");
  std::vector<std::vector<std::byte>> contents;
  EXPECT_EQ(strided.Read({2, 3}).WriteView({2, 3}, {1, 2}).RunOnce(&contents).code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(Library, NamesTheCallsItHasWhenAskedForAnother) {
  absl::Status status = FindCall("matmull").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_NE(status.message().find("matmul, max_pool2d"), absl::string_view::npos) << status;
}

TEST(Library, RefusesAWorkspaceThatIsTooSmall) {
  KernelCase test("embedding_grad");
  test.Read({4, 3}).Ids({4}, 7).Write({7, 3}, kBF16);
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(program::Instruction::Pack(builder, &test.instruction()));
  const auto& instruction = *flatbuffers::GetRoot<program::Instruction>(builder.GetBufferPointer());
  absl::Status status =
      PrepareCall(instruction, {{nullptr, nullptr, nullptr}, nullptr, 83, Workers(1)}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(status.message().find("needs 84 bytes"), absl::string_view::npos) << status;
}

TEST(Library, CountsTwoOperationsForEachProductOfAMatmulAndAConvolution) {
  auto flops = [](const KernelCase& test) {
    flatbuffers::FlatBufferBuilder builder;
    builder.Finish(program::Instruction::Pack(builder, &test.instruction()));
    return Flops(*flatbuffers::GetRoot<program::Instruction>(builder.GetBufferPointer()));
  };
  KernelCase matmul("matmul");
  matmul.Read({3, 4, 6}).ReadView({3, 6, 5}, {0, 5, 1}).Write({3, 4, 5});
  EXPECT_EQ(flops(matmul), 2.0 * 3 * 4 * 6 * 5);
  const Dims x{2, 4, 5, 5}, w{6, 2, 3, 3}, y{2, 6, 3, 3};
  double expected = 2.0 * 2 * 6 * 3 * 3 * 2 * 3 * 3;
  KernelCase forward("conv2d"), grad_input("conv2d_grad_input"), grad_weight("conv2d_grad_weight");
  EXPECT_EQ(flops(forward.Read(x).Read(w).Write(y)), expected);
  EXPECT_EQ(flops(grad_input.Read(y).Read(w).Write(x)), expected);
  EXPECT_EQ(flops(grad_weight.Read(x).Read(y).Write(w)), expected);
}

}  // namespace
}  // namespace pdc::kernels
