#!/usr/bin/env bash
# Hosts out of network namespaces, joined by a switch through links of a given rate, on which mpiexec starts ranks over
# TCP: see README.md beside this file.
set -euo pipefail

usage() {
  cat <<'USAGE'
usage: testbed.sh COMMAND [--name=NAME] ...

  check                                  says whether testbeds work here; exit code 1 and the reason if not
  up [--hosts=N] [--rate=RATE]           makes N hosts (2 to 4, default 2), each on a full-duplex link of RATE
                                         (1gbit, 10gbit, any rate of tc, or unshaped; default 1gbit)
  run [-n N] [--per-host=M] PROGRAM ...  mpiexec across the hosts, M ranks on each (default 1), N in all (default
                                         all that fit); mpiexec's own options may stand before PROGRAM
  exec HOST PROGRAM ...                  runs a program on one host; hosts are counted from 0
  cut HOST, mend HOST                    takes a host's link down, and up again
  down                                   ends what runs on the hosts and removes them
  with [--hosts=N] [--rate=RATE] -- ...  up, then a command with PDC_TESTBED=NAME in its environment, then down

Testbeds of different names do not see each other. The default name is that of PDC_TESTBED, or else "default".
USAGE
}

die() {
  echo "testbed: $*" >&2
  exit 1
}

name=${PDC_TESTBED:-default}
hosts=2
rate=1gbit
subnet=10.77.0  # the same in every testbed: namespaces are worlds of their own

switch_of() { echo "pdc-$name-switch"; }
host_of() { echo "pdc-$name-h$1"; }
# The names of the hosts that exist, in order.
existing_hosts() { ip netns list 2>/dev/null | awk '{print $1}' | grep -E "^pdc-$name-h[0-9]+\$" | sort || true; }

# Prints why testbeds cannot work here; nothing if they can.
obstacle() {
  local program probe="pdc-probe-$$" reason=""
  for program in ip tc; do
    command -v "$program" >/dev/null || { echo "no '$program' command (package iproute2)"; return; }
  done
  [ "$(id -u)" = 0 ] || { echo "network namespaces need root, and this is user $(id -un)"; return; }
  if ! ip netns add "$probe" 2>/dev/null; then
    echo "network namespaces cannot be made (no CAP_NET_ADMIN or CAP_SYS_ADMIN, or a kernel without them)"
    return
  fi
  if ! ip -n "$probe" link add v0 type veth peer name v1 2>/dev/null; then
    reason="no veth devices in this kernel"
  elif ! ip -n "$probe" link add b0 type bridge 2>/dev/null; then
    reason="no bridge devices in this kernel"
  elif ! tc -n "$probe" qdisc add dev v0 root tbf rate 1gbit burst 128kb latency 50ms 2>/dev/null; then
    reason="no token bucket filter (tc tbf) in this kernel: links cannot be shaped"
  fi
  ip netns del "$probe"
  echo "$reason"
}

# shape NAMESPACE DEVICE: what leaves through the device is limited to $rate.
shape() {
  [ "$rate" = unshaped ] && return
  # The bucket holds what may pass unlimited after a pause: half a large packet, or else messages of that size see no link at
  # all, and pipelines, whose messages come after pauses, little of it.
  # At 10 Gb/s it must last between two ticks of the timer.
  local burst=32kb
  case $rate in *gbit) [ "${rate%gbit}" -le 1 ] 2>/dev/null || burst=256kb ;; esac
  tc -n "$1" qdisc add dev "$2" root tbf rate "$rate" burst "$burst" latency 50ms ||
    die "'$rate' is not a rate (for example 1gbit, 10gbit, 300mbit, unshaped)"
}

up() {
  [[ $hosts =~ ^[2-4]$ ]] || die "--hosts=$hosts: expected 2, 3 or 4"
  local reason i host switch
  reason=$(obstacle)
  [ -z "$reason" ] || die "cannot work here: $reason"
  down
  trap down EXIT  # whatever goes wrong leaves nothing behind
  switch=$(switch_of)
  ip netns add "$switch"
  ip -n "$switch" link add bridge type bridge
  ip -n "$switch" link set bridge up
  for ((i = 0; i < hosts; ++i)); do
    host=$(host_of "$i")
    ip netns add "$host"
    ip link add eth0 netns "$host" type veth peer name "port$i" netns "$switch"
    ip -n "$switch" link set "port$i" master bridge
    shape "$host" eth0
    shape "$switch" "port$i"
    ip -n "$host" addr add "$subnet.$((i + 1))/24" dev eth0
    # A connection whose data is not acknowledged any more is given up after 13 s, not after a quarter of an hour: else
    # mpiexec, which tells its daemons to end a job, waits that long for one behind a cut link.
    ip netns exec "$host" bash -c 'echo 5 >/proc/sys/net/ipv4/tcp_retries2'
    ip -n "$host" link set lo up
    ip -n "$host" link set eth0 up
    ip -n "$switch" link set "port$i" up
  done
  trap - EXIT
}

down() {
  local space pids
  for space in $(existing_hosts) $(ip netns list 2>/dev/null | awk '{print $1}' | grep -Fx "$(switch_of)" || true); do
    pids=$(ip netns pids "$space")
    # shellcheck disable=SC2086  # a list
    [ -z "$pids" ] || kill -KILL $pids 2>/dev/null || true
    ip netns del "$space"
  done
}

need_host() {
  [ -n "${1:-}" ] || die "which host? (0, 1, ...)"
  existing_hosts | grep -qFx "$(host_of "$1")" || die "testbed '$name' has no host '$1' (testbed.sh up makes hosts)"
}

# on HOST PROGRAM ARGUMENT...: with the host's name as its host name, by which Open MPI knows nodes.
on() {
  local space=$1
  shift
  exec ip netns exec "$space" unshare --uts bash -c 'hostname "$0" && exec "$@"' "$space" "$@"
}

run() {
  local ranks="" per_host=1 list="" own=() host first
  while [ $# -gt 0 ]; do
    case $1 in
      -n | -np) [ $# -gt 1 ] || die "$1 needs a number of ranks"; ranks=$2; shift 2 ;;
      --per-host=*) per_host=${1#*=}; shift ;;
      --mca | -mca) own+=("$1" "$2" "$3"); shift 3 ;;
      -x) own+=("$1" "$2"); shift 2 ;;
      -*) own+=("$1"); shift ;;
      *) break ;;
    esac
  done
  [ $# -gt 0 ] || die "run: which program?"
  [[ $per_host =~ ^[1-9][0-9]*$ ]] || die "--per-host=$per_host: expected a number of ranks"
  need_host 0
  for host in $(existing_hosts); do
    list+="${list:+,}$host:$per_host"
  done
  ranks=${ranks:-$(($(existing_hosts | wc -l) * per_host))}
  first=$(host_of 0)
  # Control messages (oob) take the link as well, as on a cluster with one network. Daemons that have nothing to say
  # notice a cut link by keepalive probes, later than ranks do by the --timeout of a test, so that ranks say what
  # happened. vader serves communicators that want MPI messages inside a host. Hosts share the cores: bound, the first ranks
  # of all would be on the same one.
  on "$first" env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 PDC_TESTBED="$name" \
    mpiexec --bind-to none --mca plm_rsh_agent "$(readlink -f "$0") agent" --mca btl tcp,vader,self \
    --mca btl_tcp_if_include "$subnet.0/24" --mca oob_tcp_if_include "$subnet.0/24" \
    --mca oob_tcp_keepalive_time 20 --mca oob_tcp_keepalive_intvl 2 --mca oob_tcp_keepalive_probes 5 \
    --oversubscribe -x OMPI_MCA_mpi_yield_when_idle=1 -x PATH \
    -H "$list" -n "$ranks" ${own[@]+"${own[@]}"} "$@"
}

# Takes the place of ssh: drops its options, then runs the command on the host.
agent() {
  while [[ ${1:-} == -* ]]; do shift; done
  local space=$1
  shift
  on "$space" bash -c "$*"
}

with() {
  [ "${1:-}" = -- ] && shift
  [ $# -gt 0 ] || die "with: which command?"
  [ "$name" != default ] || name=with$$
  up
  trap down EXIT
  trap 'exit 130' INT TERM HUP
  local code=0
  PDC_TESTBED="$name" "$@" || code=$?
  exit "$code"
}

command=${1:-}
[ $# -eq 0 ] || shift
# The agent's words are mpiexec's; for the others, options of our own come first.
if [ "$command" != agent ]; then
  while [ $# -gt 0 ]; do
    case $1 in
      --name=*) name=${1#*=}; [[ $name =~ ^[A-Za-z0-9_]+$ ]] || die "--name=$name: letters, digits and _ only" ;;
      --hosts=*) hosts=${1#*=} ;;
      --rate=*) rate=${1#*=} ;;
      *) break ;;
    esac
    shift
  done
fi

case $command in
  check)
    reason=$(obstacle)
    [ -z "$reason" ] || die "cannot work here: $reason"
    ;;
  up) [ $# -eq 0 ] || die "up: unknown option '$1'"; up ;;
  down) down ;;
  run) run "$@" ;;
  exec)
    need_host "${1:-}"
    space=$(host_of "$1")
    shift
    [ $# -gt 0 ] || die "exec: which program?"
    on "$space" "$@"
    ;;
  cut) need_host "${1:-}"; ip -n "$(switch_of)" link set "port$1" down ;;
  mend) need_host "${1:-}"; ip -n "$(switch_of)" link set "port$1" up ;;
  agent) agent "$@" ;;
  with) with "$@" ;;
  help | --help | -h) usage ;;
  *) usage >&2; exit 2 ;;
esac
