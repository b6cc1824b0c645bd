#!/usr/bin/env bash
# Writes the references below docs/ that are generated from definitions.
set -euo pipefail
cd "$(dirname "$0")/.."
bazel build //dialects/nn/IR:nn_doc
install -m 644 bazel-bin/dialects/nn/IR/nn.md docs/dialects/nn.md
