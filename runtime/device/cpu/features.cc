#include "runtime/device/cpu/features.h"

#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace pdc::device {
namespace {

// The instruction sets that vectorized code uses, where LLVM's name and Linux's differ or not.
struct Feature {
  absl::string_view llvm, linux_name;
};

constexpr Feature kFeatures[] = {
    {"sse3", "pni"},
    {"ssse3", "ssse3"},
    {"sse4.1", "sse4_1"},
    {"sse4.2", "sse4_2"},
    {"popcnt", "popcnt"},
    {"avx", "avx"},
    {"f16c", "f16c"},
    {"fma", "fma"},
    {"avx2", "avx2"},
    {"bmi", "bmi1"},
    {"bmi2", "bmi2"},
    {"lzcnt", "abm"},
    {"movbe", "movbe"},
    {"avxvnni", "avx_vnni"},
    {"avx512f", "avx512f"},
    {"avx512bw", "avx512bw"},
    {"avx512cd", "avx512cd"},
    {"avx512dq", "avx512dq"},
    {"avx512vl", "avx512vl"},
    {"avx512ifma", "avx512ifma"},
    {"avx512vbmi", "avx512vbmi"},
    {"avx512vbmi2", "avx512_vbmi2"},
    {"avx512vnni", "avx512_vnni"},
    {"avx512bitalg", "avx512_bitalg"},
    {"avx512vpopcntdq", "avx512_vpopcntdq"},
    {"avx512bf16", "avx512_bf16"},
    {"avx512fp16", "avx512_fp16"},
    {"amx-tile", "amx_tile"},
    {"amx-int8", "amx_int8"},
    {"amx-bf16", "amx_bf16"},
    {"gfni", "gfni"},
    {"vaes", "vaes"},
    {"vpclmulqdq", "vpclmulqdq"},
};

std::set<std::string> LinuxFlags(absl::string_view cpuinfo) {
  for (absl::string_view line : absl::StrSplit(cpuinfo, '\n')) {
    if (line.substr(0, 5) != "flags") continue;
    std::vector<std::string> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
    return {words.begin(), words.end()};
  }
  return {};
}

}  // namespace

absl::Status CheckCpuFeatures(std::string_view required, std::string_view cpuinfo) {
  std::set<std::string> flags = LinuxFlags(absl::string_view(cpuinfo.data(), cpuinfo.size()));
  for (absl::string_view entry : absl::StrSplit(absl::string_view(required.data(), required.size()), ',')) {
    if (entry.empty() || entry.front() != '+') continue;
    for (const Feature& feature : kFeatures) {
      if (feature.llvm != entry.substr(1) || flags.count(std::string(feature.linux_name)) != 0) continue;
      return absl::FailedPreconditionError(absl::StrCat(
          "the kernels were generated for a processor with ", feature.llvm,
          ", which this one lacks; compile the model again on this machine or for a portable target"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckCpuFeatures(std::string_view required) {
  std::ifstream file("/proc/cpuinfo");
  std::stringstream text;
  text << file.rdbuf();
  // Where Linux lists nothing, nothing is known to be missing.
  if (text.str().find("flags") == std::string::npos) return absl::OkStatus();
  return CheckCpuFeatures(required, text.str());
}

}  // namespace pdc::device
