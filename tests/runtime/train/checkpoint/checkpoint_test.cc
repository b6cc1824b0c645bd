#include "runtime/train/checkpoint/checkpoint.h"

#include <sys/resource.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <numeric>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/program/reader.h"
#include "runtime/train/checkpoint/parts.h"
#include "runtime/train/checkpoint/safetensors.h"
#include "tests/runtime/train/fake_session.h"
#include "tests/runtime/train/test_files.h"

namespace pdc::train {
namespace {

using program::BufferKind;
using program::ElementType;
using program::Mode;
using testing::ElementsAre;
using testing::HasSubstr;

std::string Message(const absl::Status& status) { return std::string(status.message()); }

// One rank of the token model.
struct OneRank {
  explicit OneRank(const std::string& image = TokenModelImage(1, 2, 4))
      : communicator(hub, 0, 1), session(image, communicator, RunTokenModel) {}

  void Fill(float from) {
    std::iota(w(), w() + 16, from);
    std::iota(momentum(), momentum() + 16, from + 100);
    *session.data<float>(Mode::kTrain, BufferKind::kState, "steps_seen") = from;
  }
  float* w() { return session.data<float>(Mode::kTrain, BufferKind::kParameter, "w"); }
  float* momentum() { return session.data<float>(Mode::kTrain, BufferKind::kOptimizerState, "w"); }
  absl::Status Save(const CheckpointFolder& folder, int64_t step) {
    return folder.Save(session, Mode::kTrain,
                       {.step = step,
                        .seed = 5,
                        .samples_consumed = 2 * step,
                        .dataset_size = 9,
                        .model = "token_model",
                        .compiler_version = "1.0",
                        .optimizer = "momentum"});
  }
  // Checks and loads everything.
  absl::Status Load(const std::string& folder) {
    auto state = CheckCheckpoint(folder);
    if (!state.ok()) return state.status();
    return LoadCheckpoint(folder, LoadPart::kEverything, session, Mode::kTrain);
  }

  MailHub hub;
  MailCommunicator communicator;
  FakeSession session;
};

TEST(Checkpoint, RestoresParametersOptimizerStateAndPosition) {
  const CheckpointFolder folder(TestFolder() + "/run", 3);
  OneRank saved;
  saved.Fill(1);
  ASSERT_TRUE(folder.Prepare().ok());
  ASSERT_TRUE(saved.Save(folder, 10).ok());

  OneRank loaded;
  auto path = folder.Find(std::nullopt);
  ASSERT_TRUE(path.ok()) << path.status();
  EXPECT_THAT(*path, HasSubstr("/step-00000010"));
  auto state = CheckCheckpoint(*path);
  ASSERT_TRUE(state.ok()) << state.status();
  EXPECT_EQ(state->step, 10);
  EXPECT_EQ(state->seed, 5u);
  EXPECT_EQ(state->samples_consumed, 20);
  EXPECT_EQ(state->dataset_size, 9);
  ASSERT_TRUE(loaded.Load(*path).ok());
  for (int i = 0; i < 16; ++i) {
    EXPECT_EQ(loaded.w()[i], saved.w()[i]);
    EXPECT_EQ(loaded.momentum()[i], saved.momentum()[i]);
  }
  EXPECT_EQ(*loaded.session.data<float>(Mode::kTrain, BufferKind::kState, "steps_seen"), 1);
}

TEST(Checkpoint, NamesTensorsAsTheModelDoes) {
  const CheckpointFolder folder(TestFolder(), 3);
  OneRank rank;
  ASSERT_TRUE(rank.Save(folder, 1).ok());
  auto model = SafetensorsFile::Open(*folder.Find(1) + "/model.safetensors");
  auto optimizer = SafetensorsFile::Open(*folder.Find(1) + "/optimizer.safetensors");
  ASSERT_TRUE(model.ok() && optimizer.ok());
  EXPECT_NE(model->Find("w"), nullptr);
  EXPECT_NE(model->Find("steps_seen"), nullptr);
  EXPECT_NE(optimizer->Find("optimizer.momentum.w"), nullptr);
  EXPECT_EQ(model->metadata().at("step"), "1");
}

TEST(Checkpoint, KeepsTheLastOnesAndPointsAtTheNewest) {
  const std::string path = TestFolder();
  const CheckpointFolder folder(path, 2);
  OneRank rank;
  for (int64_t step : {5, 10, 15}) ASSERT_TRUE(rank.Save(folder, step).ok());
  EXPECT_THAT(folder.Steps(), ElementsAre(10, 15));
  EXPECT_EQ(ReadFile(path + "/latest"), "step-00000015\n");
  EXPECT_EQ(*folder.Find(10), path + "/step-00000010");
  EXPECT_EQ(Message(folder.Find(5).status()),
            "there is no checkpoint 'step-00000005' in '" + path + "'; it has those of steps 10, 15");
}

TEST(Checkpoint, OfAnEmptyFolderIsNotFound) {
  const std::string path = TestFolder();
  EXPECT_EQ(Message(CheckpointFolder(path, 1).Find(std::nullopt).status()),
            "there is no checkpoint in '" + path + "'");
}

TEST(Checkpoint, IsReplacedWhenAStepIsSavedAgain) {
  const CheckpointFolder folder(TestFolder(), 2);
  OneRank rank;
  rank.Fill(1);
  ASSERT_TRUE(rank.Save(folder, 5).ok());
  rank.Fill(2);
  ASSERT_TRUE(rank.Save(folder, 5).ok());
  OneRank loaded;
  ASSERT_TRUE(loaded.Load(*folder.Find(5)).ok());
  EXPECT_EQ(loaded.w()[0], 2);
  EXPECT_THAT(folder.Steps(), ElementsAre(5));
}

TEST(Checkpoint, PrepareRemovesWhatUnfinishedSavesLeft) {
  const std::string path = TestFolder();
  std::filesystem::create_directories(path + "/.unfinished-step-00000005-1");
  std::ofstream(path + "/latest.tmp-1") << "step-0000";
  ASSERT_TRUE(CheckpointFolder(path, 2).Prepare().ok());
  EXPECT_TRUE(std::filesystem::is_empty(path));
}

TEST(Checkpoint, FoldersAreHeldByOneRunAtATime) {
  const std::string path = TestFolder();
  const CheckpointFolder folder(path, 2);
  {
    auto first = folder.Prepare();
    ASSERT_TRUE(first.ok()) << first.status();
    std::filesystem::create_directories(path + "/.unfinished-step-00000005-1");
    auto second = CheckpointFolder(path, 2).Prepare();
    EXPECT_EQ(second.status().code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(second.status().message()),
                HasSubstr("another run is writing into '" + path + "'"));
    // What the first one is writing stays.
    EXPECT_FALSE(std::filesystem::is_empty(path));
  }
  EXPECT_TRUE(folder.Prepare().ok());
}

TEST(Checkpoint, WithAFlippedBitAnywhereIsRefused) {
  const CheckpointFolder folder(TestFolder(), 2);
  OneRank rank;
  rank.Fill(1);
  ASSERT_TRUE(rank.Save(folder, 5).ok());
  const std::string path = *folder.Find(5);
  for (const char* name : {"model.safetensors", "optimizer.safetensors", "state.json"}) {
    const std::string file = path + "/" + name;
    const std::string whole = ReadFile(file);
    for (size_t byte = 0; byte < whole.size(); byte += 7) {
      std::string damaged = whole;
      damaged[byte] = static_cast<char>(damaged[byte] ^ 0x10);
      WriteFile(file, damaged);
      const auto state = CheckCheckpoint(path);
      ASSERT_FALSE(state.ok()) << name << ", byte " << byte;
      EXPECT_THAT(Message(state.status()), HasSubstr(name));
    }
    WriteFile(file, whole);
  }
  EXPECT_TRUE(CheckCheckpoint(path).ok());
}

TEST(Checkpoint, ThatIsTruncatedIsRefusedWithBothSizes) {
  const CheckpointFolder folder(TestFolder(), 2);
  OneRank rank;
  ASSERT_TRUE(rank.Save(folder, 5).ok());
  const std::string file = *folder.Find(5) + "/optimizer.safetensors";
  const std::string whole = ReadFile(file);
  WriteFile(file, whole.substr(0, whole.size() - 1));
  EXPECT_EQ(Message(CheckCheckpoint(*folder.Find(5)).status()),
            "checkpoint file '" + file + "' is damaged: it must have " + std::to_string(whole.size()) +
                " bytes, it has " + std::to_string(whole.size() - 1));
  std::filesystem::remove(file);
  EXPECT_EQ(CheckCheckpoint(*folder.Find(5)).status().code(), absl::StatusCode::kNotFound);
}

TEST(Checkpoint, ThatDoesNotFitOnTheDiskLeavesTheLastGoodOne) {
  const std::string path = TestFolder();
  const CheckpointFolder folder(path, 1);
  OneRank rank;
  rank.Fill(1);
  ASSERT_TRUE(rank.Save(folder, 5).ok());

  rlimit old_limit;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &old_limit), 0);
  const rlimit tiny = {100, old_limit.rlim_max};
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &tiny), 0);
  const absl::Status status = rank.Save(folder, 10);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &old_limit), 0);
  std::signal(SIGXFSZ, old_handler);

  EXPECT_FALSE(status.ok());
  EXPECT_THAT(Message(status), HasSubstr("checkpoint of step 10: cannot write '"));
  EXPECT_THAT(folder.Steps(), ElementsAre(5));
  OneRank loaded;
  EXPECT_TRUE(loaded.Load(*folder.Find(std::nullopt)).ok());
  int entries = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(path)) ++entries;
  EXPECT_EQ(entries, 2);  // step-00000005 and latest
}

// Elements [start, start + size) of a parameter's last dimension.
struct Columns {
  int64_t start, size;
};

// A model of one parameter, of which each rank holds some columns.
std::string ImageOfColumns(const std::string& name, std::vector<int64_t> shape, ElementType type,
                           const std::vector<Columns>& ranks, std::vector<int64_t> declared = {}) {
  program::ExecutableT executable;
  executable.ranks = ranks.size();
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    auto program = std::make_unique<program::ProgramT>();
    program->mode = Mode::kTrain;
    program::BufferT buffer = MakeBuffer(BufferKind::kParameter, name, type, shape);
    buffer.shape.back() = ranks[rank].size;
    buffer.start.back() = ranks[rank].start;
    buffer.declared_shape = declared;
    std::vector<program::BufferT> buffers;
    buffers.push_back(std::move(buffer));
    AddBuffers(*program, std::move(buffers));
    executable.programs.push_back(std::move(program));
    executable.rank_programs.push_back(std::make_unique<program::RankProgramsT>());
    executable.rank_programs[rank]->rank = rank;
    executable.rank_programs[rank]->programs = {static_cast<uint32_t>(rank)};
  }
  return program::WriteExecutable(executable);
}

// The same; rank r of `ranks` holds the r-th part of the columns.
std::string OneParameterImage(const std::string& name, std::vector<int64_t> shape, ElementType type,
                              int ranks = 1, std::vector<int64_t> declared = {}) {
  const int64_t size = shape.back() / ranks;
  std::vector<Columns> columns;
  for (int rank = 0; rank < ranks; ++rank) columns.push_back({rank * size, size});
  return ImageOfColumns(name, std::move(shape), type, columns, std::move(declared));
}

TEST(Checkpoint, OfAnotherModelIsRefused) {
  const CheckpointFolder folder(TestFolder(), 2);
  OneRank rank;
  ASSERT_TRUE(rank.Save(folder, 5).ok());
  const std::string path = *folder.Find(5);
  const auto load = [&](const std::string& image) {
    OneRank other(image);
    return Message(LoadCheckpoint(path, LoadPart::kModel, other.session, Mode::kTrain));
  };
  EXPECT_THAT(load(OneParameterImage("v", {16}, ElementType::kF32)),
              HasSubstr("has no tensor 'v'; is it a checkpoint of another model"));
  EXPECT_THAT(load(OneParameterImage("w", {4, 4}, ElementType::kF32)),
              HasSubstr("tensor 'w' is [16] f32, the model needs [4, 4] f32"));
  EXPECT_THAT(load(OneParameterImage("w", {16}, ElementType::kF32)),
              HasSubstr("has the tensor 'steps_seen', which the model does not have"));
}

TEST(LoadParameters, ConvertsElementTypesAndIgnoresOtherTensors) {
  const CheckpointFolder folder(TestFolder(), 2);
  OneRank rank;
  rank.Fill(1);
  ASSERT_TRUE(rank.Save(folder, 5).ok());
  OneRank other(OneParameterImage("w", {16}, ElementType::kBF16));
  ASSERT_TRUE(LoadParameters(*folder.Find(5) + "/model.safetensors", other.session, Mode::kTrain).ok());
  const uint16_t* w = other.session.data<uint16_t>(Mode::kTrain, BufferKind::kParameter, "w");
  EXPECT_EQ(Bf16ToFloat(w[15]), 16.0f);
}

TEST(LoadParameters, NamesWhatTheFileLacks) {
  const CheckpointFolder folder(TestFolder(), 2);
  OneRank rank;
  ASSERT_TRUE(rank.Save(folder, 5).ok());
  const std::string path = *folder.Find(5) + "/optimizer.safetensors";
  EXPECT_EQ(Message(LoadParameters(path, rank.session, Mode::kTrain)),
            "'" + path + "' lacks 1 parameters of the model: 'w'");
}

TEST(Checkpoint, OfASplitParameterIsWholeInTheFileAndSplitAgainWhenLoaded) {
  const CheckpointFolder folder(TestFolder(), 2);
  MailHub hub;
  OnRanks(2, [&](int rank) {
    MailCommunicator communicator(hub, rank, 2);
    FakeSession session(OneParameterImage("columns", {3, 4}, ElementType::kF32, 2), communicator,
                        RunTokenModel);
    float* data = session.data<float>(Mode::kTrain, BufferKind::kParameter, "columns");
    for (int row = 0; row < 3; ++row) {
      for (int column = 0; column < 2; ++column) data[2 * row + column] = 4 * row + 2 * rank + column;
    }
    const absl::Status status = folder.Save(session, Mode::kTrain, {.step = 1});
    EXPECT_TRUE(status.ok()) << status;
    ASSERT_TRUE(communicator.Barrier(session.deadline()).ok());
    std::fill(data, data + 6, -1.0f);
    EXPECT_TRUE(LoadCheckpoint(*folder.Find(1), LoadPart::kModel, session, Mode::kTrain).ok());
    EXPECT_EQ(data[5], 4 * 2 + 2 * rank + 1);
  });
  auto file = SafetensorsFile::Open(*folder.Find(1) + "/model.safetensors");
  ASSERT_TRUE(file.ok()) << file.status();
  std::vector<float> whole(12), expected(12);
  std::memcpy(whole.data(), file->Find("columns")->data, 48);
  std::iota(expected.begin(), expected.end(), 0.0f);
  EXPECT_EQ(whole, expected);
}

// Two ranks have the columns of each of three parts: in the file is what the model declares, whose columns are those of
// all parts, and a job of one rank that knows no parts reads it.
TEST(Checkpoint, HasTheDeclaredShapeOfAParameterThatIsSplitInAnotherOne) {
  const CheckpointFolder folder(TestFolder(), 2);
  const std::vector<int64_t> declared = {2, 12};
  MailHub hub;
  OnRanks(2, [&](int rank) {
    MailCommunicator communicator(hub, rank, 2);
    FakeSession session(OneParameterImage("qkv", {2, 3, 4}, ElementType::kF32, 2, declared), communicator,
                        RunTokenModel);
    float* data = session.data<float>(Mode::kTrain, BufferKind::kParameter, "qkv");
    for (int i = 0; i < 12; ++i) data[i] = 4 * (i / 2) + 2 * rank + i % 2;
    const absl::Status status = folder.Save(session, Mode::kTrain, {.step = 1});
    EXPECT_TRUE(status.ok()) << status;
    ASSERT_TRUE(communicator.Barrier(session.deadline()).ok());
    std::fill(data, data + 12, -1.0f);
    EXPECT_TRUE(LoadCheckpoint(*folder.Find(1), LoadPart::kModel, session, Mode::kTrain).ok());
    for (int i = 0; i < 12; ++i) EXPECT_EQ(data[i], 4 * (i / 2) + 2 * rank + i % 2);
  });
  auto file = SafetensorsFile::Open(*folder.Find(1) + "/model.safetensors");
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->Find("qkv")->info.shape, declared);
  OneRank one(OneParameterImage("qkv", {2, 12}, ElementType::kF32));
  ASSERT_TRUE(LoadCheckpoint(*folder.Find(1), LoadPart::kModel, one.session, Mode::kTrain).ok());
  const float* whole = one.session.data<float>(Mode::kTrain, BufferKind::kParameter, "qkv");
  for (int i = 0; i < 24; ++i) EXPECT_EQ(whole[i], i);
  // Another declaration is another model, whatever the parts.
  OneRank other(OneParameterImage("qkv", {2, 12}, ElementType::kF32, 1, {2, 3, 4}));
  EXPECT_THAT(Message(LoadCheckpoint(*folder.Find(1), LoadPart::kModel, other.session, Mode::kTrain)),
              HasSubstr("tensor 'qkv' is [2, 12] f32, the model needs [2, 3, 4] f32"));
}

// Stages of a pipeline that both use a parameter, as an embedding that is also the head, may cut it differently.
TEST(Checkpoint, OfAParameterThatTwoStagesCutDifferentlyHasEachElementOnce) {
  const std::vector<std::vector<Columns>> jobs = {
      {{0, 2}, {2, 2}, {0, 4}},          // cut on the first stage, whole on the second
      {{0, 4}, {0, 2}, {2, 2}},          // the other way round
      {{0, 2}, {2, 2}, {0, 3}, {3, 1}},  // cut on both
  };
  for (size_t job = 0; job < jobs.size(); ++job) {
    const std::vector<Columns>& ranks = jobs[job];
    const CheckpointFolder folder(TestFolder() + "/" + std::to_string(job), 2);
    MailHub hub;
    OnRanks(ranks.size(), [&](int rank) {
      MailCommunicator communicator(hub, rank, ranks.size());
      FakeSession session(ImageOfColumns("shared", {3, 4}, ElementType::kF32, ranks), communicator, RunTokenModel);
      float* data = session.data<float>(Mode::kTrain, BufferKind::kParameter, "shared");
      const auto [start, size] = ranks[rank];
      for (int i = 0; i < 3 * size; ++i) data[i] = 4 * (i / size) + start + i % size;
      const absl::Status status = folder.Save(session, Mode::kTrain, {.step = 1});
      EXPECT_TRUE(status.ok()) << status;
      ASSERT_TRUE(communicator.Barrier(session.deadline()).ok());
      std::fill(data, data + 3 * size, -1.0f);
      EXPECT_TRUE(LoadCheckpoint(*folder.Find(1), LoadPart::kModel, session, Mode::kTrain).ok());
      for (int i = 0; i < 3 * size; ++i) EXPECT_EQ(data[i], 4 * (i / size) + start + i % size);
    });
    OneRank one(OneParameterImage("shared", {3, 4}, ElementType::kF32));
    ASSERT_TRUE(LoadCheckpoint(*folder.Find(1), LoadPart::kModel, one.session, Mode::kTrain).ok());
    const float* whole = one.session.data<float>(Mode::kTrain, BufferKind::kParameter, "shared");
    for (int i = 0; i < 12; ++i) EXPECT_EQ(whole[i], i) << "job " << job;
  }
}

TEST(Checkpoint, OfAParameterThatNoPartsCoverIsRefused) {
  const CheckpointFolder folder(TestFolder(), 2);
  MailHub hub;
  OnRanks(2, [&](int rank) {
    MailCommunicator communicator(hub, rank, 2);
    FakeSession session(ImageOfColumns("w", {3, 4}, ElementType::kF32, {{0, 2}, {1, 3}}), communicator, RunTokenModel);
    EXPECT_THAT(Message(folder.Save(session, Mode::kTrain, {.step = 1})),
                HasSubstr("the ranks' parts of 'w' hold 6 of its 12 elements; others overlap these"));
  });
}

}  // namespace
}  // namespace pdc::train
