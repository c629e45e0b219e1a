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
> moesim-run: $ROOT/tests/golden/schedule_ring.json: host X: no network interface "no0" with an IPv4 address
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
