#include "runtime/launcher/elf_section.h"

#include <elf.h>

#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"

namespace pdc::launcher {
namespace {

absl::Status CutOff(absl::string_view what) {
  return absl::DataLossError(absl::StrCat("the executable file is damaged: ", what, " lies outside of it"));
}

absl::StatusOr<std::string_view> Part(std::string_view file, uint64_t offset, uint64_t bytes,
                                      absl::string_view what) {
  if (offset > file.size() || bytes > file.size() - offset) return CutOff(what);
  return file.substr(offset, bytes);
}

template <typename T>
absl::StatusOr<T> Read(std::string_view file, uint64_t offset, absl::string_view what) {
  PDC_ASSIGN_OR_RETURN(std::string_view bytes, Part(file, offset, sizeof(T), what));
  T value;
  std::memcpy(&value, bytes.data(), sizeof(T));
  return value;
}

struct SectionTable {
  uint64_t offset, count, names_index;
};

absl::StatusOr<Elf64_Shdr> ReadSection(std::string_view file, const SectionTable& table, uint64_t index) {
  // `offset` is inside of the file, and counts are at most 64 bits of headers away from overflow.
  if (index >= table.count || index > (file.size() - table.offset) / sizeof(Elf64_Shdr)) {
    return CutOff("a section header");
  }
  return Read<Elf64_Shdr>(file, table.offset + index * sizeof(Elf64_Shdr), "a section header");
}

absl::StatusOr<SectionTable> ReadTable(std::string_view file) {
  PDC_ASSIGN_OR_RETURN(Elf64_Ehdr header, Read<Elf64_Ehdr>(file, 0, "the ELF header"));
  bool known = std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_ident[EI_CLASS] == ELFCLASS64 &&
               header.e_ident[EI_DATA] == ELFDATA2LSB;
  if (!known || header.e_shentsize != sizeof(Elf64_Shdr) || header.e_shoff > file.size()) {
    return absl::DataLossError(
        "the executable file is damaged: its ELF header is not one of a 64-bit executable");
  }
  SectionTable table{header.e_shoff, header.e_shnum, header.e_shstrndx};
  // Numbers that do not fit in the header stand in section 0.
  if (header.e_shnum == 0 || header.e_shstrndx == SHN_XINDEX) {
    PDC_ASSIGN_OR_RETURN(Elf64_Shdr first, Read<Elf64_Shdr>(file, header.e_shoff, "a section header"));
    if (header.e_shnum == 0) table.count = first.sh_size;
    if (header.e_shstrndx == SHN_XINDEX) table.names_index = first.sh_link;
  }
  return table;
}

}  // namespace

absl::StatusOr<std::string_view> FindElfSection(std::string_view file, std::string_view name) {
  PDC_ASSIGN_OR_RETURN(SectionTable table, ReadTable(file));
  PDC_ASSIGN_OR_RETURN(Elf64_Shdr names_header, ReadSection(file, table, table.names_index));
  PDC_ASSIGN_OR_RETURN(std::string_view names, Part(file, names_header.sh_offset, names_header.sh_size,
                                                    "the table of section names"));
  for (uint64_t i = 0; i < table.count; ++i) {
    PDC_ASSIGN_OR_RETURN(Elf64_Shdr section, ReadSection(file, table, i));
    if (section.sh_name >= names.size()) return CutOff("a section's name");
    std::string_view found = names.substr(section.sh_name);
    found = found.substr(0, found.find('\0'));
    if (found != name) continue;
    return Part(file, section.sh_offset, section.sh_size, absl::StrCat("section '", std::string(name), "'"));
  }
  return absl::NotFoundError(absl::StrCat("the file has no section '", std::string(name), "'"));
}

}  // namespace pdc::launcher
