#!/usr/bin/env bash
# up_to_date.sh GENERATED COMMITTED: fails, with the difference, when the committed file is not the generated one.
set -euo pipefail
if ! diff -u "$2" "$1"; then
  echo "$2 is out of date: run tools/update_reference.sh" >&2
  exit 1
fi
