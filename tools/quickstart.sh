#!/usr/bin/env bash
# From a fresh Debian machine to a trained model: installs what is missing, builds pdc, compiles a small GPT for two
# ranks, shows its plan, and trains it under mpiexec on text that every Debian machine has.
#
#   tools/quickstart.sh [--steps=N]      default 100
#
# Works from any folder, as root or with sudo; quick when nothing has changed. What it makes lies in
# ${PDC_QUICKSTART_DIR:-~/.cache/pdc-quickstart}.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

steps=100
for argument in "$@"; do
  case "$argument" in
    --steps=*) steps=${argument#--steps=} ;;
    -h | --help) sed -n '2,9s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    *) echo "quickstart.sh: unknown argument '$argument' (--help tells more)" >&2; exit 2 ;;
  esac
done

tools/setup.sh
bazel build //tools/pdc
out=${PDC_QUICKSTART_DIR:-$HOME/.cache/pdc-quickstart}
mkdir -p "$out"

# Licences are part of every Debian system (package base-files): a few hundred kilobytes of plain English.
cat /usr/share/common-licenses/{Apache-2.0,Artistic,GFDL-1.3,GPL-2,GPL-3,LGPL-2.1,MPL-1.1,MPL-2.0} >"$out/text.txt"

bazel-bin/tools/pdc/pdc models/gpt_tiny.mlir -o "$out/gpt" --batch=16 --ranks=2 --parallel=data --optimizer=adamw
bazel-bin/tools/pdc/pdc plan "$out/gpt"

# mpiexec refuses root unless told, and more ranks than cores unless told.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
mpiexec -n 2 "$out/gpt" train --data="$out/text.txt" --steps="$steps" --lr=1e-3
