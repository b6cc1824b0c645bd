#!/usr/bin/env bash
# Installs what is missing, builds everything, runs every test. Last line: N passed, N failed.
#
#   tools/test.sh                      all tests
#   tools/test.sh //tests/passes/...   some of them
#   tools/test.sh --config=asan        all, with an address sanitizer (also ubsan, tsan)
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
tools/setup.sh || exit 1

flags=() targets=()
for argument in "$@"; do
  case "$argument" in
    -*) flags+=("$argument") ;;
    *) targets+=("$argument") ;;
  esac
done
[ ${#targets[@]} -gt 0 ] || targets=(//...)

events=$(mktemp)
trap 'rm -f "$events"' EXIT
bazel test --keep_going --build_event_json_file="$events" "${flags[@]}" -- "${targets[@]}"
status=$?
# The last line is this one's; it fails when a test or the build failed, or when no test ran.
python3 tools/test/summarize.py "$events" "$status"
