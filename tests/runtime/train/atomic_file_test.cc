#include "runtime/train/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "gtest/gtest.h"
#include "tests/runtime/train/test_files.h"

namespace pdc::train {
namespace {

namespace fs = std::filesystem;

absl::Status WriteWhole(const std::string& path, const std::string& text) {
  auto file = AtomicFile::Create(path);
  if (!file.ok()) return file.status();
  if (absl::Status status = (*file)->Write(text.data(), text.size()); !status.ok()) return status;
  return (*file)->Commit();
}

int FilesIn(const std::string& folder) {
  return static_cast<int>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

TEST(AtomicFile, ReplacesTheOldFileOnlyWhenItIsWhole) {
  const std::string folder = TestFolder(), path = folder + "/file";
  ASSERT_TRUE(WriteWhole(path, "old").ok());
  {
    auto file = AtomicFile::Create(path);
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE((*file)->Write("new", 3).ok());
    EXPECT_EQ(ReadFile(path), "old");
  }
  EXPECT_EQ(ReadFile(path), "old");
  ASSERT_TRUE(WriteWhole(path, "new").ok());
  EXPECT_EQ(ReadFile(path), "new");
  EXPECT_EQ(FilesIn(folder), 1);
}

TEST(AtomicFile, KeepsALinkAndReplacesWhatItLeadsTo) {
  const std::string folder = TestFolder();
  fs::create_directory(folder + "/other");
  ASSERT_TRUE(WriteWhole(folder + "/other/file", "old").ok());
  fs::create_symlink("other/file", folder + "/link");
  EXPECT_TRUE(CheckWritable(folder + "/link").ok());
  ASSERT_TRUE(WriteWhole(folder + "/link", "new").ok());
  EXPECT_TRUE(fs::is_symlink(folder + "/link"));
  EXPECT_EQ(ReadFile(folder + "/other/file"), "new");
  EXPECT_EQ(FilesIn(folder + "/other"), 1);
}

// As /dev/null, which must stay a device.
TEST(AtomicFile, WritesIntoAPipeAndLeavesItOne) {
  const std::string folder = TestFolder(), path = folder + "/pipe";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_TRUE(CheckWritable(path).ok());
  const int reader = open(path.c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_GE(reader, 0);
  ASSERT_TRUE(WriteWhole(path, "text").ok());
  char text[8] = {};
  EXPECT_EQ(read(reader, text, sizeof(text)), 4);
  EXPECT_EQ(std::string(text), "text");
  close(reader);
  EXPECT_TRUE(fs::is_fifo(path));
  EXPECT_EQ(FilesIn(folder), 1);
}

TEST(AtomicFile, DoesNotWaitForTheReaderOfAPipe) {
  const std::string path = TestFolder() + "/pipe";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(std::string(WriteWhole(path, "text").message()),
            "cannot write '" + path + "': nobody reads this pipe");
}

TEST(AtomicFile, RefusesAFolderBeforeAnythingIsWritten) {
  const std::string folder = TestFolder();
  const std::string message = "cannot write '" + folder + "': Is a directory";
  EXPECT_EQ(std::string(CheckWritable(folder).message()), message);
  EXPECT_EQ(std::string(WriteWhole(folder, "text").message()), message);
  EXPECT_EQ(FilesIn(folder), 0);
}

TEST(CheckWritable, NamesAFileWhoseFolderIsMissing) {
  const std::string path = TestFolder() + "/missing/file";
  EXPECT_EQ(std::string(CheckWritable(path).message()),
            "cannot write into the folder of '" + path + "': No such file or directory");
}

}  // namespace
}  // namespace pdc::train
