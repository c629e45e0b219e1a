# 64 KiB a pair are 16 packets of 4162 B: 71 x 16 of them at 450 GB/s are 10.507 us, and 0.5 us of two links.
$ moesim simulate --topo switch:72,450GB/s,latency=250ns --collective all-to-all --size 64KiB --network packet
> machine    switch:72,450GB/s,latency=250ns, GPUs 0 to 71 of 72
> collective all-to-all, direct, 65536 B from each rank to each other one
> time       11.0 us (bound 10.8 us, ratio 1.02; of its own steps 10.8 us)
> bandwidth  algorithm 429 GB/s, bus 423 GB/s (nccl-tests, size 4718592 B)
> network    packets of 4096 B and 66 B of headers, nominal rates, no software time
> packets    81792, routed by stripe, seed 1
> buffers    fullest 233 kB of 467 kB, at switch; a link stood for want of room for at most 0 ps
>
> links   volume  busiest link      its volume  of capacity
> nvlink  681 MB  gpu[0] -> switch     4.73 MB       95.5 %

# Two levels: sprayed packets of one message each collide, so the time is well above the bound.
$ moesim simulate --topo hgx-h100:8 --collective all-to-all --size 1KiB --network packet --format json
> {
>   "moesim": "collective",
>   "version": 1,
>   "machine": "hgx-h100:8",
>   "collective": "all-to-all",
>   "algorithm": "direct",
>   "first_gpu": 0,
>   "ranks": 64,
>   "size_B": 1024,
>   "size_means": "from each rank to each other one",
>   "nccl_tests_size_B": 65536,
>   "network": "packet",
>   "calls": 1,
>   "time_ps": 3323401,
>   "time_per_call_ps": 3323401,
>   "time_lower_bound_ps": 2596880,
>   "ratio_to_bound": 1.2797668740950678,
>   "steps_lower_bound_ps": 2596880,
>   "algorithm_B_per_s": 19719558368,
>   "bus_B_per_s": 19411440268,
>   "mtu_B": 4096,
>   "header_B": 66,
>   "route": "stripe",
>   "seed": 1,
>   "packets": 4032,
>   "fullest_buffer": "unit.node[0].nic[0]",
>   "fullest_buffer_B": 54500,
>   "fullest_buffer_size_B": 117448,
>   "longest_blocked_ps": 0,
>   "folded": false,
>   "busiest_links": [
>     {"class": "nvlink", "name": "unit.node[0].nvswitch[0] -> unit.node[0].gpu[1]", "bytes": 5450, "of_capacity": 0.01639886369414946},
>     {"class": "pcie", "name": "unit.node[0].gpu[0] -> unit.node[0].pcie[0]", "bytes": 61040, "of_capacity": 0.291535354562657},
>     {"class": "ib", "name": "unit.node[0].nic[0] -> unit.leaf[0]", "bytes": 61040, "of_capacity": 0.3673345467489479}
>   ]
> }

# Ring: 14 steps of 1 MiB to the next one.
$ moesim simulate --topo hgx-h100 --collective all-reduce --algorithm ring --size 8MiB --network packet --route adaptive --mtu 2KiB --buffer 64KiB | head -n 7
> machine    hgx-h100, GPUs 0 to 7 of 8
> collective all-reduce, ring, 8388608 B the buffer of each rank
> time       40.7 us (bound 19.1 us, ratio 2.13; of its own steps 39.6 us)
> bandwidth  algorithm 206 GB/s, bus 360 GB/s (nccl-tests, size 8388608 B)
> network    packets of 2048 B and 66 B of headers, nominal rates, no software time
> packets    57344, routed by adaptive, seed 1
> buffers    fullest 65.5 kB of 65.5 kB, at nvswitch[1]; a link stood for want of room for at most 0 ps

# Each pair hashed onto one of 4 switches: the fullest link takes longest.
$ moesim simulate --topo hgx-h100 --collective all-to-all --size 1MiB --network packet --route hash --seed 3 | head -n 4
> machine    hgx-h100, GPUs 0 to 7 of 8
> collective all-to-all, direct, 1048576 B from each rank to each other one
> time       43.1 us (bound 16.8 us, ratio 2.56; of its own steps 16.8 us)
> bandwidth  algorithm 195 GB/s, bus 170 GB/s (nccl-tests, size 8388608 B)

# Rank 0 sends 4.5 MB to rank 1 and nobody else as much: 10 us at 450 GB/s, 1 us of two links; five times.
$ printf '# from, to\n0, 4500 kB, 1\n1, 0, 64KiB\n\n1, 1, 0\n' >small.csv; moesim simulate --topo switch:3,450GB/s --collective all-to-all --matrix small.csv --nominal --count 5
> machine    switch:3,450GB/s, GPUs 0 to 2 of 3
> collective all-to-all, direct, 4.57 MB by a matrix, at most 4.50 MB out of a rank and 4.50 MB into one
> time       55.0 us for 5 calls, 11.0 us each (bound 55.0 us, ratio 1.00; of its own steps 55.0 us)
> flow eps   0 (exact)
>
> links    volume  busiest link      its volume  of capacity
> nvlink  45.7 MB  gpu[0] -> switch     22.5 MB       90.9 %

$ moesim simulate --topo switch:3,450GB/s --collective all-to-all --matrix small.csv --network packet --format json
> {
>   "moesim": "collective",
>   "version": 1,
>   "machine": "switch:3,450GB/s",
>   "collective": "all-to-all",
>   "algorithm": "direct",
>   "first_gpu": 0,
>   "ranks": 3,
>   "total_B": 4565540,
>   "most_sent_B": 4500001,
>   "most_received_B": 4500001,
>   "network": "packet",
>   "calls": 1,
>   "time_ps": 11161336,
>   "time_per_call_ps": 11161336,
>   "time_lower_bound_ps": 11000002,
>   "ratio_to_bound": 1.0146667246060501,
>   "steps_lower_bound_ps": 11000002,
>   "mtu_B": 4096,
>   "header_B": 66,
>   "route": "stripe",
>   "seed": 1,
>   "packets": 1119,
>   "fullest_buffer": "switch",
>   "fullest_buffer_B": 457887,
>   "fullest_buffer_size_B": 916648,
>   "longest_blocked_ps": 0,
>   "folded": false,
>   "busiest_links": [
>     {"class": "nvlink", "name": "gpu[0] -> switch", "bytes": 4572601, "of_capacity": 0.9104049511237324}
>   ]
> }

# The same all-to-all ten times in a row.
$ moesim simulate --topo switch:72,450GB/s,latency=250ns --collective all-to-all --size 1MiB --nominal --count 10 | head -n 4
> machine    switch:72,450GB/s,latency=250ns, GPUs 0 to 71 of 72
> collective all-to-all, direct, 1048576 B from each rank to each other one
> time       1.66 ms for 10 calls, 166 us each (bound 1.66 ms, ratio 1.00; of its own steps 1.66 ms)
> bandwidth  algorithm 455 GB/s, bus 449 GB/s (nccl-tests, size 75497472 B)

# Five GPUs in a ring, each to the one after the next over links with room for one packet.
$ printf '0 0 1MB 0 0\n0 0 0 1MB 0\n0 0 0 0 1MB\n1MB 0 0 0 0\n0 1MB 0 0 0\n' >ring.txt; moesim simulate --topo ring:5,100GB/s --collective all-to-all --matrix ring.txt --network packet --buffer 4162B
! moesim: no packet can move after 500 ns, 1225 have not arrived: waiting for room behind gpu[0] -> gpu[1], which waits for gpu[1] -> gpu[2], which waits for gpu[2] -> gpu[3], which waits for gpu[3] -> gpu[4], which waits for gpu[4] -> gpu[0], which waits for the first
? 2

$ moesim simulate --topo switch:4,450GB/s --collective all-to-all --matrix small.csv
! moesim: small.csv:2:14: expected a row of 4 numbers, found 3
? 2

$ printf '0 1 2\n1 0 -2\n1 1 0\n' >bad.txt; moesim simulate --topo switch:3,450GB/s --collective all-to-all --matrix bad.txt
! moesim: bad.txt:2:5: expected a size such as "80 GiB", found "-2"
? 2

$ printf '5 0 0\n0 5 0\n0 0 5\n' >none.txt; moesim simulate --topo switch:3,450GB/s --collective all-to-all --matrix none.txt
! moesim: none.txt: expected bytes from some rank to another one, found none
? 2

$ moesim simulate --topo switch:3,450GB/s --collective all-gather --matrix small.csv
! moesim: --matrix: expected a direct all-to-all with it, found a direct all-gather
? 2

$ moesim simulate --topo switch:3,450GB/s --collective all-to-all --matrix small.csv --size 1MB
! moesim: simulate --collective: expected --size or --matrix, found both
? 2

$ moesim simulate --topo switch:3,450GB/s --collective all-to-all --matrix absent.csv
! moesim: absent.csv: no such file or folder
? 2

$ moesim simulate --topo switch:3,450GB/s --collective all-to-all --size 1MB --count 0
! moesim: --count: expected at least 1 call, found 0
? 2

$ moesim simulate --topo switch:3,450GB/s --collective all-to-all --size 1MB --count 100000000000000000
! moesim: 100000000000000000 calls move more than the 2^64 B that can be counted
? 2

$ moesim simulate --topo switch:3,450GB/s --collective all-to-all --size 1MB --mtu 2KiB
! moesim: --mtu: flows have none, expected --network packet with it
? 2

$ moesim simulate --topo switch:3,450GB/s --collective all-to-all --size 1MB --network packet --mtu 2MiB
! moesim: --mtu: expected 1 to 1048576 B, found "2MiB"
? 2

$ moesim simulate --topo switch:3,450GB/s --collective all-to-all --size 1MB --network packet --buffer 1KiB
! moesim: expected a buffer of at least a packet (4162 B) and at most 1152921504606846976 B, found 1024 B
? 2

$ moesim simulate --topo switch:3,450GB/s --collective all-to-all --size 1PB --network packet
! moesim: the transfers have over 134217728 packets: expected fewer bytes or a larger MTU than 4096 B
? 2

# Inside the nodes first, then along the rails: 1/8 of the buffer crosses the network.
$ moesim simulate --topo hgx-h100:4 --collective all-reduce --algorithm hierarchical --size 8MiB --network packet
> machine    hgx-h100:4, GPUs 0 to 31 of 32
> collective all-reduce, hierarchical, 8388608 B the buffer of each rank
> nodes      4 of 8 ranks
> time       69.3 us (bound 22.4 us, ratio 3.09; of its own steps 68.0 us)
> bandwidth  algorithm 121 GB/s, bus 234 GB/s (nccl-tests, size 8388608 B)
> network    packets of 4096 B and 66 B of headers, nominal rates, no software time
> packets    126976, routed by stripe, seed 1
> buffers    fullest 66.6 kB of 67.0 kB, at unit.node[0].pcie[0]; a link stood for want of room for at most 3.67 us
>
> links   volume  busiest link                                     its volume  of capacity
> nvlink  955 MB  unit.node[1].gpu[5] -> unit.node[1].nvswitch[0]     3.35 MB       48.3 %
> pcie    205 MB  unit.node[0].gpu[0] -> unit.node[0].pcie[0]         1.60 MB       36.6 %
> ib      102 MB  unit.node[0].nic[0] -> unit.leaf[0]                 1.60 MB       46.1 %

$ moesim simulate --topo hgx-h100 --collective all-reduce --algorithm in-switch --size 8MiB --network packet
! moesim: --algorithm: packets are not summed in switches, expected another one than in-switch
? 2
