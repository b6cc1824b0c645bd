#include "runtime/train/metrics.h"

#include <fcntl.h>
#include <unistd.h>

#include <cmath>
#include <atomic>
#include <csignal>
#include <string>

#include "gtest/gtest.h"
#include "tests/runtime/train/test_files.h"

namespace pdc::train {
namespace {

StepRecord Record(int64_t step) {
  StepRecord record;
  record.step = step;
  record.loss = 2.5;
  record.step_time_seconds = 0.125;
  record.tokens_per_second = 16384;
  record.learning_rate = 0.001;
  return record;
}

TEST(JsonLine, HasTheKeysOfTheInterfaceInOrder) {
  StepRecord record = Record(3);
  EXPECT_EQ(ToJsonLine(record),
            R"({"step":3,"loss":2.5,"step_time":0.125,"tokens_per_second":16384.0,"lr":0.001})");
  record.validation_loss = 2.25;
  record.metrics["grad_norm"] = NAN;
  EXPECT_EQ(ToJsonLine(record),
            R"({"step":3,"loss":2.5,"step_time":0.125,"tokens_per_second":16384.0,"lr":0.001,)"
            R"("validation_loss":2.25,"grad_norm":null})");
}

TEST(MetricsLog, OfAResumedRunHasEachStepOnce) {
  const std::string path = TestFolder() + "/log";
  {
    auto log = MetricsLog::Open(path, 0);
    ASSERT_TRUE(log.ok());
    for (int step : {1, 2, 3, 4}) ASSERT_TRUE((*log)->Write(Record(step)).ok());
  }
  {
    auto log = MetricsLog::Open(path, 2);
    ASSERT_TRUE(log.ok());
    ASSERT_TRUE((*log)->Write(Record(3)).ok());
  }
  EXPECT_EQ(ReadFile(path),
            ToJsonLine(Record(1)) + "\n" + ToJsonLine(Record(2)) + "\n" + ToJsonLine(Record(3)) + "\n");
  ASSERT_TRUE(MetricsLog::Open(path, 0).ok());
  EXPECT_EQ(ReadFile(path), "");
}

TEST(MetricsLog, OnAFullDiskGivesAnError) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full on this machine";
  auto log = MetricsLog::Open("/dev/full", 0);
  ASSERT_TRUE(log.ok());
  EXPECT_EQ(std::string((*log)->Write(Record(1)).message()),
            "cannot write '/dev/full': No space left on device");
}

std::string Shown(bool is_terminal) {
  std::FILE* file = std::tmpfile();
  {
    Progress progress(file, is_terminal, 4, "tokens");
    progress.Show(Record(1));
    progress.Show(Record(2));
  }
  std::string text(std::ftell(file), '\0');
  std::rewind(file);
  text.resize(std::fread(text.data(), 1, text.size(), file));
  std::fclose(file);
  return text;
}

TEST(Progress, IsPlainLinesInAFile) {
  EXPECT_EQ(Shown(false),
            "step 1/4  loss 2.5000  lr 0.001  0.125 s  16.4k tokens/s\n"
            "step 2/4  loss 2.5000  lr 0.001  0.125 s  16.4k tokens/s\n");
}

TEST(Progress, DropsWhatNobodyReadsOnceTheRunIsInterrupted) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  ASSERT_GE(fcntl(ends[1], F_SETPIPE_SZ, 4096), 4096);
  const std::atomic<int> running = 0, interrupted = SIGTERM;
  std::FILE* file = fdopen(ends[1], "w");
  {
    Progress progress(file, false, 4, "tokens", &running);
    progress.Note("there is room");
  }
  const std::string page(4096, 'x');
  ASSERT_EQ(fcntl(ends[1], F_SETFL, O_NONBLOCK), 0);
  while (write(ends[1], page.data(), page.size()) > 0) {
  }
  ASSERT_EQ(fcntl(ends[1], F_SETFL, 0), 0);
  {
    Progress progress(file, false, 4, "tokens", &interrupted);  // nobody reads: this would wait for ever
    progress.Show({.step = 1, .loss = 2});
    progress.Note("stopped");
  }
  EXPECT_EQ(std::fclose(file), 0);
  std::string text(1 << 16, ' ');
  text.resize(static_cast<size_t>(read(ends[0], text.data(), text.size())));
  EXPECT_EQ(text.substr(0, 14), "there is room\n");
  EXPECT_EQ(text.find("stopped"), std::string::npos);
  close(ends[0]);
}

TEST(Progress, IsOneLineThatIsRedrawnOnATerminal) {
  EXPECT_EQ(Shown(true),
            "\r\x1b[K\x1b[?7l[======                  ] step 1/4  loss 2.5000  lr 0.001  0.125 s  16.4k tokens/s\x1b[?7h"
            "\r\x1b[K\x1b[?7l[============            ] step 2/4  loss 2.5000  lr 0.001  0.125 s  16.4k tokens/s\x1b[?7h\n");
}

}  // namespace
}  // namespace pdc::train
