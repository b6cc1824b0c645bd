#!/usr/bin/env bash
# Installs what pdc is built from, tested with and run by: Debian packages only. Quick when nothing is missing.
# Works as root, or as a user with sudo.
set -euo pipefail

# Build tools; compiler libraries; runtime libraries; test libraries.
packages=(
  bazel-bootstrap bazel-rules-java bazel-rules-proto bazel-platforms bazel-skylib
  clang-22 lld-22 libclang-rt-22-dev python3
  libmlir-22-dev llvm-22-dev mlir-22-tools llvm-22-tools liblld-22-dev zlib1g-dev libzstd-dev
  libopenmpi-dev openmpi-bin openssh-client libabsl-dev libdnnl-dev
  nlohmann-json3-dev libyaml-cpp-dev libcli11-dev libflatbuffers-dev flatbuffers-compiler libxxhash-dev
  libgtest-dev libgmock-dev libbenchmark-dev coinor-libcbc-dev iproute2
)

missing=()
installed=$(dpkg-query -W -f='${db:Status-Abbrev} ${Package}\n' 2>/dev/null | sed -n 's/^ii  *//p')
for package in "${packages[@]}"; do
  grep -qx -- "$package" <<<"$installed" || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || { echo "setup.sh: these packages are missing and neither root nor sudo is here to install them: ${missing[*]}" >&2; exit 1; }
  as_root=(sudo)
fi
echo "setup.sh: installing ${missing[*]}" >&2
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
