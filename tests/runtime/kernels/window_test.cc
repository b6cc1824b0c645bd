// Convolutions and poolings.
#include <gtest/gtest.h>

#include <random>

#include "tests/runtime/kernels/kernel_case.h"

namespace pdc::kernels {
namespace {

using Dims = std::vector<int64_t>;
constexpr auto kF32 = program::ElementType::kF32;
constexpr auto kBF16 = program::ElementType::kBF16;

struct Conv {
  Dims x, w, bias;
  Dims stride{1, 1}, padding{0, 0, 0, 0}, dilation{1, 1};
  int64_t groups = 1;

  Dims y() const {
    Dims shape{x[0], w[0], 0, 0};
    for (int d = 0; d < 2; ++d) {
      int64_t reach = (w[d + 2] - 1) * dilation[d] + 1;
      shape[d + 2] = (x[d + 2] + padding[d] + padding[d + 2] - reach) / stride[d] + 1;
    }
    return shape;
  }

  void SetAttributes(KernelCase& test) const {
    test.Attribute("stride", stride).Attribute("padding", padding).Attribute("dilation", dilation);
    test.Attribute("groups", {groups});
  }
};

std::vector<Conv> Convolutions() {
  return {
      {.x = {2, 3, 7, 8}, .w = {4, 3, 3, 3}, .bias = {4}, .padding = {1, 1, 1, 1}},
      {.x = {1, 4, 9, 9}, .w = {6, 4, 3, 3}, .bias = {}, .stride = {2, 2}, .padding = {0, 1, 1, 0}},
      {.x = {1, 4, 9, 7},
       .w = {6, 2, 3, 2},
       .bias = {6},
       .padding = {2, 0, 1, 1},
       .dilation = {2, 1},
       .groups = 2},
      {.x = {2, 4, 5, 5}, .w = {4, 1, 3, 3}, .bias = {}, .padding = {1, 1, 1, 1}, .groups = 4},
      {.x = {1, 16, 6, 6}, .w = {32, 16, 3, 3}, .bias = {32}, .padding = {1, 1, 1, 1}},
      {.x = {2, 5, 4, 6}, .w = {7, 5, 1, 1}, .bias = {7}},
      {.x = {1, 20, 6, 5}, .w = {24, 20, 1, 1}, .bias = {}, .stride = {2, 1}},
      {.x = {1, 32, 7, 7},
       .w = {32, 16, 3, 3},
       .bias = {},
       .stride = {2, 2},
       .padding = {1, 1, 1, 1},
       .groups = 2},
      // The last row and column are in no window.
      {.x = {1, 3, 8, 8}, .w = {2, 3, 3, 3}, .bias = {2}, .stride = {2, 2}},
  };
}

class ConvolutionOf : public testing::TestWithParam<program::ElementType> {
 protected:
  double tolerance() const { return GetParam() == kF32 ? 1e-5 : 1e-2; }
};

TEST_P(ConvolutionOf, EqualsTheReference) {
  int i = 0;
  for (const Conv& conv : Convolutions()) {
    KernelCase test("conv2d", i);
    test.Read(conv.x, GetParam()).Read(conv.w, GetParam());
    if (!conv.bias.empty()) test.Read(conv.bias);
    test.Write(conv.y(), GetParam()).Threads(1 + i % 2);
    conv.SetAttributes(test);
    absl::Status status = test.Compare(tolerance());
    EXPECT_TRUE(status.ok()) << "case " << i << ": " << status;
    ++i;
  }
}

TEST_P(ConvolutionOf, GradientOfTheInputEqualsTheReference) {
  int i = 0;
  for (const Conv& conv : Convolutions()) {
    KernelCase test("conv2d_grad_input", i);
    test.Read(conv.y(), GetParam()).Read(conv.w, GetParam()).Write(conv.x, GetParam()).Threads(1 + i % 2);
    conv.SetAttributes(test);
    absl::Status status = test.Compare(tolerance());
    EXPECT_TRUE(status.ok()) << "case " << i << ": " << status;
    ++i;
  }
}

TEST_P(ConvolutionOf, GradientOfTheWeightEqualsTheReference) {
  int i = 0;
  for (const Conv& conv : Convolutions()) {
    KernelCase test("conv2d_grad_weight", i);
    test.Read(conv.x, GetParam()).Read(conv.y(), GetParam()).Write(conv.w, GetParam()).Threads(1 + i % 2);
    conv.SetAttributes(test);
    absl::Status status = test.Compare(tolerance());
    EXPECT_TRUE(status.ok()) << "case " << i << ": " << status;
    ++i;
  }
}

INSTANTIATE_TEST_SUITE_P(Types, ConvolutionOf, testing::Values(kF32, kBF16),
                         [](const auto& info) { return info.param == kF32 ? "f32" : "bf16"; });

TEST(Convolution, RefusesAResultOfTheWrongSizeAndSaysTheRightOne) {
  KernelCase test("conv2d");
  test.Read({1, 3, 8, 8}).Read({2, 3, 3, 3}).Write({1, 2, 8, 6});
  std::vector<std::vector<std::byte>> contents;
  absl::Status status = test.RunOnce(&contents);
  EXPECT_NE(status.message().find("over 8 gives 6, but the result has 8"), absl::string_view::npos) << status;
}

struct Pool {
  Dims x, kernel, stride{1, 1}, padding{0, 0, 0, 0};

  Dims y() const {
    Dims shape{x[0], x[1], 0, 0};
    for (int d = 0; d < 2; ++d) {
      shape[d + 2] = (x[d + 2] + padding[d] + padding[d + 2] - kernel[d]) / stride[d] + 1;
    }
    return shape;
  }

  void SetAttributes(KernelCase& test) const {
    test.Attribute("kernel", kernel).Attribute("stride", stride).Attribute("padding", padding);
  }
};

std::vector<Pool> Pools() {
  return {
      {.x = {2, 3, 6, 6}, .kernel = {2, 2}, .stride = {2, 2}},
      {.x = {1, 16, 7, 9}, .kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1, 1, 1}},
      {.x = {1, 2, 7, 5}, .kernel = {3, 2}, .padding = {0, 1, 2, 0}},
      {.x = {2, 5, 4, 4}, .kernel = {4, 4}},
      {.x = {1, 2, 7, 7}, .kernel = {2, 2}, .stride = {2, 2}},
  };
}

using PoolingOf = ConvolutionOf;

TEST_P(PoolingOf, MaximumEqualsTheReference) {
  for (const Pool& pool : Pools()) {
    KernelCase test("max_pool2d");
    test.Read(pool.x, GetParam()).Write(pool.y(), GetParam());
    pool.SetAttributes(test);
    EXPECT_TRUE(test.Compare(0).ok()) << test.Compare(0);
  }
}

TEST_P(PoolingOf, GradientOfTheMaximumEqualsTheReference) {
  // The seed is one without equal maxima in a window, also after rounding to bf16.
  for (const Pool& pool : Pools()) {
    KernelCase test("max_pool2d_grad", 5);
    test.Read(pool.y(), GetParam()).Read(pool.x, GetParam()).Write(pool.x, GetParam());
    pool.SetAttributes(test);
    EXPECT_TRUE(test.Compare(tolerance()).ok()) << test.Compare(tolerance());
  }
}

TEST_P(PoolingOf, AverageAndItsGradientEqualTheReference) {
  for (const Pool& pool : Pools()) {
    for (int64_t include : {0, 1}) {
      KernelCase forward("avg_pool2d");
      forward.Read(pool.x, GetParam()).Write(pool.y(), GetParam()).Attribute("count_include_pad", {include});
      pool.SetAttributes(forward);
      EXPECT_TRUE(forward.Compare(tolerance()).ok()) << forward.Compare(tolerance());
      KernelCase backward("avg_pool2d_grad");
      backward.Read(pool.y(), GetParam()).Write(pool.x, GetParam()).Attribute("count_include_pad", {include});
      pool.SetAttributes(backward);
      EXPECT_TRUE(backward.Compare(tolerance()).ok()) << backward.Compare(tolerance());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Pooling, PoolingOf, testing::Values(kF32, kBF16),
                         [](const auto& info) { return info.param == kF32 ? "f32" : "bf16"; });

TEST(Pooling, RefusesAWindowThatMayLieInThePaddingAlone) {
  KernelCase test("max_pool2d");
  test.Read({1, 1, 4, 4}).Write({1, 1, 7, 7}).Attribute("kernel", {2, 2}).Attribute("padding", {2, 2, 2, 2});
  std::vector<std::vector<std::byte>> contents;
  EXPECT_EQ(test.RunOnce(&contents).code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace pdc::kernels
