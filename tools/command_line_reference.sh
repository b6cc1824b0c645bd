#!/usr/bin/env bash
# command_line_reference.sh PDC MODEL: prints docs/command-line.md, from what pdc and an executable say of themselves.
set -euo pipefail
pdc=$(realpath "$1")
model=$(realpath "$2")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"$pdc" "$model" -o mlp --batch=64 --cpu=x86-64-v2

# section TITLE COMMAND...: the help that the command prints.
section() {
  printf '\n## %s\n\n```\n' "$1"
  shift
  "$@" | sed -e 's/[[:space:]]*$//' | sed -e '/./,$!d' | sed -e :a -e '/^\n*$/{$d;N;ba' -e '}'
  printf '```\n'
}

cat <<'HEAD'
<!-- Written by tools/update_reference.sh; change the options, not this file. -->

# Command lines

What `pdc --help`, `pdc COMMAND --help`, an executable's `--help` and its `COMMAND --help` print; the executable here is
one of `models/mlp.mlir`. Exit codes: 0 success; 1 an error, told in one line on standard error; 2 (executables) a
command line that cannot be understood; 128 + n, a training run that signal n ended after it saved a checkpoint.
HEAD
section "pdc" "$pdc" --help
section "pdc plan" "$pdc" plan --help
section "pdc compare" "$pdc" compare --help
section "pdc profile" "$pdc" profile --help
section "pdc place" "$pdc" place --help
section "pdc simulate" "$pdc" simulate --help
section "An executable" ./mlp --help
for command in train eval infer bench verify; do
  section "An executable: $command" ./mlp "$command" --help
done
