#!/usr/bin/env bash
# Writes the references below docs/ that are generated from definitions, and from what pdc says of itself.
set -euo pipefail
cd "$(dirname "$0")/.."
bazel build //dialects/nn/IR:nn_doc //dialects/dist/IR:dist_doc //dialects/rt/IR:rt_doc //passes:passes_doc //tools/pdc
for dialect in nn dist rt; do
  install -m 644 "bazel-bin/dialects/$dialect/IR/$dialect.md" "docs/dialects/$dialect.md"
done
install -m 644 bazel-bin/passes/passes.md docs/passes.md
tools/command_line_reference.sh bazel-bin/tools/pdc/pdc models/mlp.mlir >docs/command-line.md
