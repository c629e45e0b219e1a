# 72 endpoints on one switch of 450 GB/s, 1 MiB a pair: 71 x 2^20 / 450e9 = 165.442 us, and 0.5 us of two links.
$ moesim simulate --topo switch:72,450GB/s,latency=250ns --collective all-to-all --size 1MiB --nominal --format json
> {
>   "moesim": "collective",
>   "version": 1,
>   "machine": "switch:72,450GB/s,latency=250ns",
>   "collective": "all-to-all",
>   "algorithm": "direct",
>   "first_gpu": 0,
>   "ranks": 72,
>   "size_B": 1048576,
>   "size_means": "from each rank to each other one",
>   "nccl_tests_size_B": 75497472,
>   "network": "flow",
>   "calls": 1,
>   "time_ps": 165941992,
>   "time_per_call_ps": 165941992,
>   "time_lower_bound_ps": 165941991,
>   "ratio_to_bound": 1.0000000060262022,
>   "steps_lower_bound_ps": 165941991,
>   "algorithm_B_per_s": 454963033106,
>   "bus_B_per_s": 448644102090,
>   "flow_eps": 0,
>   "flow_eps_error": 0,
>   "folded": true,
>   "busiest_links": [
>     {"class": "nvlink", "name": "gpu[0] -> switch", "bytes": 74448896, "of_capacity": 0.9969868935351283}
>   ]
> }

# 32 nodes of 8, 256 KiB a pair: a NIC sends 248 x 2^18 B at 50 GB/s: 1.30 ms.
$ moesim simulate --topo hgx-h100:32 --collective all-to-all --size 256KiB --nominal
> machine    hgx-h100:32, GPUs 0 to 255 of 256
> collective all-to-all, direct, 262144 B from each rank to each other one
> time       1.30 ms (bound 1.30 ms, ratio 1.00; of its own steps 1.30 ms)
> bandwidth  algorithm 51.6 GB/s, bus 51.4 GB/s (nccl-tests, size 67108864 B)
> flow eps   0 (exact)
>
> links    volume  busiest link                                     its volume  of capacity
> nvlink   940 MB  unit.node[0].gpu[0] -> unit.node[0].nvswitch[0]      408 kB        0.3 %
> pcie    66.6 GB  unit.node[0].gpu[0] -> unit.node[0].pcie[0]         65.0 MB       79.3 %
> ib      62.4 GB  unit.node[0].nic[0] -> unit.leaf[0]                 65.0 MB       99.9 %

$ moesim simulate --topo hgx-h100 --collective all-reduce --size 1GiB --algorithm ring --ranks 0-3 --nominal | head -n 4
> machine    hgx-h100, GPUs 0 to 3 of 8
> collective all-reduce, ring, 1073741824 B the buffer of each rank
> time       3.58 ms (bound 2.39 ms, ratio 1.50; of its own steps 3.58 ms)
> bandwidth  algorithm 300 GB/s, bus 450 GB/s (nccl-tests, size 1073741824 B)

$ moesim simulate
! moesim: simulate: expected a saved plan, or --topo with --collective or --transfers
? 2

$ moesim simulate plan.json --topo hgx-h100 --collective all-gather --size 1MB
! moesim: simulate: expected a plan or --collective, found both
? 2

$ moesim simulate --topo hgx-h100 --collective all-gather
! moesim: simulate --collective: expected --topo and --size or --matrix
? 2

$ moesim simulate --topo hgx-h100 --collective all-gather --size 10
! moesim: --size: expected a size such as "80 GiB", found "10": no unit
? 2

$ moesim simulate --topo hgx-h100 --collective all-gather --size 1MB --ranks 3-2
! moesim: --ranks: expected a range of GPUs such as 0-7, found "3-2"
? 2

$ moesim simulate --topo hgx-h100 --collective all-gather --size 1MB --ranks 0-8
! moesim: --ranks: GPU 8 is not there: the machine has GPUs 0 to 7
? 2

$ moesim simulate --topo hgx-h100 --collective all-gather --size 1MB --ranks 5
! moesim: --ranks: expected at least 2 GPUs, found 1
? 2

$ moesim simulate --topo hgx-h100 --collective all-gather --size 1MB --algorithm one-shot
! moesim: --algorithm: there is no one-shot all-gather
? 2

$ moesim simulate --topo hgx-h100 --collective all-to-all --size 5000PB
! moesim: --size: 5000PB for each of 8 ranks is too large
? 2

# Transfers need no rates of arithmetic, and GPUs may differ: 7 MiB out of a GPU of 300 GB/s take 24.5 us, after 0.5 us of two links.
$ moesim simulate --topo dgx2 --collective all-to-all --size 1MiB --nominal | sed -n 3p
> time       105 us (bound 105 us, ratio 1.00; of its own steps 105 us)
$ echo '{"moesim": "topology", "version": 1, "name": "mixed", "source": "test", "templates": {"m": {"parts": {"a": {"kind": "gpu", "device": "H100 SXM", "count": 4}, "b": {"kind": "gpu", "device": "A100 SXM 80G", "count": 4}, "s": {"kind": "switch"}}, "links": [{"from": "a[*]", "to": "s", "class": "nvlink", "bandwidth": "450 GB/s", "latency": "250 ns"}, {"from": "b[*]", "to": "s", "class": "nvlink", "bandwidth": "300 GB/s", "latency": "250 ns"}]}}, "machine": "m"}' >mixed.json; moesim simulate --topo mixed.json --collective all-to-all --size 1MiB --nominal | sed -n 3p
> time       25.0 us (bound 25.0 us, ratio 1.00; of its own steps 25.0 us)

# --- a shaped link passes its burst beside its rate: 61.4 kB are 89 % of 25 MB/s x 1.96 ms + 20 kB
$ echo '{"moesim": "topology", "version": 1, "name": "shaped", "source": "test", "templates": {"m": {"parts": {"a": {"kind": "gpu", "device": "H100 SXM", "count": 4}, "s": {"kind": "switch"}}, "links": [{"from": "a[*]", "to": "s", "class": "eth", "bandwidth": "25 MB/s", "latency": "10 us", "burst": "20000 B"}]}}, "machine": "m"}' >shaped.json; moesim simulate --topo shaped.json --collective all-to-all --size 20KiB --algorithm direct | grep -E '^(time|eth)'
> time       1.96 ms (bound 1.68 ms, ratio 1.17; of its own steps 1.68 ms)
> eth    492 kB  a[0] -> s        61.4 kB       89.0 %
