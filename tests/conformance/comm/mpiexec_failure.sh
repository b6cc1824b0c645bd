#!/usr/bin/env bash
# A job in which one rank fails ends in bounded time with an error that says who and where: PROGRAM COMMUNICATOR.
set -uo pipefail
program=$1 communicator=$2
failures=0

# Nodes of two ranks; the last of three ranks, which fails, is alone on the second, the last of four is not.
[ "$communicator" != hierarchical ] || export PDC_RANKS_PER_NODE=2
ranks=3

# run SCENARIO EXPECTED_TEXT...: the job must fail within 20 seconds and print each text.
run() {
  local scenario=$1 output status begin=$SECONDS
  shift
  output=$(timeout -k 1 40 mpiexec --oversubscribe -n "$ranks" "$program" "$communicator" "$scenario" 2>&1)
  status=$?
  local seconds=$((SECONDS - begin))
  local problem=""
  [ $status -ne 0 ] || problem+=" it exited with 0;"
  [ $seconds -le 20 ] || problem+=" it took $seconds s;"
  for text in "$@"; do
    grep -qF -- "$text" <<<"$output" || problem+=" missing: $text;"
  done
  if [ -n "$problem" ]; then
    echo "FAILED $communicator, $scenario:$problem"
    echo "$output"
    failures=$((failures + 1))
  else
    echo "passed $communicator, $scenario ($seconds s)"
  fi
}

place="step 3, instruction 17: all_reduce of 100 f32 over ranks [0, 1, 2] timed out after 2."
if [ "$communicator" != shared_memory ]; then
  run stop "$place" "rank 2 did not answer within 1 s"
  run late "$place" "nothing came from rank 2 (last at step 3, instruction 12)"
  run abort "[rank 2] error: the job ends: RESOURCE_EXHAUSTED: no space left on device"
else
  run stop "$place" "rank 2 (last at step 3, instruction 12) has not arrived"
  run late "$place" "rank 2 (last at step 3, instruction 12) has not arrived"
  run abort "[rank 2] error: the job ends: RESOURCE_EXHAUSTED: no space left on device" \
    "FAILED ABORTED: rank 2 ended the job: no space left on device"
fi
run kill
run exit
if [ "$communicator" = hierarchical ]; then
  ranks=4
  place="step 3, instruction 17: all_reduce of 100 f32 over ranks [0, 1, 2, 3] timed out after 2."
  run stop "$place" "rank 3 (last at step 3, instruction 12) has not arrived"
  run abort "[rank 3] error: the job ends: RESOURCE_EXHAUSTED: no space left on device" \
    "FAILED ABORTED: rank 3 ended the job: no space left on device"
fi

# Without a mistake the same job succeeds, also as a single process without mpiexec.
if ! timeout 40 mpiexec --oversubscribe -n 3 "$program" "$communicator" none; then
  echo "FAILED $communicator without a mistake"
  failures=$((failures + 1))
fi
if ! env -u OMPI_COMM_WORLD_SIZE timeout 40 "$program" auto none; then
  echo "FAILED without mpiexec"
  failures=$((failures + 1))
fi
exit $((failures > 0))
