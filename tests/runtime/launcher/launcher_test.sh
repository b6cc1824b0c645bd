#!/usr/bin/env bash
# An executable of two ranks under mpiexec, from the command line to files: launcher_test.sh LAUNCHER MAKE_EXECUTABLE.
set -euo pipefail

folder=$(mktemp -d "${TEST_TMPDIR:-/tmp}/launcher.XXXXXX")
trap 'rm -rf "$folder"' EXIT
exe=$folder/model
"$2" "$folder/payload" 2
llvm-objcopy "--add-section=.pdc=$folder/payload" "$1" "$exe"
chmod +x "$exe"
printf 'the quick brown fox jumps over the lazy dog, again and again' > "$folder/text"

fail() {
  echo "FAILED: $1"
  [ $# -lt 2 ] || cat "$2"
  exit 1
}
# run NAME RANKS ARGUMENTS...: output in $folder/NAME.out and .err, exit code in $code.
run() {
  local name=$1 ranks=$2
  shift 2
  code=0
  timeout 60 mpiexec --oversubscribe -n "$ranks" "$exe" "$@" > "$folder/$name.out" 2> "$folder/$name.err" || code=$?
}
expect() { # expect FILE TEXT
  grep -qF -- "$2" "$folder/$1" || fail "no '$2' in $1" "$folder/$1"
}

run train 2 train --data="$folder/text" --steps=3 --log="$folder/log" --checkpoint="$folder/c" --trace="$folder/trace"
[ "$code" = 0 ] || fail "train ended with $code" "$folder/train.err"
expect train.out "step 3/3  loss 3.0000"
# Into a file progress is plain lines.
[ "$(grep -c '^step ' "$folder/train.out")" = 3 ] || fail "not a plain line for each step" "$folder/train.out"
if grep -q $'\x1b' "$folder/train.out"; then fail "a progress bar in a file" "$folder/train.out"; fi
[ "$(grep -c '"loss":3.0' "$folder/log")" = 3 ] || fail "the log has not three steps of loss 3" "$folder/log"
[ "$(cat "$folder/c/latest")" = step-00000003 ] || fail "no checkpoint of step 3"
expect trace '"rank 1"'
expect trace '"contribution"'

run resume 2 train --data="$folder/text" --steps=5 --log="$folder/log" --checkpoint="$folder/c" --resume
[ "$code" = 0 ] || fail "resume ended with $code" "$folder/resume.err"
[ "$(wc -l < "$folder/log")" = 5 ] || fail "the log has not five steps" "$folder/log"

run bench 2 bench --steps=3 --json="$folder/json"
[ "$code" = 0 ] || fail "bench ended with $code" "$folder/bench.err"
expect json '"step_times"'

run count 1 train --data="$folder/text" --steps=1
[ "$code" != 0 ] || fail "one rank was enough"
expect count.err "compiled for 2 ranks, started on 1: run mpiexec -n 2 $exe"

run missing 2 train --data="$folder/nothing" --steps=1
[ "$code" != 0 ] || fail "missing data was no error"
[ "$(grep -c "cannot open '$folder/nothing'" "$folder/missing.err")" = 1 ] || fail "not one line" "$folder/missing.err"

run full 2 train --data="$folder/text" --steps=1000 --log=/dev/full
[ "$code" != 0 ] || fail "a full disk was no error"
expect full.err "rank 0, step 1: cannot write '/dev/full': No space left on device"

"$exe" --version | grep -qF "launcher_test" || fail "--version"

# One changed byte of the payload.
size=$(stat -c %s "$exe")
offset=$(grep -abo 'launcher_test' "$exe" | tail -1 | cut -d: -f1)
cp "$exe" "$folder/damaged"
printf 'X' | dd of="$folder/damaged" bs=1 seek="$offset" conv=notrunc status=none
if [ "$size" != "$(stat -c %s "$folder/damaged")" ]; then fail "the damaged copy has another size"; fi
if "$folder/damaged" train --data="$folder/text" --steps=1 2> "$folder/damaged.err"; then fail "a damaged payload ran"; fi
expect damaged.err "program"
echo PASSED
