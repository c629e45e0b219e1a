#!/bin/bash
# cluster.sh up STATE [--hosts N] [--rate RATE] [--leafs N] [--uplink RATE]: builds an emulated cluster, hosts h0 to h(N-1)
#            in the network namespaces of STATE, a folder that is empty, absent or an earlier cluster's; each has one interface e0 at 10.99.0.(i+1),
#            that sends and receives at RATE ("200mbit"). With --leafs 2 the hosts hang in two halves on two switches,
#            which are joined at the uplink rate (RATE without one): 4 hosts, 200 and 200 Mbit/s are 2:1.
# cluster.sh enter STATE HOST [--] COMMAND...: runs a command on a host; what mpirun and moesim-run call an agent is
#            `tests/cluster.sh enter STATE`.
# cluster.sh list STATE: "HOST ADDRESS LEAF" of each host.
# cluster.sh counters STATE: packets that a queue dropped and segments that TCP sent again, since `up`.
# cluster.sh down STATE: removes all of it, also what a broken `up` or a killed owner left.
# cluster.sh with STATE [OPTIONS] -- COMMAND...: up, the command with CLUSTER_STATE set, down whatever happens.
#
# Nothing is done in the namespace that it is called in: no address, no interface, no route. What a host is: veth pairs
# to a bridge, a token bucket at each end (transmit at the host, receive at the switch). The bucket holds 0.8 ms of the
# rate, so that a late wake-up of the kernel's timer loses none of it; the queue is deep, so that no packet is lost; TCP
# is reno without tail-loss probes. Packets of all connections of a host leave in turn, as those of a NIC's queue pairs,
# and its kernel takes 32 KiB ahead of them, so that copying a long message does not hold up the other hosts, which have
# the same processors. Exit status 77: no rights or no tools for it.
set -u

fail() { echo "cluster.sh: $*" >&2; exit 1; }
cannot() { echo "cluster.sh: $*" >&2; exit 77; }

# bytes_per_second 200mbit
bytes_per_second() {
    case $1 in
    *[!0-9]*mbit | *[!0-9]*gbit | mbit | gbit) fail "rate $1: expected a number and mbit or gbit" ;;
    *mbit) echo $((${1%mbit} * 125000)) ;;
    *gbit) echo $((${1%gbit} * 125000000)) ;;
    *) fail "rate $1: expected a number and mbit or gbit, such as 200mbit" ;;
    esac
}

need() {
    [ "$(id -u)" -eq 0 ] || cannot "needs root for network namespaces"
    for tool in ip tc ethtool sysctl nsenter unshare; do
        command -v $tool >/dev/null || cannot "needs $tool"
    done
    probe=moesim-probe-$$
    ip netns add $probe 2>/dev/null || cannot "cannot make a network namespace"
    ip netns del $probe
}

# bucket NAMESPACE INTERFACE RATE
bucket() {
    Bps=$(bytes_per_second "$3") || exit 1
    burst=$((Bps / 1250))
    [ $burst -ge 10000 ] || burst=10000 # a packet of 9000 bytes has to fit
    ip netns exec "$1" tc qdisc add dev "$2" root tbf rate "$3" burst $burst limit 67108864
}

plain() { ip netns exec "$1" ethtool -K "$2" tso off gso off gro off >/dev/null 2>&1; }

# veth NAMESPACE INTERFACE NAMESPACE INTERFACE: joined, at first in the first of the two, never here
veth() {
    ip -n "$1" link add "$2" mtu 9000 gso_max_segs 1 type veth peer name "$4" netns "$3" &&
        ip -n "$3" link set "$4" mtu 9000 && ip -n "$1" link set "$2" up && ip -n "$3" link set "$4" up &&
        plain "$1" "$2" && plain "$3" "$4"
}

settings="net.ipv4.tcp_congestion_control=reno net.ipv4.tcp_slow_start_after_idle=0 net.ipv4.tcp_no_metrics_save=1
    net.ipv4.tcp_early_retrans=0 net.ipv4.tcp_limit_output_bytes=20000 net.ipv4.tcp_notsent_lowat=32768
    net.ipv6.conf.all.disable_ipv6=1"

add_host() { # INDEX LEAF
    host=h$1 space=$name-h$1
    ip netns add "$space" && echo "$space" >>"$state/spaces" && ip -n "$space" link set lo up &&
        veth "$space" e0 "$name-sw" "p$1" && ip -n "$name-sw" link set "p$1" master "br$2" &&
        ip -n "$space" addr add "10.99.0.$(($1 + 1))/24" dev e0 || return 1
    # shellcheck disable=SC2086 # a list of words
    ip netns exec "$space" sysctl -qw $settings || return 1
    bucket "$space" e0 "$rate" && bucket "$name-sw" "p$1" "$rate" || return 1
    # a host name of its own: MPI takes hosts of one name for one
    ip netns exec "$space" unshare --uts sh -c \
        "hostname mx$host; echo \$\$ >'$state/$host.pid'; exec sleep 100000" </dev/null >/dev/null 2>&1 &
    echo "$host 10.99.0.$(($1 + 1)) $2" >>"$state/hosts"
}

build() {
    ip netns add "$name-sw" && echo "$name-sw" >>"$state/spaces" || return 1
    for ((leaf = 0; leaf < leafs; leaf++)); do
        ip -n "$name-sw" link add "br$leaf" mtu 9000 type bridge && ip -n "$name-sw" link set "br$leaf" up || return 1
    done
    for ((leaf = 1; leaf < leafs; leaf++)); do # a line of switches
        veth "$name-sw" "u$leaf" "$name-sw" "v$leaf" && ip -n "$name-sw" link set "u$leaf" master "br$((leaf - 1))" &&
            ip -n "$name-sw" link set "v$leaf" master "br$leaf" && bucket "$name-sw" "u$leaf" "$uplink" &&
            bucket "$name-sw" "v$leaf" "$uplink" || return 1
    done
    for ((i = 0; i < hosts; i++)); do
        add_host $i $((i * leafs / hosts)) || return 1
    done
    for ((i = 0; i < hosts; i++)); do # each has said its process
        for ((try = 0; try < 200; try++)); do
            [ ! -s "$state/h$i.pid" ] || continue 2
            sleep 0.01
        done
        return 1
    done
}

up() {
    hosts=4 rate=200mbit leafs=1 uplink=
    while [ $# -gt 0 ]; do
        [ $# -ge 2 ] || fail "$1: expected a value"
        case $1 in
        --hosts) hosts=$2 ;;
        --rate) rate=$2 ;;
        --leafs) leafs=$2 ;;
        --uplink) uplink=$2 ;;
        *) fail "unknown option $1" ;;
        esac
        shift 2
    done
    uplink=${uplink:-$rate}
    case $hosts$leafs in *[!0-9]*) fail "expected numbers of hosts and leafs" ;; esac
    if [ "$hosts" -lt 1 ] || [ "$hosts" -gt 64 ] || [ "$leafs" -lt 1 ] || [ "$leafs" -gt "$hosts" ]; then
        fail "expected 1 to 64 hosts and at most as many leafs"
    fi
    bytes_per_second "$rate" >/dev/null && bytes_per_second "$uplink" >/dev/null || exit 1
    need
    remove_stale
    down
    mkdir -p "$state" || fail "cannot make $state"
    state=$(realpath "$state")
    : >"$state/cluster" || fail "cannot write to $state"
    name=moesim-$owner-$$
    build || { down; fail "cannot build the cluster (kernel without veth, bridge or tbf?)"; }
}

# removes the clusters whose owner, a `with`, was killed: nobody else will
remove_stale() {
    for space in $(ip netns list | sed -n 's/^\(moesim-with-[0-9]*\)-.*/\1 &/p' | cut -d ' ' -f 1,2 | tr ' ' ,); do
        pid=${space%%,*}
        kill -0 "${pid##*-}" 2>/dev/null || remove_space "${space#*,}"
    done
}

remove_space() {
    for pid in $(ip netns pids "$1" 2>/dev/null); do kill -KILL "$pid" 2>/dev/null; done
    ip netns del "$1" 2>/dev/null
}

# A folder of something else is left as it is.
down() {
    [ -e "$state" ] || return 0
    [ -d "$state" ] || fail "$state is no folder"
    [ -n "$(ls -A "$state")" ] || return 0
    [ -f "$state/cluster" ] || fail "$state: expected an empty folder or that of a cluster, found other files"
    for file in "$state"/h*.pid; do
        # shellcheck disable=SC2046
        [ ! -s "$file" ] || kill $(cat "$file") 2>/dev/null
    done
    while read -r space; do
        remove_space "$space"
    done < <(cat "$state/spaces" 2>/dev/null)
    rm -f "$state"/h*.pid "$state/spaces" "$state/hosts" "$state/cluster"
    rmdir "$state" 2>/dev/null
}

enter() {
    host=${1#mx}
    shift
    [ "${1:-}" != -- ] || shift
    [ -s "$state/$host.pid" ] || fail "no host $host in $state"
    pid=$(cat "$state/$host.pid")
    if [ $# -eq 1 ]; then set -- sh -c "$1"; fi # one string, as mpirun gives it
    exec nsenter -t "$pid" --net --uts -- "$@"
}

counters() {
    drops=0 again=0
    while read -r space; do
        drops=$((drops + $(ip netns exec "$space" tc -s qdisc show | sed -n 's/.*(dropped \([0-9]*\),.*/\1/p' |
            paste -sd+ | sed 's/^$/0/')))
        # shellcheck disable=SC2016 # $ belongs to awk
        again=$((again + $(ip netns exec "$space" awk '$1 == "Tcp:" && $13 ~ /^[0-9]/ { print $13 }' /proc/net/snmp)))
    done <"$state/spaces"
    echo "dropped $drops retransmitted $again"
}

with() {
    options=()
    while [ $# -gt 0 ] && [ "$1" != -- ]; do
        options+=("$1")
        shift
    done
    [ $# -ge 2 ] || fail "with: expected -- COMMAND"
    shift
    owner=with running=
    down # a folder of something else ends it here
    trap down EXIT
    trap 'stop 130' INT
    trap 'stop 143' TERM HUP
    up ${options[@]+"${options[@]}"}
    # behind, so that a signal is taken at once; by itself a shell would have it ignore Ctrl-C
    env --default-signal=INT,QUIT CLUSTER_STATE="$state" "$@" <&0 &
    running=$!
    wait $running
}

stop() {
    [ -z "$running" ] || kill -TERM "$running" 2>/dev/null
    exit "$1"
}

usage() { fail "usage: cluster.sh up|down|enter|list|counters|with STATE ..."; }
[ $# -ge 2 ] || usage
command=$1 state=$2 owner=up
shift 2
case $command in
up) up "$@" ;;
down) down ;;
enter) [ $# -ge 2 ] || usage; enter "$@" ;;
list) cat "$state/hosts" ;;
counters) counters ;;
with) with "$@" ;;
*) usage ;;
esac
