#!/usr/bin/env bash
# Runs the conformance tests of a communicator under mpiexec: PROGRAM COMMUNICATOR RANKS [RANKS_PER_NODE], where
# ranks of this machine behave as if they were on nodes of so many.
set -euo pipefail
[ -z "${4:-}" ] || export PDC_RANKS_PER_NODE=$4
exec timeout 250 mpiexec --oversubscribe -n "$3" "$1" --communicator="$2"
