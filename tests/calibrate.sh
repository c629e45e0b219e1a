#!/bin/bash
# calibrate.sh: how well the price model predicts a machine that it was fitted to, on clusters that tests/cluster.sh
# emulates: links of 200 Mbit/s, 4 hosts with 1 and with 2 ranks each, and a leaf-spine of 2:1.
#
# On each, moesim-run bench measures; moesim calibrate fits to messages between two ranks alone, and predicts
# collectives, skewed all-to-alls and pairs that no fit has seen. Judged are cases whose links take 3 ms at least, by the
# minimum of 12 samples:
#   rate       the configured rate comes back within 2 %
#   held out   mean error at most 4 %, the worst at most 12 %
#   control    with two hosts of different leaves swapped in the topology the worst error is above 15 %
#   overlap    a plan whose two streams overlap takes what the simulator says, within 3 %; its computing is stood in for
# A part whose monitors find noise (packets dropped or sent again, time taken by others, late starts) is measured up to
# 3 times. Exit status: 0 all is within, 1 something is not, 75 nothing is wrong and some part stayed noisy, 77 there is
# no such cluster here. BUILD: where the programs are (build/release).
set -u
self=$(realpath "$0")
root=$(dirname "$(dirname "$self")")
build=$(realpath "${BUILD:-$root/build/release}") || exit 1
export BUILD=$build # this script goes on in another folder
cluster=$root/tests/cluster.sh
PATH=$build:$PATH

rate_Bps=25000000 burst_B=20000 # of 200mbit in cluster.sh
most_stolen=5 most_foreign=20 most_late_us=500 most_again=10 # percent, percent, us, segments
most_missed=0.5                                              # percent of a run

# ---- The machine, for moesim

# topology RANKS LEAF: ranks of a host; the leaf of host h, of 4: "0" one switch, "h/2", or "h%2"
topology() {
    name="emulated cluster, 4 hosts x $1" leaves=2 spine=
    [ "$2" != 0 ] || leaves=1
    [ $leaves -eq 1 ] || spine=',
        {"from": "leaf[0]", "to": "leaf[1]", "class": "eth", "bandwidth": "'$rate_Bps' B/s", "burst": "'$burst_B' B",
          "latency": "10 us", "confidence": "C", "source": "tests/cluster.sh: a token bucket at each end"}'
    cat <<END
{
  "moesim": "topology",
  "version": 1,
  "name": "$name",
  "source": "tests/cluster.sh: network namespaces, joined by veth pairs and bridges",
  "templates": {
    "host": {
      "parts": {
        "rank": {"kind": "gpu", "device": "CPU core", "count": $1},
        "memory": {"kind": "switch"},
        "nic": {"kind": "nic"}
      },
      "links": [
        {"from": "rank[*]", "to": "memory", "class": "memory", "bandwidth": "10 GB/s", "latency": "1 us",
          "confidence": "C", "source": "two copies through shared memory, 10 to 11 GB/s on a core of an AMD EPYC"},
        {"from": "memory", "to": "nic", "class": "other", "bandwidth": "10 GB/s", "latency": "1 us",
          "confidence": "C", "source": "a copy into the kernel, as above"}
      ]
    },
    "cluster": {
      "parts": {
        "host": {"template": "host", "count": 4},
        "leaf": {"kind": "switch", "count": $leaves}
      },
      "links": [
        {"from": "host[h].nic", "to": "leaf[$2]", "class": "eth", "bandwidth": "$rate_Bps B/s", "burst": "$burst_B B",
          "latency": "10 us", "confidence": "C", "source": "tests/cluster.sh: a token bucket at each end"}$spine
      ]
    }
  },
  "machine": "cluster"
}
END
}

# ---- What is measured

sends() { # FROM TO
    for size in 16KiB 96KiB 192KiB 256KiB 512KiB 1MiB; do echo "send_recv size=$size from=$1 to=$2"; done
}

one_fitted() { sends 0 1; sends 2 3; }
one_held_out() {
    cat <<END
send_recv size=128KiB from=1 to=2
send_recv size=384KiB from=3 to=0
alltoall size=64KiB
alltoall size=256KiB
alltoall size=512KiB
alltoall size=1MiB
alltoall size=512KiB algorithm=pairwise
alltoall size=512KiB ranks=3
all_gather size=512KiB algorithm=ring
all_reduce size=512KiB algorithm=ring
reduce_scatter size=512KiB
alltoallv size=256KiB seed=1
alltoallv size=512KiB seed=2
alltoallv size=256KiB pairs=0>1,2>3
broadcast size=256KiB algorithm=tree
broadcast size=1MiB algorithm=tree
END
}

two_fitted() { echo "send_recv size=1MiB from=0 to=1"; sends 0 2; sends 5 6; }
two_held_out() {
    cat <<END
send_recv size=384KiB from=7 to=3
alltoall size=256KiB
alltoall size=512KiB
alltoall size=512KiB algorithm=pairwise
alltoall size=512KiB algorithm=hierarchical inner=2
all_gather size=512KiB algorithm=ring
all_reduce size=512KiB algorithm=hierarchical inner=2
reduce_scatter size=512KiB
alltoallv size=128KiB seed=3
alltoallv size=256KiB seed=4
alltoallv size=256KiB pairs=0>2,1>3,4>6
END
}

leaf_fitted() { sends 0 1; sends 1 2; }
leaf_held_out() {
    cat <<END
alltoall size=256KiB
alltoall size=512KiB
all_gather size=512KiB algorithm=ring
alltoallv size=256KiB seed=5
alltoallv size=512KiB seed=6
alltoallv size=256KiB pairs=0>1,2>3
alltoallv size=384KiB pairs=0>2,1>3
END
}

# ---- Noise

# processors FILE: what this shell's processes have used, and what all processors have done, until now
processors() {
    times >"$1" # not in a pipe, where it would be those of a subshell
    head -n 1 /proc/stat >>"$1"
    "$cluster" counters "$CLUSTER_STATE" >>"$1"
}

# noise BEFORE AFTER OUTPUT: what is over a limit; nothing when it is quiet. Interrupts are nobody's: the packets.
noise() {
    awk -v ticks="$(getconf CLK_TCK)" -v stolen=$most_stolen -v foreign=$most_foreign -v late=$most_late_us \
        -v again=$most_again -v missed=$most_missed '
        function seconds(time) { split(time, part, /[ms]/); return part[1] * 60 + part[2] }
        function us(value, unit) { return value * (unit == "s" ? 1e6 : unit == "ms" ? 1e3 : unit == "ns" ? 1e-3 : 1) }
        FNR == 1 { file++ }
        file < 3 && FNR == 2 { own[file] = seconds($1) + seconds($2) }
        file < 3 && $1 == "cpu" {
            for (i = 2; i <= 9; i++) all[file] += $i / ticks
            busy[file] = ($2 + $3 + $4) / ticks
            lost[file] = $9 / ticks
        }
        file < 3 && $1 == "dropped" { drops[file] = $2; resent[file] = $4 }
        /^noise: / {
            for (i = 1; i < NF; i++) if ($i == "by" && $(i + 3) == "(median)" && us($(i + 1), $(i + 2)) > late)
                print "starts late by " $(i + 1) " " $(i + 2)
        }
        /^deadlines missed by / && $8 > missed { print }
        END {
            share = 100 / (all[2] - all[1])
            taken = (busy[2] - busy[1] - own[2] + own[1]) * share
            if ((lost[2] - lost[1]) * share > stolen) printf "%.1f %% stolen\n", (lost[2] - lost[1]) * share
            if (taken > foreign) printf "%.1f %% of the processors taken by others\n", taken
            if (drops[2] > drops[1]) print drops[2] - drops[1] " packets dropped"
            if (resent[2] - resent[1] > again) print resent[2] - resent[1] " segments sent again"
        }' "$@" | paste -sd, | sed 's/,/, /g'
}

# quietly PART COMMAND...: measures until it is quiet, 3 times at most; the last measurement stays. Adds to the result.
quietly() {
    part=$1 is_noisy=no
    shift
    for try in 1 2 3; do
        processors before.txt
        "$@" >output.txt || { say failed "$part: could not be measured"; return 1; }
        processors after.txt
        found=$(noise before.txt after.txt output.txt)
        [ -n "$found" ] || return 0
        echo "noise in try $try of $part: $found"
    done
    is_noisy=yes
    say noisy "$part: $found"
}

say() { echo "$1 $2" | tee -a "$results"; }

# judge passed|failed TEXT: a result, unless the part was noisy: then it neither passed nor failed, and this is told only
judge() {
    if [ $is_noisy = yes ]; then echo "in noise: $2: $1"; else say "$1" "$2"; fi
}

# within VALUE LIMIT: passed or failed
within() { awk -v value="$1" -v limit="$2" 'BEGIN { print (value < limit && -value < limit) ? "passed" : "failed" }'; }

# error_of PREDICTED MEASURED: in percent
error_of() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%+.2f\n", (a / b - 1) * 100 }'; }

# show VALUE FACTOR
show() { awk -v value="$1" -v factor="$2" 'BEGIN { printf "%.2f\n", value * factor }'; }

# ---- Parts

bench() { moesim-run bench --backend net --hosts "$1" --interface e0 --agent "$cluster enter $CLUSTER_STATE" "${@:2}"; }

measure() { # NAME HOSTS
    bench "$2" --cases "./$1-fitted.cases" --interval 0 -o "$1-fitted.csv" &&
        bench "$2" --cases "./$1-held-out.cases" --interval 0 -o "$1-held-out.csv"
}

# fitted_rate FILE: bytes per second on the wire, from the share of them that is payload. Segments of 8948 bytes have
# 66 of headers; acknowledgements of a message between two ranks go the other way.
fitted_rate() {
    awk -v rate=$rate_Bps '/"ethernet efficiency"/ { sub(/.*"value": /, ""); printf "%.0f\n", $0 * rate * (8948 + 66) / 8948 }' "$1"
}

# part NAME HOSTS RANKS LEAF: measures and judges
part() {
    echo
    echo "== $1"
    topology "$3" "$4" >"$1.json"
    "$1_fitted" >"$1-fitted.cases"
    "$1_held_out" >"$1-held-out.cases"
    quietly "$1" measure "$1" "$2" || return
    moesim calibrate "$1-fitted.csv" --topo "$1.json" --held-out "$1-held-out.csv" --min-bound 3ms --max-mape 4 \
        --max-worst 12 -o "$1-fit.json"
    case $? in
    0) judge passed "$1: held out, mean error at most 4 %, worst at most 12 %" ;;
    1) judge failed "$1: held out, mean error at most 4 %, worst at most 12 %" ;;
    *) judge failed "$1: no fit"; return ;;
    esac
    found=$(fitted_rate "$1-fit.json")
    error=$(error_of "$found" $rate_Bps)
    judge "$(within "$error" 2)" \
        "$1: rate on the wire $(show "$found" 8e-6) Mbit/s of $(show $rate_Bps 8e-6) configured, $error %"
}

# The same measurements by a topology in which hosts 1 and 2 have changed places must be far off.
control() {
    topology 1 h%2 >swapped.json
    worst=$(moesim calibrate "$1-fitted.csv" --topo swapped.json --held-out "$1-held-out.csv" --min-bound 3ms |
        awk '/^held out  / { print $8 }')
    verdict=failed
    [ "$(within "${worst:-0}" 15)" = passed ] || verdict=passed
    judge $verdict "$1: two hosts swapped in the topology, worst error ${worst:-unknown} %, expected over 15 %"
}

# The plan of a large model for a large machine, scaled to a small model; planned again for this cluster.
plan_overlap() {
    moesim rank --topo nvl72 --model deepseek-v3 --top 60 --save large >/dev/null &&
        plain=$(grep -L prefill_sms large/plan-*.json | head -n 1) &&
        moesim scale "$plain" --ranks 4 --hidden 1/4 --layers 2 --topo one.json --isl 128 --osl 8 --save small &&
        moesim rank --topo one.json --calibration one-fit.json --model small/deepseek-v3-scaled.json --isl 128 --osl 8 \
            --concurrency 8 --max-ttft 20s --max-tpot 2s --top 40 --save ranked >/dev/null || return
    for file in ranked/plan-*.json; do
        if grep -q '"dp": 4' "$file" && grep -q '"prefill_overlap": "two-batch"' "$file"; then plan=$file; fi
    done
    moesim simulate "$plan" --phase prefill --schedule schedule.json --timeline predicted.json >/dev/null &&
        moesim explain "$plan" --phase prefill | grep -e '^time = ' -e '^overlap ratio'
}

run_overlap() {
    moesim-run run schedule.json --tokens 128 --sequences 1 --kv-tokens 128 --qk-pairs 8256 --backend net \
        --hosts h0,h1,h2,h3 --interface e0 --agent "$cluster enter $CLUSTER_STATE" --compute timed:predicted.json \
        --warm-up 3 --iterations 12 --timeline measured.json || return
    best=$(for file in measured-*.json; do echo "$(end_ps "$file") $file"; done | sort -n | head -n 1)
    missed predicted.json "${best#* }"
}

# missed PREDICTED MEASURED: what stands in for computing lasts as long as it was predicted; by how much the latest was
# longer, which its rank, and all that exchange with it, are late by. A thread that is not woken in time is noise.
missed() {
    awk -F '[][, ]+' '
        FNR == 1 { file++; op = 0; part = "" }
        /"operations": \[/ { part = "operations"; next }
        /"spans": \[/ { part = "spans"; next }
        part == "operations" && /"name"/ { stands[op++] = /"work": "stand-in"/ }
        part == "spans" && NF >= 5 && file == 1 {
            predicted[$2] = $5 - $4
            if ($5 > end) end = $5
        }
        part == "spans" && NF >= 5 && file == 2 && stands[$2] && $5 - $4 - predicted[$2] > most {
            most = $5 - $4 - predicted[$2]
        }
        END { printf "deadlines missed by %.0f us at most: %.2f %%\n", most / 1e6, most / (end > 0 ? end : 1) * 100 }' "$@"
}

end_ps() { sed -n 's/.*"end_ps": \([0-9]*\).*/\1/p' "$1"; }

overlap() {
    echo
    echo "== overlap"
    plan_overlap || { say failed "overlap: no plan"; return; }
    quietly overlap run_overlap || return
    moesim compare predicted.json "${best#* }"
    error=$(error_of "$(end_ps predicted.json)" "${best% *}")
    judge "$(within "$error" 3)" "overlap: predicted $(show "$(end_ps predicted.json)" 1e-9) ms, measured $(show \
        "${best% *}" 1e-9) ms (least of 12), $error %"
}

# ---- All of it

case ${1:-} in
inside-one)
    results=$2
    part one h0,h1,h2,h3 1 0
    part two h0:2,h1:2,h2:2,h3:2 2 0
    overlap
    exit 0
    ;;
inside-leaf)
    results=$2
    part leaf h0,h1,h2,h3 1 h/2
    control leaf
    exit 0
    ;;
esac

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
: >results
"$cluster" with "$folder/state" --hosts 4 -- "$self" inside-one results
status=$?
[ $status -eq 0 ] && { "$cluster" with "$folder/state" --hosts 4 --leafs 2 -- "$self" inside-leaf results; status=$?; }
[ $status -eq 0 ] || exit $status
echo
cat results
! grep -q '^failed ' results || exit 1
! grep -q '^noisy ' results || exit 75
