#!/usr/bin/env bash
# The committed reference of the nn dialect is what its definitions generate.
set -euo pipefail
if ! diff -u "$2" "$1"; then
  echo "docs/dialects/nn.md is out of date: run tools/update_reference.sh" >&2
  exit 1
fi
