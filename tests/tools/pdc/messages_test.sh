#!/usr/bin/env bash
# What pdc says when it cannot do what it is asked: one message, its place, and nothing of its insides.
set -uo pipefail
pdc=$1 model=$2
status=0

# expect TEXT ARGUMENT...: pdc fails, and says TEXT in a message of at most three lines (a diagnostic shows its line).
expect() {
  local text=$1 output
  shift
  if output=$("$pdc" "$@" 2>&1); then
    echo "pdc $*: succeeds"
    status=1
  elif ! grep -qF -- "$text" <<<"$output"; then
    printf 'pdc %s: expected "%s", found\n%s\n' "$*" "$text" "$output"
    status=1
  elif [ "$(wc -l <<<"$output")" -gt 3 ]; then
    printf 'pdc %s: more than three lines\n%s\n' "$*" "$(head -c 1000 <<<"$output")"
    status=1
  fi
}

out=$TEST_TMPDIR/mlp
expect "the batch of model @mlp is not bound: give --batch=N" "$model" -o "$out"
expect "has a batch of 1 for 2 ranks" "$model" -o "$out" --batch=1 --ranks=2 --parallel=data
expect "more than --memory-limit=1048576" "$model" -o "$out" --batch=8 --memory-limit=1mb
expect "there is no schedule 'round-robin'" "$model" -o "$out" --batch=8 --ranks=2 --parallel=pipeline=2 --schedule=round-robin
expect "names the dimension 'head', which the model does not have" "$model" -o "$out" --batch=8 --ranks=2 --layout=head:data
expect "dimension 'in' is given twice" "$model" -o "$out" --batch=8 --ranks=2 --layout=in:data,in:tensor
expect "(pdc place --help lists the options)" place
expect "there is no such search" "$model" -o "$out" --batch=8 --ranks=2 --search=best
expect "more than --memory-limit=1000" "$model" -o "$out" --batch=8 --ranks=2 --memory-limit=1000
expect "more than --memory-limit=1000" "$model" -o "$out" --batch=8 --ranks=2 --search=random --memory-limit=1000
expect "uses 3 ranks, but --ranks=2" "$model" -o "$out" --batch=8 --ranks=2 --parallel=data=3
expect "no output: give -o EXECUTABLE" "$model" --batch=8
expect "there is no such phase" "$model" --batch=8 --to=fusd
expect "No such file or directory" missing.mlir -o "$out" --batch=8
expect "neither an executable nor a plan (it has no nn.step)" plan "$model"
expect "not an executable made by pdc" plan /bin/true
expect "one rank leaves nothing to compare" compare "$model"
[ ! -e "$out" ] || { echo "a failed compilation left $out behind"; status=1; }
exit $status
