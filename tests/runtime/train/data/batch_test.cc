#include "runtime/train/data/batch.h"

#include <cstring>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/train/data/readers.h"
#include "tests/runtime/train/test_files.h"

namespace pdc::train {
namespace {

using program::ElementType;
using testing::HasSubstr;

std::string Message(const absl::Status& status) { return std::string(status.message()); }

std::shared_ptr<const Dataset> Images(const std::string& pixels, const std::vector<uint32_t>& shape,
                                      const std::string& labels) {
  const std::string folder = TestFolder();
  auto data = OpenIdx({WriteFile(folder + "/x", IdxFile(shape, pixels)),
                       WriteFile(folder + "/y", IdxFile({static_cast<uint32_t>(labels.size())}, labels))});
  EXPECT_TRUE(data.ok()) << data.status();
  return *std::move(data);
}

// A rank that loads the same samples of all inputs.
BatchInputs Loading(std::vector<InputSpec> inputs, int64_t samples, int64_t first) {
  BatchInputs batch;
  for (size_t i = 0; i < inputs.size(); ++i) batch.parts.push_back({i, samples, first});
  batch.inputs = std::move(inputs);
  return batch;
}

BatchInputs ImageInputs(Shape sample, int64_t batch, int64_t local, int64_t first) {
  return Loading(
      {{"image", ElementType::kF32, std::move(sample), batch}, {"label", ElementType::kI32, {}, batch}}, local, first);
}

struct Filled {
  std::vector<float> image;
  std::vector<int32_t> label;
};

Filled Fill(const BatchBuilder& builder, const std::vector<int64_t>& samples, Padding padding) {
  Filled filled;
  filled.image.resize(builder.bytes()[0] / 4);
  filled.label.resize(builder.bytes()[1] / 4);
  std::byte* const destinations[] = {reinterpret_cast<std::byte*>(filled.image.data()),
                                     reinterpret_cast<std::byte*>(filled.label.data())};
  for (size_t part = 0; part < 2; ++part) {
    const absl::Status status =
        builder.Fill(part, [&](int64_t i) { return samples[i]; }, padding, destinations[part]);
    EXPECT_TRUE(status.ok()) << status;
  }
  return filled;
}

TEST(Batch, RefusesLabelsThatTheModelDoesNotHave) {
  BatchInputs inputs = ImageInputs({2}, 2, 2, 0);
  inputs.inputs[1].id_limit = 9;
  auto builder = BatchBuilder::Create(Images({0, 51, '\xff', 102}, {2, 1, 2}, {8, 9}), inputs, {});
  ASSERT_TRUE(builder.ok()) << builder.status();
  std::vector<int32_t> label(2);
  const absl::Status status = (*builder)->Fill(
      1, [](int64_t i) { return i; }, Padding::kIgnoredLabels, reinterpret_cast<std::byte*>(label.data()));
  EXPECT_EQ(status.code(), absl::StatusCode::kOutOfRange);
  EXPECT_THAT(Message(status),
              HasSubstr("/y', for input 'label': 9, the element at 0, is not one of 0 to 8"));
}

TEST(Batch, PadsWithTheLabelThatTheModelIgnores) {
  BatchInputs inputs = ImageInputs({2}, 3, 3, 0);
  inputs.inputs[1].id_limit = 10;
  inputs.inputs[1].ignored_id = -1;
  auto builder = BatchBuilder::Create(Images({0, 51, '\xff', 102}, {2, 1, 2}, {3, 9}), inputs, {});
  ASSERT_TRUE(builder.ok()) << builder.status();
  EXPECT_EQ(Fill(**builder, {0, 1, -1}, Padding::kIgnoredLabels).label, (std::vector<int32_t>{3, 9, -1}));
}

TEST(Batch, ScalesBytesToFractionsAndWidensIds) {
  auto builder =
      BatchBuilder::Create(Images({0, 51, '\xff', 102}, {2, 1, 2}, {3, 9}), ImageInputs({2}, 2, 2, 0), {});
  ASSERT_TRUE(builder.ok()) << builder.status();
  const Filled filled = Fill(**builder, {1, 0}, Padding::kIgnoredLabels);
  EXPECT_EQ(filled.image, (std::vector<float>{1.0f, 0.4f, 0.0f, 0.2f}));
  EXPECT_EQ(filled.label, (std::vector<int32_t>{9, 3}));
}

TEST(Batch, NormalizesPerChannel) {
  auto builder =
      BatchBuilder::Create(Images({0, '\xff', 0, '\xff'}, {1, 2, 2}, {0}), ImageInputs({2, 2}, 1, 1, 0),
                           {.mean = {0.5, 0.25}, .deviation = {0.5, 0.25}});
  ASSERT_TRUE(builder.ok()) << builder.status();
  EXPECT_EQ(Fill(**builder, {0}, Padding::kIgnoredLabels).image, (std::vector<float>{-1, 1, -1, 3}));
}

TEST(Batch, OfAnyNumberOfRanksJoinsToTheSameGlobalBatch) {
  std::string pixels(10, 0);
  std::iota(pixels.begin(), pixels.end(), 0);
  auto data = Images(pixels, {10, 1}, std::string(10, 1));
  const std::vector<int64_t> samples = {7, 2, 9, 0, 4};
  auto whole = BatchBuilder::Create(data, ImageInputs({1}, 5, 5, 0), {});
  ASSERT_TRUE(whole.ok());
  const std::vector<float> expected = Fill(**whole, samples, Padding::kIgnoredLabels).image;
  std::vector<float> joined;
  for (const auto& [local, first] : {std::pair(2, 0), std::pair(2, 2), std::pair(1, 4)}) {
    auto part = BatchBuilder::Create(data, ImageInputs({1}, 5, local, first), {});
    ASSERT_TRUE(part.ok());
    for (float v : Fill(**part, samples, Padding::kIgnoredLabels).image) joined.push_back(v);
  }
  EXPECT_EQ(joined, expected);
}

TEST(Batch, PadsWithLabelsThatDoNotCount) {
  auto builder = BatchBuilder::Create(Images({5, 6}, {2, 1}, {1, 2}), ImageInputs({1}, 3, 3, 0), {});
  ASSERT_TRUE(builder.ok());
  const Filled filled = Fill(**builder, {1, -1, -1}, Padding::kIgnoredLabels);
  EXPECT_EQ(filled.label, (std::vector<int32_t>{2, -100, -100}));
  EXPECT_EQ(filled.image[1], 0.0f);
  const std::vector<int64_t> samples = {1, -1, -1};
  EXPECT_EQ(*(*builder)->CountedLabels([&](int64_t i) { return samples[i]; }), 1);
}

TEST(Batch, PadsWithCopiesOfTheFirstSample) {
  auto builder = BatchBuilder::Create(Images({51, 102}, {2, 1}, {1, 2}), ImageInputs({1}, 3, 3, 0), {});
  ASSERT_TRUE(builder.ok());
  const Filled filled = Fill(**builder, {1, -1, -1}, Padding::kFirstSample);
  EXPECT_EQ(filled.image, (std::vector<float>{0.4f, 0.2f, 0.2f}));
  EXPECT_EQ(filled.label, (std::vector<int32_t>{2, 1, 1}));
}

TEST(Batch, CountsTheTokensOfASequence) {
  auto text = OpenText(WriteFile(TestFolder() + "/t", "abcdefgh"), {.sequence = 4});
  ASSERT_TRUE(text.ok());
  auto builder = BatchBuilder::Create(
      *std::move(text),
      Loading({{"tokens", ElementType::kI32, {4}, 2}, {"labels", ElementType::kI32, {4}, 2}}, 2, 0), {});
  ASSERT_TRUE(builder.ok()) << builder.status();
  EXPECT_EQ(*(*builder)->CountedLabels([](int64_t i) { return i; }), 8);
  EXPECT_EQ(*(*builder)->CountedLabels([](int64_t i) { return i == 0 ? 0 : -1; }), 4);
}

TEST(Batch, RefusesAnotherNumberOfFields) {
  auto builder =
      BatchBuilder::Create(Images({5, 6}, {2, 1}, {1, 2}), Loading({{"x", ElementType::kF32, {1}, 2}}, 2, 0), {});
  EXPECT_EQ(Message(builder.status()),
            "the data has 2 fields ('x' [1] u8, 'y' [] u8), the model takes 1 inputs ('x' [1] f32)");
}

TEST(Batch, RefusesSamplesOfAnotherShape) {
  auto builder =
      BatchBuilder::Create(Images(std::string(12, 1), {2, 2, 3}, {1, 2}), ImageInputs({3, 2}, 2, 2, 0), {});
  EXPECT_EQ(Message(builder.status()),
            "samples of 'x' have shape [2, 3], the model's input 'image' takes samples of shape [3, 2]");
}

TEST(Batch, RefusesFractionsForAnIntegerInput) {
  const std::string folder = TestFolder();
  auto data = OpenNpy({WriteFile(folder + "/x.npy", NpyFile("<f4", "(1,)", "abcd"))});
  ASSERT_TRUE(data.ok());
  auto builder = BatchBuilder::Create(*std::move(data), Loading({{"ids", ElementType::kI32, {}, 1}}, 1, 0), {});
  EXPECT_EQ(Message(builder.status()),
            "'x.npy' does not fit the model's input 'ids': elements of type f32 cannot become i32");
}

TEST(Batch, RefusesAnIdThatDoesNotFit) {
  const std::string folder = TestFolder();
  auto data = OpenNpy({WriteFile(folder + "/x.npy", NpyFile("<i8", "(1,)", BytesOf<int64_t>({1ll << 40})))});
  ASSERT_TRUE(data.ok());
  auto builder = BatchBuilder::Create(*std::move(data), Loading({{"ids", ElementType::kI32, {}, 1}}, 1, 0), {});
  ASSERT_TRUE(builder.ok());
  int32_t value;
  const absl::Status status = (*builder)->Fill(
      0, [](int64_t) { return 0; }, Padding::kIgnoredLabels, reinterpret_cast<std::byte*>(&value));
  EXPECT_EQ(Message(status), "sample 0 of '" + folder +
                                 "/x.npy', for input 'ids': the value 1099511627776 does not fit in i32");
}

TEST(Batch, RefusesANormalizationOfAnotherNumberOfChannels) {
  auto builder = BatchBuilder::Create(Images(std::string(12, 1), {1, 3, 4}, {1}),
                                      ImageInputs({3, 4}, 1, 1, 0), {.mean = {0.5, 0.5}, .deviation = {}});
  EXPECT_THAT(Message(builder.status()),
              HasSubstr("--mean has 2 values; expected 1 or one for each of the 3 channels"));
  auto zero = BatchBuilder::Create(Images(std::string(12, 1), {1, 3, 4}, {1}), ImageInputs({3, 4}, 1, 1, 0),
                                   {.mean = {}, .deviation = {0}});
  EXPECT_THAT(Message(zero.status()), HasSubstr("--std: every value must be above 0"));
}

// Ranks of a pipeline load what they need: here labels of two micro-batches, and no images.
TEST(Batch, OfSomeInputsAndMicroBatches) {
  BatchInputs inputs = ImageInputs({1}, 4, 4, 0);
  inputs.parts = {{1, 1, 1}, {1, 1, 3}};
  auto builder = BatchBuilder::Create(Images({1, 2, 3, 4}, {4, 1}, {5, 6, 7, 8}), inputs, {});
  ASSERT_TRUE(builder.ok()) << builder.status();
  EXPECT_EQ((*builder)->bytes(), (std::vector<size_t>{4, 4}));
  int32_t first = 0, second = 0;
  const auto sample_at = [](int64_t i) { return i; };
  ASSERT_TRUE((*builder)->Fill(0, sample_at, Padding::kIgnoredLabels, reinterpret_cast<std::byte*>(&first)).ok());
  ASSERT_TRUE((*builder)->Fill(1, sample_at, Padding::kIgnoredLabels, reinterpret_cast<std::byte*>(&second)).ok());
  EXPECT_EQ(first, 6);
  EXPECT_EQ(second, 8);
  EXPECT_EQ(*(*builder)->CountedLabels(sample_at), 4) << "of the whole batch, on every rank";
}

TEST(LabelInput, IsNamedOrTheLastIntegerInput) {
  const InputSpec image{"x", ElementType::kF32, {}, 1}, ids{"ids", ElementType::kI32, {}, 1},
      label{"label", ElementType::kI32, {}, 1};
  EXPECT_EQ(LabelInput({label, image}), 0);
  EXPECT_EQ(LabelInput({image, ids}), 1);
  EXPECT_EQ(LabelInput({ids}), -1);
  EXPECT_EQ(LabelInput({ids, image}), -1);
}

}  // namespace
}  // namespace pdc::train
