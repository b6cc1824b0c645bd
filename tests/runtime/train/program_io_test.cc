#include "runtime/train/program_io.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/runtime/testing/program_builder.h"

namespace pdc::train {
namespace {

using program::Access;
using program::BufferKind;
using program::ElementType;

TEST(SyntheticDataset, HasOnlyIdsThatEveryEmbeddingOfThemKnows) {
  testing::ProgramBuilder builder;
  const uint32_t words = builder.Buffer(BufferKind::kParameter, "words", {100, 8});
  const uint32_t segments = builder.Buffer(BufferKind::kParameter, "segments", {2, 8});
  const uint32_t token_ids =
      builder.Buffer(BufferKind::kInput, "tokens", {4, 16}, program::Segment::kPrivate, ElementType::kI32);
  const uint32_t segment_ids =
      builder.Buffer(BufferKind::kInput, "segments", {4, 16}, program::Segment::kPrivate, ElementType::kI32);
  const uint32_t rows = builder.Buffer(BufferKind::kActivation, "rows", {4, 16, 8});
  for (auto [table, ids] : {std::pair(words, token_ids), std::pair(segments, segment_ids)}) {
    program::InstructionT& lookup = builder.Add(program::Opcode::kLibrary, "embedding", "lookup");
    builder.Operand(lookup, table, Access::kRead);
    builder.Operand(lookup, ids, Access::kRead);
    builder.Operand(lookup, rows, Access::kWrite);
  }
  flatbuffers::FlatBufferBuilder buffer;
  buffer.Finish(program::Program::Pack(buffer, &builder.get()));
  const auto inputs = InputSpecsOf(*flatbuffers::GetRoot<program::Program>(buffer.GetBufferPointer()));
  ASSERT_TRUE(inputs.ok()) << inputs.status();
  const auto data = MakeSyntheticDataset(*inputs, /*samples=*/4, /*seed=*/1);
  std::vector<int32_t> largest;
  for (size_t field = 0; field < 2; ++field) {
    largest.push_back(0);
    for (int64_t sample = 0; sample < 4; ++sample) {
      int32_t ids[16];
      std::memcpy(ids, data->data(sample, field), sizeof(ids));
      largest.back() = std::max(largest.back(), *std::max_element(ids, ids + 16));
    }
  }
  EXPECT_EQ(largest, (std::vector<int32_t>{9, 1}));
}

}  // namespace
}  // namespace pdc::train
