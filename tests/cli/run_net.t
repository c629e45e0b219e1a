# moesim-run on the net back end: the same bytes as on the host back end, by processes.

$ moesim-run run $ROOT/tests/golden/schedule_ring.json --seed 3 --format json | tail -n +5 >host
$ moesim-run run $ROOT/tests/golden/schedule_ring.json --seed 3 --format json --backend net | tail -n +5 | cmp - host
$ moesim-run run $ROOT/tests/golden/schedule_ring.json --seed 3 --format json --backend net --hosts 127.0.0.1:2,127.0.0.2:2 | tail -n +5 | cmp - host
$ moesim-run run $ROOT/tests/golden/schedule_ring.json --seed 3 --backend net --iterations 2 --warm-up 1 --timeline t.json >/dev/null; ls
> host
> t-001.json
> t-002.json
$ grep -h -e maker -e machine -e complete t-001.json
>   "maker": "net",
>   "machine": "1 host x 4 ranks, shared memory",
>   "complete": true,

# Refusals.
$ moesim-run run $ROOT/tests/golden/schedule_ring.json --backend net --hosts 127.0.0.1:3
! moesim-run: $ROOT/tests/golden/schedule_ring.json: the hosts have 3 ranks, the schedule has 4
? 2
$ moesim-run run $ROOT/tests/golden/schedule_ring.json --backend net --hosts node0:2,node1:2 --interface no0 2>&1 | sed 's/host node[01]:/host X:/'
> moesim-run: $ROOT/tests/golden/schedule_ring.json: host X: no network interface "no0" with an IPv4 or IPv6 address
$ moesim-run run $ROOT/tests/golden/schedule_ring.json --backend net --hosts localhost:4 --interface no0
! moesim-run: $ROOT/tests/golden/schedule_ring.json: host localhost: no network interface "no0" with an IPv4 or IPv6 address
? 2
$ moesim-run run $ROOT/tests/golden/schedule_ring.json --backend net --hosts 192.0.2.1:4 --interface lo
! moesim-run: $ROOT/tests/golden/schedule_ring.json: host 192.0.2.1: network interface "lo" does not have the address of host "192.0.2.1"
? 2
$ moesim-run run $ROOT/tests/golden/schedule_ring.json --backend net --hosts fd00::1:4
! moesim-run: $ROOT/tests/golden/schedule_ring.json: host "fd00::1:4": expected NAME:RANKS, such as "10.99.0.1:2" or "[fd00::1]:2"
? 2

# The word that an agent adds is nothing to type: nothing but one line comes of it.
$ moesim-run run $ROOT/tests/golden/schedule_ring.json --backend net --join </dev/null
! moesim-run: $ROOT/tests/golden/schedule_ring.json: --join: the first process is gone before it said anything
? 2
$ echo "a line that a person types" | moesim-run run $ROOT/tests/golden/schedule_ring.json --backend net --join
! moesim-run: $ROOT/tests/golden/schedule_ring.json: --join: another process said something malformed: kind 1768693857, 7309377796750729576 bytes
? 2
$ sleep 5 | moesim-run run $ROOT/tests/golden/schedule_ring.json --backend net --join --timeout '100 ms'
! moesim-run: $ROOT/tests/golden/schedule_ring.json: --join: the first process said nothing within 100 ms
? 2
$ script -qc "moesim-run run $ROOT/tests/golden/schedule_ring.json --backend net --join" /dev/null </dev/null | tr -d '\r'
> moesim-run: $ROOT/tests/golden/schedule_ring.json: --join: expected the first process on stdin and stdout, found a terminal: an agent adds this word, people use --by-hand

# An agent that is not there, or finds nothing there.
$ moesim-run run $ROOT/tests/golden/schedule_ring.json --backend net --hosts 127.0.0.1:4 --agent no-such-agent
! moesim-run: $ROOT/tests/golden/schedule_ring.json: host 127.0.0.1: cannot run the agent no-such-agent: no such file or folder
? 2
$ moesim-run run $ROOT/tests/golden/schedule_ring.json --backend net --hosts 127.0.0.1:4 --agent false
! moesim-run: $ROOT/tests/golden/schedule_ring.json: host 127.0.0.1: the agent "false" ended with status 1 before moesim-run answered there
? 2

# Started by people: the first process says what to type on each other host.
$ moesim-run run $ROOT/tests/golden/schedule_ring.json --seed 3 --format json --backend net --hosts 127.0.0.1:2,127.0.0.2:1,127.0.0.3:1 --by-hand 0 2>said | tail -n +5 >hand & until [ "$(grep -c type said 2>/dev/null)" = 2 ]; do sleep 0.1; done; sed -n 's/^moesim-run: host 127.0.0.[23]: type there: //p' said >type; head -n 1 type | sh & tail -n 1 type | sh & wait; cmp hand host
$ sed -n 's/127.0.0.1:[0-9]*\/1\/[0-9a-f]*$/127.0.0.1:PORT\/1\/TOKEN/p' said
> moesim-run: host 127.0.0.2: type there: moesim-run run $ROOT/tests/golden/schedule_ring.json --seed 3 --format json --backend net --hosts 127.0.0.1:2,127.0.0.2:1,127.0.0.3:1 --by-hand 0 --join-at 127.0.0.1:PORT/1/TOKEN
$ rm said type hand
$ moesim-run run $ROOT/tests/golden/schedule_ring.json --backend net --by-hand 0
! moesim-run: --by-hand: expected --hosts with it
? 2
$ moesim-run run $ROOT/tests/golden/schedule_ring.json --backend net --by-hand 0 --hosts 127.0.0.1:2,127.0.0.2:2 --agent ssh
! moesim-run: --by-hand: expected no --agent with it: either people start hosts, or an agent does
? 2

$ moesim-run run $ROOT/tests/golden/schedule_ring.json --backend mpi
! moesim-run: $ROOT/tests/golden/schedule_ring.json: this program has no MPI: mpirun -n RANKS moesim-run-mpi runs there
? 2

# A full disk: one line, and no part of a file is left.
$ moesim-run run $ROOT/tests/golden/schedule_ring.json --backend net >/dev/full
! moesim-run: cannot write to stdout: No space left on device
? 2
$ (trap '' XFSZ; ulimit -f 0; moesim-run run $ROOT/tests/golden/schedule_ring.json --backend net --timeline full.json) 2>&1 | tail -n 1
> moesim-run: full.json: cannot be written: the file would be too large
$ ls
> host
> t-001.json
> t-002.json
