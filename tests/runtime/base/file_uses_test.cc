#include "runtime/base/file_uses.h"

#include <filesystem>
#include <fstream>
#include <string>

#include "gtest/gtest.h"

namespace pdc::base {
namespace {

namespace fs = std::filesystem;

// A folder with the file "data", and "link" to it.
class FileUses : public testing::Test {
 protected:
  FileUses() : folder_(fs::path(testing::TempDir()) / "file_uses") {
    fs::remove_all(folder_);
    fs::create_directories(folder_ / "sub");
    std::ofstream(folder_ / "data") << "x";
    fs::create_symlink("data", folder_ / "link");
  }
  std::string Path(const std::string& name) const { return (folder_ / name).string(); }

  fs::path folder_;
};

TEST_F(FileUses, FindsAnInputThatWouldBeOverwrittenUnderAnyName) {
  for (const char* name : {"data", "./data", "sub/../data", "link"}) {
    EXPECT_EQ(FindOverwrite({{"--data", Path("data")}}, {{"--json", ""}, {"--log", Path(name)}}),
              "--log=" + Path(name) + " would overwrite --data, which is read");
  }
}

TEST_F(FileUses, FindsAFileThatIsWrittenTwiceAlsoBeforeItExists) {
  for (const auto& [first, second] : {std::pair("data", "link"), {"new", "sub/../new"}}) {
    EXPECT_EQ(FindOverwrite({}, {{"--log", Path(first)}, {"--trace", Path(second)}}),
              "--trace=" + Path(second) + " and --log are one file");
  }
}

TEST_F(FileUses, ComparesRelativeNamesThatDoNotExist) {
  EXPECT_EQ(FindOverwrite({}, {{"--log", "new-log"}, {"--trace", "./new-log"}}),
            "--trace=./new-log and --log are one file");
}

TEST_F(FileUses, AllowsDifferentFilesAndDevices) {
  EXPECT_EQ(FindOverwrite({{"--data", Path("data")}, {"--init-from", ""}},
                          {{"--log", Path("new")}, {"--trace", Path("other")}, {"--json", ""}}),
            "");
  EXPECT_EQ(FindOverwrite({{"MODEL", "/dev/null"}}, {{"-o", "/dev/null"}, {"--report", "/dev/null"}}), "");
  EXPECT_EQ(FindOverwrite({{"MODEL", "-"}}, {{"-o", "-"}, {"--report", "-"}}), "");
}

TEST_F(FileUses, MayReadAFileTwice) {
  EXPECT_EQ(FindOverwrite({{"--data", Path("data")}, {"--validation-data", Path("data")}}, {}), "");
}

}  // namespace
}  // namespace pdc::base
