#!/usr/bin/env bash
# Communicators between two hosts that are network namespaces, joined by a link of 1 Gb/s:
# TESTBED CONFORMANCE FAILING_JOB.
set -uo pipefail
testbed=$PWD/$1 conformance=$PWD/$2 failing_job=$PWD/$3
export PDC_TESTBED=across$$
if ! reason=$("$testbed" check 2>&1); then
  echo "SKIPPED: $reason"
  exit 0
fi
trap '"$testbed" down' EXIT
"$testbed" up --hosts=2 --rate=1gbit || exit 1

failures=0
failed() {
  echo "FAILED: $1"
  [ -z "${2:-}" ] || echo "$2"
  failures=$((failures + 1))
}
across() { timeout -k 1 120 "$testbed" run "$@" 2>&1; }

across -n 2 --per-host=1 "$conformance" --communicator=mpi --gtest_filter="*AllReduce*:*LargerThan*:*Messages*" || failed "conformance of mpi"
across -n 4 --per-host=2 "$conformance" --communicator=hierarchical || failed "conformance of hierarchical"

output=$(across -n 2 --per-host=1 "$failing_job" auto none)
[ "$(grep -c "finished over mpi" <<<"$output")" = 2 ] || failed "one rank on each host must choose mpi" "$output"
output=$(across -n 3 --per-host=2 "$failing_job" auto none)
[ "$(grep -c "finished over hierarchical" <<<"$output")" = 3 ] ||
  failed "two ranks on a host must choose hierarchical" "$output"

output=$(across -n 3 --per-host=2 "$failing_job" shared_memory none)
grep -q "needs all ranks on one node, and this job spans several; use --communicator=auto" <<<"$output" ||
  failed "shared memory between hosts must be refused" "$output"

output=$(across -n 3 --per-host=2 "$failing_job" auto stop)
grep -q "rank 2 did not answer within 1 s" <<<"$output" ||
  failed "a stopped rank on the other host must be named" "$output"

# A cut link: the job ends by itself, soon after the deadline, and says who waited for whom in which step.
log=$(mktemp)
timeout -k 1 90 "$testbed" run -n 4 --per-host=2 "$failing_job" auto endless >"$log" 2>&1 &
job=$!
for ((i = 0; i < 300; ++i)); do
  grep -q "under way" "$log" && break
  sleep 0.1
done
"$testbed" cut 1
begin=$SECONDS
wait "$job"
status=$?
seconds=$((SECONDS - begin))
[ "$status" -ne 0 ] || failed "a cut link must end the job" "$(cat "$log")"
[ "$seconds" -le 30 ] || failed "it took $seconds s to end a job whose link is cut" "$(cat "$log")"
grep -Eq "rank [01], step [0-9]+, instruction 17: all_reduce of 100 f32 .* timed out .*rank 2, rank 3 did not answer" \
  "$log" || failed "a cut link must be told with rank and step" "$(cat "$log")"
rm -f "$log"
exit $((failures > 0))
