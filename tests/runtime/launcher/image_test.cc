#include "runtime/launcher/image.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <random>

#include "runtime/launcher/elf_section.h"
#include "runtime/program/container.h"
#include "tests/runtime/testing/program_builder.h"

namespace pdc::launcher {
namespace {

// The smallest ELF file with one named section, whose contents begin at `offset`.
std::string ElfFile(std::string_view name, std::string_view contents, size_t offset = 128) {
  std::string file(offset, '\0');
  file += contents;
  std::string names = std::string("\0", 1) + std::string(name) + std::string("\0", 1);
  uint64_t names_offset = file.size();
  file += names;
  Elf64_Ehdr header = {};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_shoff = file.size();
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 3;
  header.e_shstrndx = 2;
  std::memcpy(file.data(), &header, sizeof(header));
  Elf64_Shdr sections[3] = {};
  sections[1].sh_name = 1;
  sections[1].sh_offset = offset;
  sections[1].sh_size = contents.size();
  sections[2].sh_offset = names_offset;
  sections[2].sh_size = names.size();
  file.append(reinterpret_cast<const char*>(sections), sizeof(sections));
  return file;
}

TEST(ElfSection, IsFoundByItsName) {
  std::string file = ElfFile(".pdc", "contents");
  EXPECT_EQ(*FindElfSection(file, ".pdc"), "contents");
  EXPECT_EQ(FindElfSection(file, ".pd").status().code(), absl::StatusCode::kNotFound);
}

TEST(ElfSection, OfARealExecutableIsFound) {
  std::ifstream stream("/proc/self/exe", std::ios::binary);
  std::string file((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
  EXPECT_TRUE(FindElfSection(file, ".text").ok());
  EXPECT_EQ(FindElfSection(file, ".pdc").status().code(), absl::StatusCode::kNotFound);
}

TEST(ElfSection, IsNeverReadOutsideOfATruncatedOrMutatedFile) {
  const std::string file = ElfFile(".pdc", "contents");
  for (size_t bytes = 0; bytes < file.size(); ++bytes) {
    EXPECT_EQ(FindElfSection(std::string_view(file).substr(0, bytes), ".pdc").status().code(),
              absl::StatusCode::kDataLoss);
  }
  std::mt19937_64 random(2);
  for (int i = 0; i < 3000; ++i) {
    std::string damaged = file;
    for (int b = 0; b < 2; ++b) damaged[random() % damaged.size()] = static_cast<char>(random());
    auto section = FindElfSection(damaged, ".pdc");
    if (!section.ok()) continue;
    EXPECT_GE(section->data(), damaged.data());
    EXPECT_LE(section->data() + section->size(), damaged.data() + damaged.size());
  }
}

class ImageFile : public ::testing::Test {
 protected:
  std::string Write(const std::string& contents) {
    std::string path = std::string(std::getenv("TEST_TMPDIR")) + "/executable";
    std::ofstream(path, std::ios::binary) << contents;
    return path;
  }

  std::string payload_ =
      pdc::testing::MakePayload(pdc::testing::MakeExecutable({pdc::testing::LinearGradient(1)}, 1));
};

TEST_F(ImageFile, IsReadAndAlignedWhereverItLiesInTheFile) {
  for (size_t offset : {128, 131}) {
    auto image = Image::Open(Write(ElfFile(program::kElfSection, payload_, offset)));
    ASSERT_TRUE(image.ok()) << image.status();
    EXPECT_EQ((*image)->payload(), payload_);
    EXPECT_EQ(reinterpret_cast<uintptr_t>((*image)->payload().data()) % 64, 0u);
    EXPECT_EQ((*image)->executable().ranks(), 1);
    EXPECT_EQ((*image)->report(), "");
  }
}

TEST_F(ImageFile, WithAFlippedBitOrCutShortIsRefused) {
  std::string file = ElfFile(program::kElfSection, payload_);
  file[128 + payload_.size() / 2] ^= 4;
  EXPECT_EQ(Image::Open(Write(file)).status().code(), absl::StatusCode::kDataLoss);
  file = ElfFile(program::kElfSection, payload_);
  file.resize(file.size() / 2);
  EXPECT_EQ(Image::Open(Write(file)).status().code(), absl::StatusCode::kDataLoss);
}

TEST_F(ImageFile, WithoutAPayloadSaysThatAModelMustBeCompiled) {
  absl::Status status = Image::Open("/proc/self/exe").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_NE(status.message().find("compile a model with pdc"), absl::string_view::npos) << status;
}

TEST_F(ImageFile, ThatIsMissingOrEmptyIsAnError) {
  EXPECT_FALSE(Image::Open("/nonexistent").ok());
  EXPECT_FALSE(Image::Open(Write("")).ok());
}

}  // namespace
}  // namespace pdc::launcher
