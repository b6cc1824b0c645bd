#include "runtime/device/cpu/features.h"

#include <gtest/gtest.h>

namespace pdc::device {
namespace {

constexpr char kCpuInfo[] = "processor\t: 0\nflags\t\t: fpu sse4_2 avx avx2 fma\nbugs\t\t:\n";

TEST(CpuFeatures, OfThisMachineAreThere) { EXPECT_TRUE(CheckCpuFeatures("+sse4.2,+tune-something").ok()); }

TEST(CpuFeatures, ThatAreThereOrNotAskedForAreAccepted) {
  EXPECT_TRUE(CheckCpuFeatures("+avx2,+fma,-avx512f,+prefer-256-bit", kCpuInfo).ok());
  EXPECT_TRUE(CheckCpuFeatures("", kCpuInfo).ok());
}

TEST(CpuFeatures, ThatAreMissingAreNamed) {
  absl::Status status = CheckCpuFeatures("+avx2,+avx512f", kCpuInfo);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(status.message().find("avx512f, which this one lacks"), absl::string_view::npos) << status;
}

}  // namespace
}  // namespace pdc::device
