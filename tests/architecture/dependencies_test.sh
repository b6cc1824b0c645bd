#!/usr/bin/env bash
# Each argument is the answer to a query for what breaks a rule about dependencies: it must be empty.
status=0
for answer in "$@"; do
  if [ -s "$answer" ]; then
    echo "$(basename "$answer"): broken by"
    sed 's/^/  /' "$answer"
    status=1
  fi
done
exit $status
