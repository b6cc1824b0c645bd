#!/usr/bin/env bash
# Every model of docs/tutorial.md compiles: tutorial_test.sh PDC TUTORIAL.
set -euo pipefail
awk -v folder="$TEST_TMPDIR" '
  /^```mlir$/ { inside = 1; file = folder "/model" ++count ".mlir"; next }
  /^```$/ { inside = 0 }
  inside { print > file }' "$2"
models=("$TEST_TMPDIR"/model*.mlir)
[ ${#models[@]} -ge 2 ] || { echo "$2 has ${#models[@]} models"; exit 1; }
for model in "${models[@]}"; do
  "$1" "$model" -o "${model%.mlir}" --batch=32 --ranks=2 --parallel=data
  "${model%.mlir}" --version
done
