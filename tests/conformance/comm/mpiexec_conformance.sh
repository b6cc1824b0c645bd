#!/usr/bin/env bash
# Runs the conformance tests of a communicator under mpiexec: PROGRAM COMMUNICATOR RANKS.
set -euo pipefail
exec timeout 250 mpiexec --oversubscribe -n "$3" "$1" --communicator="$2"
