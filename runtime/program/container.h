// The payload of an executable: named sections, each with its hash, in one ELF section (".pdc") of the
// launcher's copy.
#ifndef PDC_RUNTIME_PROGRAM_CONTAINER_H_
#define PDC_RUNTIME_PROGRAM_CONTAINER_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace pdc::program {

inline constexpr uint32_t kFormatVersion = 2;
inline constexpr char kElfSection[] = ".pdc";

// Section names. kProgramSection: a FlatBuffer of program.fbs. kKernelsSection: an ELF shared object.
// kReportSection: the plan report as JSON. kModelSection: the model's IR as text.
inline constexpr char kProgramSection[] = "program";
inline constexpr char kKernelsSection[] = "kernels";
inline constexpr char kReportSection[] = "report";
inline constexpr char kModelSection[] = "model";

// name -> contents.
using Sections = std::map<std::string, std::string_view>;

// The payload's bytes; deterministic. Contents are aligned to 64 bytes.
std::string WritePayload(const Sections& sections);

// Views into `payload`. DATA_LOSS with the section's name when a hash, a bound or the version is not right:
// nothing of a damaged payload is used. Does not verify the FlatBuffer: see reader.h.
absl::StatusOr<Sections> ReadPayload(std::string_view payload);

// 128 bits over the whole payload, as hexadecimal text: what ranks compare at start.
std::string PayloadHash(std::string_view payload);

}  // namespace pdc::program

#endif  // PDC_RUNTIME_PROGRAM_CONTAINER_H_
