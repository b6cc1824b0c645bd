#include "runtime/train/checkpoint/safetensors.h"

#include <unistd.h>

#include <cstring>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/runtime/train/test_files.h"

namespace pdc::train {
namespace {

using program::ElementType;
using testing::HasSubstr;

const std::byte* AsBytes(const void* data) { return static_cast<const std::byte*>(data); }

std::string File(const std::string& header, const std::string& data) {
  const uint64_t length = header.size();
  return std::string(reinterpret_cast<const char*>(&length), 8) + header + data;
}

std::string OpenError(const std::string& contents) {
  const std::string path = WriteFile(TestFolder() + "/bad.safetensors", contents);
  auto file = SafetensorsFile::Open(path);
  EXPECT_EQ(file.status().code(), absl::StatusCode::kDataLoss);
  return std::string(file.status().message());
}

TEST(Safetensors, AreReadBackAsTheyWereWritten) {
  const std::string path = TestFolder() + "/a.safetensors";
  const std::vector<float> weights = {1, 2, 3, 4, 5, 6};
  const std::vector<uint16_t> half = {FloatToBf16(1.5f)};
  auto writer = SafetensorsWriter::Create(
      path,
      {{"w", ElementType::kF32, {2, 3}}, {"h", ElementType::kBF16, {1}}, {"none", ElementType::kI64, {0}}},
      {{"model", "mlp"}});
  ASSERT_TRUE(writer.ok()) << writer.status();
  ASSERT_TRUE((*writer)->Append(AsBytes(weights.data()), 8).ok());
  ASSERT_TRUE((*writer)->Append(AsBytes(weights.data()) + 8, 16).ok());
  ASSERT_TRUE((*writer)->Append(AsBytes(half.data()), 2).ok());
  auto digest = (*writer)->Finish();
  ASSERT_TRUE(digest.ok()) << digest.status();

  auto file = SafetensorsFile::Open(path);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->metadata().at("model"), "mlp");
  EXPECT_EQ(file->tensors().size(), 3u);
  const SafetensorsFile::Tensor* w = file->Find("w");
  ASSERT_NE(w, nullptr);
  EXPECT_EQ(w->info.shape, Shape({2, 3}));
  EXPECT_EQ(std::memcmp(w->data, weights.data(), 24), 0);
  EXPECT_EQ(file->Find("h")->info.type, ElementType::kBF16);
  EXPECT_EQ(std::memcmp(file->Find("h")->data, half.data(), 2), 0);
  EXPECT_EQ(file->Find("other"), nullptr);
  EXPECT_EQ(DigestOf(file->file()).xxh3, digest->xxh3);
  EXPECT_EQ(DigestOf(file->file()).bytes, digest->bytes);
}

TEST(Safetensors, HaveTheLayoutOfTheFormat) {
  const std::string path = TestFolder() + "/a.safetensors";
  auto writer = SafetensorsWriter::Create(path, {{"x", ElementType::kU8, {3}}}, {});
  ASSERT_TRUE(writer.ok());
  ASSERT_TRUE((*writer)->Append(AsBytes("abc"), 3).ok());
  ASSERT_TRUE((*writer)->Finish().ok());
  EXPECT_EQ(ReadFile(path), File(R"({"x":{"data_offsets":[0,3],"dtype":"U8","shape":[3]}}   )", "abc"));
}

TEST(Safetensors, OfOtherToolsAreRead) {
  const std::string path = WriteFile(
      TestFolder() + "/a.safetensors",
      File(R"({"__metadata__":{"format":"pt"},"b":{"dtype":"I64","shape":[],"data_offsets":[4,12]},)"
           R"("a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
           std::string(12, '\0')));
  auto file = SafetensorsFile::Open(path);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->Find("b")->info.shape, Shape());
}

TEST(Safetensors, AreNotThereUntilFinished) {
  const std::string folder = TestFolder();
  {
    auto writer = SafetensorsWriter::Create(folder + "/a.safetensors", {{"x", ElementType::kU8, {3}}}, {});
    ASSERT_TRUE(writer.ok());
    EXPECT_EQ((*writer)->Finish().status().code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_FALSE((*writer)->Append(AsBytes("abcd"), 4).ok());
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder));
}

TEST(Safetensors, TruncatedAnywhereAreRefused) {
  const std::string path = TestFolder() + "/a.safetensors";
  const std::string whole = File(R"({"x":{"data_offsets":[0,3],"dtype":"U8","shape":[3]}})", "abc");
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(SafetensorsFile::Open(WriteFile(path, whole.substr(0, size))).ok()) << size;
  }
  EXPECT_TRUE(SafetensorsFile::Open(WriteFile(path, whole)).ok());
}

TEST(Safetensors, WithAMalformedHeaderAreRefused) {
  EXPECT_THAT(OpenError(File("[]", "")), HasSubstr("its header is not a JSON object"));
  EXPECT_THAT(OpenError(File("{\"x\":", "")), HasSubstr("its header is not a JSON object"));
  EXPECT_THAT(OpenError(std::string(8, '\xff') + "{}"), HasSubstr("its header should have"));
  EXPECT_THAT(OpenError(File(R"({"x":{"dtype":"F32","shape":[1]}})", "")), HasSubstr("no dtype, shape or"));
  EXPECT_THAT(OpenError(File(R"({"x":{"dtype":"F7","shape":[1],"data_offsets":[0,4]}})", "abcd")),
              HasSubstr("unknown dtype \"F7\""));
  EXPECT_THAT(OpenError(File(R"({"x":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", "abcd")),
              HasSubstr("malformed shape"));
  EXPECT_THAT(OpenError(File(R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", "abcd")),
              HasSubstr("of shape [2] must have 8 bytes; its offsets are 0 and 4"));
  EXPECT_THAT(OpenError(File(R"({"x":{"dtype":"U8","shape":[9],"data_offsets":[0,9]}})", "abcd")),
              HasSubstr("ends at byte 9 of the data, the file has 4 bytes of data"));
  EXPECT_THAT(
      OpenError(File(R"({"x":{"dtype":"F32","shape":[4294967296,4294967296,4],"data_offsets":[0,0]}})", "")),
      HasSubstr("overflows"));
}

TEST(Safetensors, WithOverlapsOrGapsAreRefused) {
  EXPECT_THAT(OpenError(File(R"({"x":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
                             R"("y":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})",
                             "abc")),
              HasSubstr("tensors overlap or leave a gap at byte 2"));
  EXPECT_THAT(OpenError(File(R"({"x":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})", "abcd")),
              HasSubstr("its tensors take 2 bytes, it has 4 bytes of data"));
}

TEST(Safetensors, OfTwoTensorsOfOneNameAreNotWritten) {
  auto writer = SafetensorsWriter::Create(TestFolder() + "/a",
                                          {{"x", ElementType::kU8, {1}}, {"x", ElementType::kU8, {1}}}, {});
  EXPECT_THAT(std::string(writer.status().message()),
              HasSubstr("'x' cannot be written under this name twice"));
}

TEST(Safetensors, OnAFullDiskGiveAnErrorThatNamesTheFile) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full on this machine";
  const std::string path = TestFolder() + "/a.safetensors";
  // AtomicFile writes to "<path>.tmp-<process>": let that be the device that is always full.
  std::filesystem::create_symlink("/dev/full", path + ".tmp-" + std::to_string(getpid()));
  auto writer = SafetensorsWriter::Create(path, {{"x", ElementType::kU8, {1}}}, {});
  EXPECT_FALSE(writer.ok());
  EXPECT_EQ(std::string(writer.status().message()), "cannot write '" + path + "': No space left on device");
}

}  // namespace
}  // namespace pdc::train
