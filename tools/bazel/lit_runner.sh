#!/usr/bin/env bash
# Runs lit over the files that follow "--"; the binaries before it are put on lit's PATH under their own names.
set -euo pipefail
bin=$(mktemp -d)
trap 'rm -rf "$bin"' EXIT
while [ "$1" != "--" ]; do
  ln -sf "$PWD/$1" "$bin/$(basename "$1")"
  shift
done
shift
export PDC_LIT_TOOLS="$bin" PDC_LIT_OUTPUT="${TEST_TMPDIR:-$bin}/lit"
exec /usr/lib/llvm-22/bin/lit -v ${XML_OUTPUT_FILE:+--xunit-xml-output="$XML_OUTPUT_FILE"} "$@"
