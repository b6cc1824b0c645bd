#!/usr/bin/env bash
# The committed reference of the command line is what pdc and an executable print.
set -euo pipefail
"$1" "$2" "$3" >"$TEST_TMPDIR/command-line.md"
if ! diff -u "$4" "$TEST_TMPDIR/command-line.md"; then
  echo "docs/command-line.md is out of date: run tools/update_reference.sh" >&2
  exit 1
fi
