# moesim-run bench and detect: which cases were measured and how often; times are the machine's own.

$ printf '%s\n' 'send_recv size=4KiB from=0 to=3' 'alltoall size=64KiB algorithm=pairwise ranks=3' 'alltoallv size=8KiB pairs=0>1,2>3' >some.cases
$ moesim-run bench --cases some.cases --samples 7 --interval 0 --warm-up 1 -o c.csv | sed -nE '/^noise/d; s/ [0-9.]+ [a-z]?s .*//p' | awk '{ $1 = $1; print }'
> send_recv 0 to 3, 4 ranks on 1 node, 4096 B 7
> alltoall pairwise, 3 ranks on 1 node, 65536 B 7
> alltoallv, 4 ranks on 1 node, 16384 B as b788ef30f99db525 7
$ wc -l <c.csv; cut -d, -f 7,11-12,17-19,21-22 c.csv | sed -n '1p;2p;16p'
> 22
> n_gpus,op,dtype,msg_bytes,config,metric,unit,read_mode
> 4,send_recv,f32,4096,from=0 to=3,latency,us,raw
> 4,alltoallv,f32,16384,matrix=0 8192 0 0;0 0 0 0;0 0 0 8192;0 0 0 0,latency,us,raw

# --- by processes on two hosts the same cases; without --interval 0 a case has 6 samples, and then more up to the most
$ moesim-run bench --cases ./some.cases --backend net --hosts 127.0.0.1:2,127.0.0.2:2 --samples 6 | sed -n '1p;/^send_recv/p' | sed -E 's/ +[0-9.]+ [a-z]?s .*//; s/  +/ /g'
> 3 cases on 4 ranks of the net back end: 2 hosts x 2 ranks, tcp and shared memory, one clock; seed 1, 3 warm-ups
> send_recv 0 to 3, 4 ranks on 2 nodes, 4096 B 6
$ moesim-run bench --cases copy --samples 6 -o k.csv | sed -n '1p;/noise/s/[0-9.]* %/X %/gp'; sed -n 2p k.csv | cut -d, -f 8-9,26-27
> 7 cases on one core; seed 1, 3 warm-ups
> noise: X % of the processors' time stolen, X % taken by others
> stream_copy,f32,bytes=1024,latency

# --- what detect finds is a machine; each sample is a record that a fit reads
$ moesim-run detect -o here.json; moesim topo here.json | grep -c '^gpus'
> 1
$ moesim calibrate c.csv --topo mesh:4,10GB/s --device "CPU core" --min-bound 1h
! moesim: c.csv: all 3 cases have a bound below 1.00 h: none is left to fit
? 2

$ moesim calibrate k.csv --topo here.json --device "CPU core" --min-bound 1h 2>&1 | grep -o 'none is left to fit'
> none is left to fit

# --- refusals
$ moesim-run bench --cases lots
! moesim-run: unknown set of cases "lots", expected p2p, collectives, alltoallv, pairs, all, gemm, copy, or a file with a '.' or a '/'
? 2
$ moesim-run bench --cases p2p,gemm; moesim-run bench --ranks 1; moesim-run bench --backend net --ranks 2 --hosts a; moesim-run bench --hosts a,b; moesim-run bench --round 1:1:1:1; moesim-run bench --samples 0; moesim-run bench --interval x; moesim-run bench --cases absent.cases; moesim-run bench --backend mpi --ranks 2 --cases p2p
! moesim-run: cases of send_recv and of gemm: expected communication alone or kernels alone, which are records of two kinds
! moesim-run: all:1: expected 2 to 64 ranks, found 1
! moesim-run: --ranks: expected either this or --hosts, which says it too
! moesim-run: --hosts: expected --backend net with it
! moesim-run: --round: expected --join with it, which an agent is given
! moesim-run: --samples: expected at least 1
! moesim-run: --interval: expected a percentage of 0 or more, found x
! moesim-run: absent.cases: no such file or folder
! moesim-run: this program has no MPI: mpirun -n RANKS moesim-run-mpi runs there
? 2

# --- a file that cannot be written is found before anything is measured
$ moesim-run bench --cases copy -o nowhere/b.csv; moesim-run run $ROOT/tests/golden/schedule_ring.json --tokens 4 --timeline nowhere/t.json
! moesim-run: nowhere/b.csv: cannot be written: no such file or folder
! moesim-run: nowhere/t.json: cannot be written: no such file or folder
? 2
