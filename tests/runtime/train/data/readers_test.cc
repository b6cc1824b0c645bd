#include "runtime/train/data/readers.h"

#include <cstring>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/train/data/npy.h"
#include "tests/runtime/train/test_files.h"

namespace pdc::train {
namespace {

using testing::HasSubstr;

std::string Bytes(const Dataset& data, int64_t sample, size_t field) {
  const Field& description = data.fields()[field];
  return std::string(reinterpret_cast<const char*>(data.data(sample, field)),
                     ElementCount(description.shape) * StoredBytes(description.type));
}

std::string Message(const absl::Status& status) { return std::string(status.message()); }

TEST(Text, GivesWindowsWhoseLabelsAreTheNextBytes) {
  const std::string path = WriteFile(TestFolder() + "/a.txt", "abcdefgh");
  auto data = OpenText(path, {.sequence = 3});
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ((*data)->size(), 5);
  EXPECT_EQ(Bytes(**data, 0, 0), "abc");
  EXPECT_EQ(Bytes(**data, 0, 1), "bcd");
  EXPECT_EQ(Bytes(**data, 4, 0), "efg");
  EXPECT_EQ(Bytes(**data, 4, 1), "fgh");
  EXPECT_EQ((*data)->Place(4, 1), "'" + path + "', bytes 5 to 7");
}

TEST(Text, WithAStrideOfTheSequenceScoresEveryTokenOnce) {
  const std::string path = WriteFile(TestFolder() + "/a.txt", "abcdefghi");
  auto data = OpenText(path, {.sequence = 3, .stride = 3});
  ASSERT_TRUE(data.ok()) << data.status();
  ASSERT_EQ((*data)->size(), 2);
  EXPECT_EQ(Bytes(**data, 0, 1) + Bytes(**data, 1, 1), "bcdefg");
}

TEST(Text, SplitsOffItsLastPartForValidation) {
  const std::string path = WriteFile(TestFolder() + "/a.txt", "abcdefghij");
  auto train = OpenText(path, {.sequence = 2, .split = Split::kTrain, .validation_fraction = 0.3});
  auto validation = OpenText(path, {.sequence = 2, .split = Split::kValidation, .validation_fraction = 0.3});
  ASSERT_TRUE(train.ok()) << train.status();
  ASSERT_TRUE(validation.ok()) << validation.status();
  EXPECT_EQ((*train)->size(), 5);
  EXPECT_EQ(Bytes(**train, 4, 1), "fg");
  ASSERT_EQ((*validation)->size(), 1);
  EXPECT_EQ(Bytes(**validation, 0, 0), "hi");
}

TEST(Text, ShorterThanOneSampleIsRefused) {
  const std::string path = WriteFile(TestFolder() + "/a.txt", "abc");
  auto data = OpenText(path, {.sequence = 3});
  EXPECT_EQ(Message(data.status()),
            "'" + path + "' has 3 tokens; one sample of 3 tokens and its labels need 4");
}

TEST(Text, ThatIsMissingIsRefusedWithItsName) {
  auto data = OpenText("/nonexistent/a.txt", {.sequence = 3});
  EXPECT_EQ(data.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(Message(data.status()), HasSubstr("cannot open '/nonexistent/a.txt'"));
}

TEST(Text, ThatIsAFolderIsRefused) {
  const std::string folder = TestFolder();
  EXPECT_EQ(Message(OpenText(folder, {.sequence = 3}).status()), "'" + folder + "' is not a regular file");
}

TEST(Tokens, AreLittleEndianUint16) {
  const std::string path = WriteFile(TestFolder() + "/a.bin", BytesOf<uint16_t>({1, 2, 50256}));
  auto data = OpenTokens(path, {.sequence = 2});
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ((*data)->size(), 1);
  EXPECT_EQ(Bytes(**data, 0, 1), BytesOf<uint16_t>({2, 50256}));
}

TEST(Tokens, OfAnOddNumberOfBytesAreRefused) {
  const std::string path = WriteFile(TestFolder() + "/a.bin", "12345");
  auto data = OpenTokens(path, {.sequence = 1});
  EXPECT_EQ(data.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(Message(data.status()),
            "'" + path + "' must hold a whole number of tokens of 2 bytes; it has 5 bytes");
}

TEST(Npy, PairsAreTheFieldsOfSamples) {
  const std::string folder = TestFolder();
  const std::string x =
      WriteFile(folder + "/x.npy", NpyFile("<f4", "(2, 3)", BytesOf<float>({1, 2, 3, 4, 5, 6})));
  const std::string y = WriteFile(folder + "/y.npy", NpyFile("<i8", "(2,)", BytesOf<int64_t>({7, 8})));
  auto data = OpenNpy({x, y});
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ((*data)->size(), 2);
  EXPECT_EQ((*data)->fields()[0].shape, Shape({3}));
  EXPECT_EQ((*data)->fields()[1].shape, Shape());
  EXPECT_EQ(Bytes(**data, 1, 0), BytesOf<float>({4, 5, 6}));
  EXPECT_EQ(Bytes(**data, 1, 1), BytesOf<int64_t>({8}));
}

TEST(Npy, FilesOfDifferentNumbersOfSamplesAreRefused) {
  const std::string folder = TestFolder();
  const std::string x = WriteFile(folder + "/x.npy", NpyFile("|u1", "(2,)", "ab"));
  const std::string y = WriteFile(folder + "/y.npy", NpyFile("|u1", "(3,)", "abc"));
  EXPECT_EQ(Message(OpenNpy({x, y}).status()), "'" + y + "' holds 3 samples, '" + x + "' holds 2");
}

TEST(Npy, TruncatedIsRefusedWithBothSizes) {
  const std::string path = WriteFile(TestFolder() + "/x.npy", NpyFile("<f4", "(2, 3)", std::string(23, 'x')));
  auto data = OpenNpy({path});
  EXPECT_EQ(data.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(Message(data.status()),
            "'" + path + "' holds an array of shape [2, 3] of f32 and must have 152 bytes; it has 151");
}

TEST(Npy, WithAHeaderThatEndsAfterTheFileIsRefused) {
  const std::string path = WriteFile(TestFolder() + "/x.npy", NpyFile("<f4", "(2,)", "").substr(0, 40));
  EXPECT_THAT(Message(OpenNpy({path}).status()), HasSubstr("is truncated: its header needs 128 bytes"));
}

TEST(Npy, OfAnUnsupportedKindIsRefused) {
  const std::string folder = TestFolder();
  const auto error = [&](const std::string& contents) {
    return Message(OpenNpy({WriteFile(folder + "/x.npy", contents)}).status());
  };
  EXPECT_THAT(error("hello, this is no array"), HasSubstr("does not begin with the bytes '\\x93NUMPY'"));
  EXPECT_THAT(error(NpyFile(">f4", "(1,)", "abcd")), HasSubstr("element type '>f4'; expected u1"));
  EXPECT_THAT(error(NpyFile("<c8", "(1,)", "abcdefgh")), HasSubstr("element type '<c8'"));
  EXPECT_THAT(error(NpyFile("<f4", "(-1,)", "abcd")), HasSubstr("no shape in its header"));
  EXPECT_THAT(error(NpyFile("<f4", "(9223372036854775807, 9223372036854775807)", "")), HasSubstr("no shape"));
  std::string fortran = NpyFile("<f4", "(1,)", "abcd");
  fortran.replace(fortran.find("False"), 5, "True ");
  EXPECT_THAT(error(fortran), HasSubstr("Fortran order"));
}

TEST(Npy, WrittenIsReadBackAlsoFromBf16) {
  const std::string folder = TestFolder();
  const std::vector<float> values = {1.5, -2, 3, 0};
  ASSERT_TRUE(WriteNpy(folder + "/a.npy", program::ElementType::kF32, {2, 2},
                       reinterpret_cast<const std::byte*>(values.data()))
                  .ok());
  auto array = ReadNpy(folder + "/a.npy");
  ASSERT_TRUE(array.ok()) << array.status();
  EXPECT_EQ(array->shape, Shape({2, 2}));
  EXPECT_EQ(std::memcmp(array->data, values.data(), 16), 0);
  std::vector<uint16_t> narrow;
  for (float v : values) narrow.push_back(FloatToBf16(v));
  ASSERT_TRUE(WriteNpy(folder + "/b.npy", program::ElementType::kBF16, {4},
                       reinterpret_cast<const std::byte*>(narrow.data()))
                  .ok());
  EXPECT_EQ(ReadFile(folder + "/b.npy"), NpyFile("<f4", "(4,)", BytesOf(values)));
}

TEST(Idx, PairsAreTheFieldsOfSamples) {
  const std::string folder = TestFolder();
  const std::string x = WriteFile(folder + "/images-idx3-ubyte", IdxFile({2, 2, 2}, "abcdefgh"));
  const std::string y = WriteFile(folder + "/labels-idx1-ubyte", IdxFile({2}, {3, 4}));
  auto data = OpenIdx({x, y});
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ((*data)->fields()[0].shape, Shape({2, 2}));
  EXPECT_EQ(Bytes(**data, 1, 0), "efgh");
  EXPECT_EQ(Bytes(**data, 1, 1), "\x04");
}

TEST(Idx, TruncatedOrTooLongIsRefusedWithBothSizes) {
  const std::string folder = TestFolder();
  const std::string path = folder + "/x-idx3-ubyte";
  for (const std::string& contents : {std::string("abcdefg"), std::string("abcdefghi")}) {
    auto data = OpenIdx({WriteFile(path, IdxFile({2, 2, 2}, contents))});
    EXPECT_EQ(data.status().code(), absl::StatusCode::kDataLoss);
    EXPECT_EQ(Message(data.status()), "'" + path +
                                          "' holds an array of shape [2, 2, 2] of bytes and must have 24 " +
                                          "bytes; it has " + std::to_string(16 + contents.size()));
  }
  EXPECT_THAT(Message(OpenIdx({WriteFile(path, IdxFile({2, 2, 2}, "").substr(0, 9))}).status()),
              HasSubstr("is truncated: its header needs 16 bytes, the file has 9"));
}

TEST(Idx, OfAnotherElementTypeOrCompressedIsRefused) {
  const std::string path = TestFolder() + "/x-idx1-ubyte";
  std::string floats = IdxFile({1}, "abcd");
  floats[2] = 0x0d;
  EXPECT_THAT(Message(OpenIdx({WriteFile(path, floats)}).status()),
              HasSubstr("idx element type 13 is not supported"));
  EXPECT_THAT(Message(OpenIdx({WriteFile(path, "\x1f\x8b\x08zzzz")}).status()),
              HasSubstr("run gunzip on it"));
}

TEST(Idx, OfASizeThatOverflowsIsRefused) {
  const std::string path = WriteFile(TestFolder() + "/x-idx3-ubyte", IdxFile({~0u, ~0u, ~0u}, "a"));
  EXPECT_EQ(OpenIdx({path}).status().code(), absl::StatusCode::kDataLoss);
}

TEST(Cifar10, JoinsItsFiles) {
  const std::string folder = TestFolder();
  const auto record = [](char label, char fill) { return std::string(1, label) + std::string(3072, fill); };
  const std::string a = WriteFile(folder + "/a.bin", record(1, 'a') + record(2, 'b'));
  const std::string b = WriteFile(folder + "/b.bin", record(3, 'c'));
  auto data = OpenCifar10({a, b});
  ASSERT_TRUE(data.ok()) << data.status();
  ASSERT_EQ((*data)->size(), 3);
  EXPECT_EQ(Bytes(**data, 1, 0), std::string(3072, 'b'));
  EXPECT_EQ(Bytes(**data, 2, 0), std::string(3072, 'c'));
  EXPECT_EQ(Bytes(**data, 2, 1), "\x03");
  EXPECT_EQ((*data)->Place(2, 1), "the label of record 0 of '" + b + "'");
}

TEST(Cifar10, TruncatedOrOfAnotherKindIsRefused) {
  const std::string path = TestFolder() + "/a.bin";
  EXPECT_EQ(Message(OpenCifar10({WriteFile(path, std::string(3072, 1))}).status()),
            "'" + path + "' must hold a whole number of CIFAR-10 records of 3073 bytes; it has 3072 bytes");
  EXPECT_THAT(Message(OpenCifar10({WriteFile(path, std::string(3073, 11))}).status()),
              HasSubstr("record 0 has label 11, expected 0 to 9"));
}

TEST(GuessFormat, GoesByNameThenByContentsThenByTheModel) {
  const std::string folder = TestFolder();
  EXPECT_EQ(GuessFormat("x.npy", true), DataFormat::kNpy);
  EXPECT_EQ(GuessFormat("t10k-images-idx3-ubyte", true), DataFormat::kIdx);
  EXPECT_EQ(GuessFormat(WriteFile(folder + "/digits", IdxFile({1}, "a")), true), DataFormat::kIdx);
  EXPECT_EQ(GuessFormat("data_batch_1.bin", true), DataFormat::kCifar10);
  EXPECT_EQ(GuessFormat("train.bin", false), DataFormat::kTokens);
  EXPECT_EQ(GuessFormat("shakespeare.txt", false), DataFormat::kText);
}

TEST(OpenDataset, TakesOneFileOfText) {
  EXPECT_EQ(Message(OpenDataset({"a.txt", "b.txt"}, DataFormat::kText, {.sequence = 2}).status()),
            "text and token data is one file; 2 were given: join them into one");
}

}  // namespace
}  // namespace pdc::train
