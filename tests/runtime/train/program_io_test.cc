#include "runtime/train/program_io.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "gtest/gtest.h"
#include "tests/runtime/testing/program_builder.h"

namespace pdc::train {
namespace {

using program::BufferKind;
using program::ElementType;

TEST(SyntheticDataset, HasOnlyIdsThatEveryEmbeddingOfThemKnows) {
  testing::ProgramBuilder builder;
  const uint32_t tokens =
      builder.Buffer(BufferKind::kInput, "tokens", {4, 16}, program::Segment::kPrivate, ElementType::kI32);
  const uint32_t segments =
      builder.Buffer(BufferKind::kInput, "segments", {4, 16}, program::Segment::kPrivate, ElementType::kI32);
  // Rows of the tables that the compiler found the ids to be looked up in.
  builder.get().buffers[tokens]->id_limit = 100;
  builder.get().buffers[segments]->id_limit = 2;
  flatbuffers::FlatBufferBuilder buffer;
  buffer.Finish(program::Program::Pack(buffer, &builder.get()));
  const auto batch = BatchInputsOf(*flatbuffers::GetRoot<program::Program>(buffer.GetBufferPointer()));
  ASSERT_TRUE(batch.ok()) << batch.status();
  const auto data = MakeSyntheticDataset(batch->inputs, /*samples=*/4, /*seed=*/1);
  std::vector<int32_t> largest;
  for (size_t field = 0; field < 2; ++field) {
    largest.push_back(0);
    for (int64_t sample = 0; sample < 4; ++sample) {
      int32_t ids[16];
      std::memcpy(ids, data->data(sample, field), sizeof(ids));
      largest.back() = std::max(largest.back(), *std::max_element(ids, ids + 16));
    }
  }
  EXPECT_LT(largest[0], 100);
  EXPECT_GE(largest[0], 50) << "64 ids of 100 hardly reach";
  EXPECT_EQ(largest[1], 1);
}

}  // namespace
}  // namespace pdc::train
