#include "runtime/program/container.h"

#include <array>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "xxhash.h"

// The layout, all integers little-endian:
//
//   offset 0   magic "PDCPAYLD"
//          8   u32 format version
//         12   u32 number of sections
//         16   u64 bytes of the whole payload
//         24   one Entry per section: name (32 bytes, zero-filled), u64 offset, u64 bytes, XXH3-128 of the
//         contents
//          .   XXH3-128 of everything before it
//          .   contents, each at a multiple of 64, zeros between them
namespace pdc::program {
namespace {

constexpr char kMagic[] = {'P', 'D', 'C', 'P', 'A', 'Y', 'L', 'D'};
constexpr uint64_t kAlignment = 64;
constexpr size_t kNameBytes = 32;
constexpr size_t kHashBytes = 16;
constexpr size_t kHeaderBytes = 24;
constexpr size_t kEntryBytes = kNameBytes + 8 + 8 + kHashBytes;
constexpr uint32_t kMaxSections = 64;

using Hash = std::array<unsigned char, kHashBytes>;

Hash HashOf(std::string_view bytes) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits(bytes.data(), bytes.size()));
  Hash hash;
  std::memcpy(hash.data(), canonical.digest, kHashBytes);
  return hash;
}

uint64_t RoundUp(uint64_t value) { return (value + kAlignment - 1) / kAlignment * kAlignment; }

template <typename T>
void Append(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

template <typename T>
T Load(std::string_view bytes, size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(value));
  return value;
}

bool HashMatches(std::string_view contents, std::string_view stored) {
  Hash hash = HashOf(contents);
  return std::memcmp(hash.data(), stored.data(), kHashBytes) == 0;
}

absl::Status Damaged(std::string_view what) {
  return absl::DataLossError(
      absl::StrCat("the executable's payload is damaged: ", absl::string_view(what.data(), what.size()),
                   "; compile the model again"));
}

// Magic, version, sizes and the table's hash. Returns the number of sections.
absl::StatusOr<uint32_t> ReadHeader(std::string_view payload) {
  if (payload.size() < kHeaderBytes) {
    return Damaged(absl::StrCat("it has ", payload.size(), " bytes, fewer than a header's ", kHeaderBytes));
  }
  if (std::memcmp(payload.data(), kMagic, sizeof(kMagic)) != 0) {
    return Damaged("it does not begin with PDCPAYLD");
  }
  uint32_t version = Load<uint32_t>(payload, 8);
  if (version != kFormatVersion) {
    return absl::DataLossError(absl::StrCat("the executable's payload has format version ", version,
                                            ", this runtime reads version ", kFormatVersion,
                                            "; compile the model again with this pdc"));
  }
  uint32_t count = Load<uint32_t>(payload, 12);
  if (count > kMaxSections) return Damaged(absl::StrCat("it claims ", count, " sections"));
  uint64_t bytes = Load<uint64_t>(payload, 16);
  if (bytes != payload.size()) {
    return Damaged(absl::StrCat("it should have ", bytes, " bytes and has ", payload.size()));
  }
  size_t table_end = kHeaderBytes + count * kEntryBytes;
  if (payload.size() < table_end + kHashBytes) return Damaged("its table of sections is cut off");
  if (!HashMatches(payload.substr(0, table_end), payload.substr(table_end, kHashBytes))) {
    return Damaged("its table of sections does not match its hash");
  }
  return count;
}

bool AllZero(std::string_view bytes) { return bytes.find_first_not_of('\0') == std::string_view::npos; }

}  // namespace

std::string WritePayload(const Sections& sections) {
  size_t table_end = kHeaderBytes + sections.size() * kEntryBytes;
  uint64_t offset = RoundUp(table_end + kHashBytes);
  std::string table;
  for (const auto& [name, contents] : sections) {
    std::string padded = name.substr(0, kNameBytes - 1);
    padded.resize(kNameBytes, '\0');
    table += padded;
    Append<uint64_t>(table, offset);
    Append<uint64_t>(table, contents.size());
    Hash hash = HashOf(contents);
    table.append(reinterpret_cast<const char*>(hash.data()), hash.size());
    offset = RoundUp(offset + contents.size());
  }
  std::string payload;
  payload.reserve(offset);
  payload.append(kMagic, sizeof(kMagic));
  Append<uint32_t>(payload, kFormatVersion);
  Append<uint32_t>(payload, static_cast<uint32_t>(sections.size()));
  Append<uint64_t>(payload, offset);
  payload += table;
  Hash hash = HashOf(payload);
  payload.append(reinterpret_cast<const char*>(hash.data()), hash.size());
  for (const auto& [name, contents] : sections) {
    payload.resize(RoundUp(payload.size()), '\0');
    payload.append(contents);
  }
  payload.resize(offset, '\0');
  return payload;
}

absl::StatusOr<Sections> ReadPayload(std::string_view payload) {
  absl::StatusOr<uint32_t> count = ReadHeader(payload);
  if (!count.ok()) return count.status();
  Sections sections;
  uint64_t end = kHeaderBytes + *count * kEntryBytes + kHashBytes;
  for (uint32_t i = 0; i < *count; ++i) {
    size_t entry = kHeaderBytes + i * kEntryBytes;
    std::string name(payload.data() + entry, strnlen(payload.data() + entry, kNameBytes));
    uint64_t offset = Load<uint64_t>(payload, entry + kNameBytes);
    uint64_t bytes = Load<uint64_t>(payload, entry + kNameBytes + 8);
    if (offset % kAlignment != 0 || offset < end || offset > payload.size() ||
        bytes > payload.size() - offset) {
      return Damaged(absl::StrCat("section '", name, "' lies outside of it"));
    }
    if (!AllZero(payload.substr(end, offset - end))) {
      return Damaged(absl::StrCat("there are bytes before section '", name, "' that belong to nothing"));
    }
    std::string_view contents = payload.substr(offset, bytes);
    if (!HashMatches(contents, payload.substr(entry + kNameBytes + 16, kHashBytes))) {
      return Damaged(absl::StrCat("section '", name, "' does not match its hash"));
    }
    if (!sections.emplace(name, contents).second) {
      return Damaged(absl::StrCat("section '", name, "' stands twice"));
    }
    end = offset + bytes;
  }
  if (!AllZero(payload.substr(end))) return Damaged("there are bytes after the last section");
  return sections;
}

std::string PayloadHash(std::string_view payload) {
  std::string text;
  for (unsigned char byte : HashOf(payload)) absl::StrAppendFormat(&text, "%02x", byte);
  return text;
}

}  // namespace pdc::program
