#!/usr/bin/env bash
# The MPI communicator between two hosts that are network namespaces, joined by a link: CONFORMANCE FAILING_JOB.
set -uo pipefail
conformance=$PWD/$1 failing_job=$PWD/$2
id=$$
a=pdc${id}a b=pdc${id}b network=10.$((id / 250 % 250)).$((id % 250))
work=$(mktemp -d)

skip() {
  echo "SKIPPED: $1"
  exit 0
}
clean_up() {
  ip netns del "$a" 2>/dev/null
  ip netns del "$b" 2>/dev/null
  rm -rf "$work"
}
trap clean_up EXIT

command -v ip >/dev/null || skip "no ip command (package iproute2)"
ip netns add "$a" 2>/dev/null && ip netns add "$b" 2>/dev/null || skip "network namespaces need root"
ip link add "v$id" netns "$a" type veth peer name "v$id" netns "$b" 2>/dev/null || skip "no veth devices"
ip -n "$a" addr add "$network.1/24" dev "v$id"
ip -n "$b" addr add "$network.2/24" dev "v$id"
for host in "$a" "$b"; do
  ip -n "$host" link set lo up
  ip -n "$host" link set "v$id" up
done

# Takes the place of ssh: drops its options, then runs the command on the host.
cat >"$work/agent" <<'AGENT'
#!/usr/bin/env bash
while [[ $1 == -* ]]; do shift; done
host=$1
shift
exec ip netns exec "$host" bash -c "$*"
AGENT
chmod +x "$work/agent"

across() {
  timeout -k 1 120 ip netns exec "$a" mpiexec --mca plm_rsh_agent "$work/agent" --mca btl tcp,self \
    --mca btl_tcp_if_include "$network.0/24" --mca oob_tcp_if_include "$network.0/24" \
    -x OMPI_MCA_mpi_yield_when_idle=1 -H "$a:2,$b:2" --oversubscribe "$@" 2>&1
}

failures=0
if ! across -n 3 "$conformance" --communicator=mpi; then
  echo "FAILED: conformance between hosts"
  failures=1
fi

output=$(across -n 3 "$failing_job" auto none)
if [ "$(grep -c "finished over mpi" <<<"$output")" != 3 ]; then
  echo "FAILED: ranks on two hosts must choose mpi"
  echo "$output"
  failures=1
fi

output=$(across -n 3 "$failing_job" shared_memory none)
if ! grep -q "needs all ranks on one node, and this job spans several; use --communicator=mpi" <<<"$output"; then
  echo "FAILED: shared memory between hosts must be refused"
  echo "$output"
  failures=1
fi

output=$(across -n 3 "$failing_job" auto stop)
if ! grep -q "rank 2 did not answer within 1 s" <<<"$output"; then
  echo "FAILED: a stopped rank on the other host must be named"
  echo "$output"
  failures=1
fi
exit $failures
