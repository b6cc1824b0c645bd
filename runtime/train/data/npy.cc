#include "runtime/train/data/npy.h"

#include <cctype>
#include <cstring>
#include <optional>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "runtime/train/atomic_file.h"

namespace pdc::train {
namespace {

constexpr char kMagic[] = "\x93NUMPY";
constexpr size_t kMagicBytes = 6;

absl::Status Malformed(const std::string& path, const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat("'", path, "' is not a .npy file that can be read: ", what));
}

// The text after "'key':" in the header's dictionary, without leading blanks.
std::optional<std::string> ValueOf(const std::string& header, const std::string& key) {
  const size_t at = header.find(absl::StrCat("'", key, "'"));
  if (at == std::string::npos) return std::nullopt;
  const size_t colon = header.find(':', at);
  if (colon == std::string::npos) return std::nullopt;
  const size_t value = header.find_first_not_of(' ', colon + 1);
  if (value == std::string::npos) return std::nullopt;
  return header.substr(value);
}

std::optional<StoredType> ParseDescription(const std::string& description) {
  struct Known {
    const char* text;
    StoredType type;
  };
  static constexpr Known kKnown[] = {
      {"|u1", StoredType::kU8},  {"<u1", StoredType::kU8},  {"|i1", StoredType::kI8},
      {"<u2", StoredType::kU16}, {"<i4", StoredType::kI32}, {"<i8", StoredType::kI64},
      {"<f2", StoredType::kF16}, {"<f4", StoredType::kF32}, {"<f8", StoredType::kF64},
      {"|b1", StoredType::kU8},
  };
  for (const Known& known : kKnown) {
    if (description == known.text) return known.type;
  }
  return std::nullopt;
}

// "(3, 4)", "(3,)", "()".
std::optional<Shape> ParseShape(const std::string& text) {
  if (text.empty() || text[0] != '(') return std::nullopt;
  const size_t end = text.find(')');
  if (end == std::string::npos) return std::nullopt;
  Shape shape;
  int64_t elements = 1;
  const std::string inside = text.substr(1, end - 1);
  for (absl::string_view part : absl::StrSplit(inside, ',', absl::SkipWhitespace())) {
    int64_t dim;
    if (!absl::SimpleAtoi(part, &dim) || dim < 0) return std::nullopt;
    if (__builtin_mul_overflow(elements, dim, &elements) || elements > (int64_t{1} << 56))
      return std::nullopt;
    shape.push_back(dim);
  }
  return shape;
}

std::optional<std::string> DescriptionOf(program::ElementType type) {
  switch (type) {
    case program::ElementType::kF32:
    case program::ElementType::kBF16:
      return "<f4";
    case program::ElementType::kF64:
      return "<f8";
    case program::ElementType::kF16:
      return "<f2";
    case program::ElementType::kI32:
      return "<i4";
    case program::ElementType::kI64:
      return "<i8";
    case program::ElementType::kI8:
      return "|i1";
    case program::ElementType::kU8:
      return "|u1";
    case program::ElementType::kI1:
      return "|b1";
  }
  return std::nullopt;
}

std::string Header(const std::string& description, const Shape& shape) {
  std::string dims = absl::StrJoin(shape, ", ");
  if (shape.size() == 1) dims += ",";
  std::string dictionary =
      absl::StrCat("{'descr': '", description, "', 'fortran_order': False, 'shape': (", dims, "), }");
  // The data begins at a multiple of 64 bytes: 10 bytes stand before the dictionary, a newline ends it.
  const size_t length = (10 + dictionary.size() + 1 + 63) / 64 * 64 - 10;
  dictionary.append(length - 1 - dictionary.size(), ' ');
  dictionary += '\n';
  std::string header(kMagic, kMagicBytes);
  header += '\x01';
  header += '\x00';
  header += static_cast<char>(length & 255);
  header += static_cast<char>(length >> 8);
  return header + dictionary;
}

}  // namespace

absl::StatusOr<NpyArray> ReadNpy(const std::string& path) {
  auto file = MappedFile::Open(path);
  if (!file.ok()) return file.status();
  const std::byte* bytes = (*file)->data();
  const size_t size = (*file)->size();
  if (size < 12 || std::memcmp(bytes, kMagic, kMagicBytes) != 0) {
    return Malformed(path, "it does not begin with the bytes '\\x93NUMPY'");
  }
  const int version = static_cast<int>(bytes[6]);
  if (version < 1 || version > 3)
    return Malformed(path, absl::StrCat("format version ", version, ", expected 1 to 3"));
  const size_t length_bytes = version == 1 ? 2 : 4;
  uint32_t length = 0;
  std::memcpy(&length, bytes + 8, length_bytes);
  const size_t data_start = 8 + length_bytes + length;
  if (data_start > size) {
    return absl::DataLossError(absl::StrCat("'", path, "' is truncated: its header needs ", data_start,
                                            " bytes, the file has ", size));
  }
  const std::string header(reinterpret_cast<const char*>(bytes) + 8 + length_bytes, length);

  const std::optional<std::string> description = ValueOf(header, "descr");
  if (!description || (*description)[0] != '\'')
    return Malformed(path, "no plain element type in its header");
  const std::string type_text = description->substr(1, description->find('\'', 1) - 1);
  const std::optional<StoredType> type = ParseDescription(type_text);
  if (!type) {
    return Malformed(path, absl::StrCat("element type '", type_text,
                                        "'; expected u1, i1, u2, i4, i8, f2, f4 or f8, little-endian"));
  }
  const std::optional<std::string> order = ValueOf(header, "fortran_order");
  if (!order || !absl::StartsWith(*order, "False")) {
    return Malformed(path, "it is in Fortran order; write it with numpy.ascontiguousarray");
  }
  const std::optional<std::string> shape_text = ValueOf(header, "shape");
  const std::optional<Shape> shape = shape_text ? ParseShape(*shape_text) : std::nullopt;
  if (!shape) return Malformed(path, "no shape in its header");

  const size_t expected = data_start + static_cast<size_t>(ElementCount(*shape)) * StoredBytes(*type);
  if (size != expected) {
    return absl::DataLossError(absl::StrCat("'", path, "' holds an array of shape ", ShapeText(*shape),
                                            " of ", StoredTypeName(*type), " and must have ", expected,
                                            " bytes; it has ", size));
  }
  return NpyArray{*file, *type, *shape, bytes + data_start};
}

absl::Status WriteNpy(const std::string& path, program::ElementType type, const Shape& shape,
                      const std::byte* data) {
  const std::optional<std::string> description = DescriptionOf(type);
  if (!description) return absl::InvalidArgumentError(absl::StrCat("'", path, "': ", ElementTypeName(type)));
  auto file = AtomicFile::Create(path);
  if (!file.ok()) return file.status();
  const std::string header = Header(*description, shape);
  if (absl::Status status = (*file)->Write(header.data(), header.size()); !status.ok()) return status;
  const int64_t count = ElementCount(shape);
  if (type == program::ElementType::kBF16) {
    std::vector<float> wide(count);
    for (int64_t i = 0; i < count; ++i) wide[i] = static_cast<float>(ElementAsDouble(type, data, i));
    if (absl::Status status = (*file)->Write(wide.data(), wide.size() * sizeof(float)); !status.ok())
      return status;
  } else if (absl::Status status = (*file)->Write(data, count * ElementBytes(type)); !status.ok()) {
    return status;
  }
  return (*file)->Commit();
}

}  // namespace pdc::train
