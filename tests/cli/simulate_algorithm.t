# Four nodes of 8, 64 MiB: 32 chunks of 2 MiB. Inside a node 7 x 4 chunks at 450 GB/s, 130.5 us; over the rail 3 chunks at
# 50 GB/s, 125.8 us; each twice: 512.6 us and the latencies of four steps.
$ moesim simulate --topo hgx-h100:4 --collective all-reduce --size 64MiB --algorithm hierarchical --nominal | head -n 4
> machine    hgx-h100:4, GPUs 0 to 31 of 32
> collective all-reduce, hierarchical, 67108864 B the buffer of each rank
> nodes      4 of 8 ranks
> time       517 us (bound 169 us, ratio 3.05; of its own steps 517 us)

$ moesim simulate --topo hgx-h100:4 --collective all-reduce --size 64MiB --algorithm hierarchical --inner 4 --nominal | sed -n 3p
> nodes      8 of 4 ranks

# One switch that sums: 1 GiB and an eighth of it up, and as much down, at 450 GB/s: 2.684 ms.
$ moesim simulate --topo hgx-h100 --collective all-reduce --size 1GiB --algorithm in-switch --nominal | head -n 4
> machine    hgx-h100, GPUs 0 to 7 of 8
> collective all-reduce, in-switch, 1073741824 B the buffer of each rank
> time       2.68 ms (bound 2.39 ms, ratio 1.12; of its own steps 2.68 ms)
> bandwidth  algorithm 400 GB/s, bus 700 GB/s (nccl-tests, size 1073741824 B)

# All algorithms, fastest first: between nodes the hierarchy wins, and no switch sums over nodes.
$ moesim simulate --topo hgx-h100:4 --collective all-reduce --size 64MiB --algorithm auto --nominal
> machine    hgx-h100:4, GPUs 0 to 31 of 32
> collective all-reduce, hierarchical, 67108864 B the buffer of each rank
> nodes      4 of 8 ranks
> time       517 us (bound 169 us, ratio 3.05; of its own steps 517 us)
> bandwidth  algorithm 130 GB/s, bus 252 GB/s (nccl-tests, size 67108864 B)
> flow eps   0 (exact)
>
> algorithm          time    bound
> hierarchical     517 us   517 us
> direct          2.02 ms  2.02 ms
> pipelined-tree  2.38 ms  2.38 ms
> ring            2.72 ms  2.72 ms
> tree            5.98 ms  5.98 ms
> one-shot        32.2 ms  32.2 ms
> in-switch                         operation "all-reduce": GPUs 7 and 8 share no switch that sums; and not folded: operation "all-reduce": neighbours in groups of "all" differ in place
>
> links    volume  busiest link                                     its volume  of capacity
> nvlink  7.52 GB  unit.node[0].gpu[0] -> unit.node[0].nvswitch[0]     26.1 MB       50.5 %
> pcie    1.61 GB  unit.node[0].gpu[0] -> unit.node[0].pcie[0]         12.6 MB       38.7 %
> ib       805 MB  unit.node[0].nic[0] -> unit.leaf[0]                 12.6 MB       48.7 %

# Little data: a tree of 14 steps beats the 142 of a ring, one or two steps beat both.
$ moesim simulate --topo nvl72 --collective all-reduce --size 64KiB --algorithm auto --format json
> {
>   "moesim": "collective",
>   "version": 1,
>   "machine": "nvl72",
>   "collective": "all-reduce",
>   "algorithm": "in-switch",
>   "algorithms": [
>     {"algorithm": "in-switch", "time_ps": 11434077, "time_lower_bound_ps": 573830},
>     {"algorithm": "direct", "time_ps": 12890380, "time_lower_bound_ps": 1143734},
>     {"algorithm": "one-shot", "time_ps": 18147765, "time_lower_bound_ps": 5670062},
>     {"algorithm": "tree", "time_ps": 30657376, "time_lower_bound_ps": 7873802},
>     {"algorithm": "pipelined-tree", "time_ps": 78730174, "time_lower_bound_ps": 24665968},
>     {"algorithm": "ring", "time_ps": 208890422, "time_lower_bound_ps": 71143704},
>     {"algorithm": "hierarchical", "impossible": "the group lies in one node"}
>   ],
>   "first_gpu": 0,
>   "ranks": 72,
>   "size_B": 65536,
>   "size_means": "the buffer of each rank",
>   "nccl_tests_size_B": 65536,
>   "network": "flow",
>   "calls": 1,
>   "time_ps": 11434077,
>   "time_per_call_ps": 11434077,
>   "time_lower_bound_ps": 572817,
>   "ratio_to_bound": 19.9611341842159,
>   "steps_lower_bound_ps": 573830,
>   "algorithm_B_per_s": 5731638854,
>   "bus_B_per_s": 11304065517,
>   "flow_eps": 0,
>   "flow_eps_error": 0,
>   "folded": true,
>   "busiest_links": [
>     {"class": "nvlink", "name": "tray[0].gpu[0] -> nvswitch[0]", "bytes": 3692, "of_capacity": 0.006457888992701379}
>   ]
> }

$ moesim simulate --topo hgx-h100:4 --collective broadcast --size 64MiB --algorithm auto --nominal | sed -n 2,10p
> collective broadcast, ring, 67108864 B sent by the first rank to each other one
> time       2.18 ms (bound 169 us, ratio 12.9; of its own steps 2.18 ms)
> bandwidth  algorithm 30.8 GB/s, bus 30.8 GB/s (nccl-tests, size 67108864 B)
> flow eps   0 (exact)
>
> algorithm     time    bound
> ring       2.18 ms  2.18 ms
> tree       3.14 ms  3.14 ms
> direct     32.2 ms  32.2 ms

$ moesim simulate --topo hgx-a100 --collective all-reduce --size 1MiB --algorithm in-switch
! moesim: operation "all-reduce": GPUs 0 and 1 share no switch that sums
? 2

$ moesim simulate --topo hgx-h100 --collective all-reduce --size 1MiB --algorithm hierarchical --inner 3
! moesim: --algorithm: hierarchical all-reduce of 8 ranks: expected nodes of 2 to 8 ranks that divide them, found 3
? 2

$ moesim simulate --topo hgx-h100 --collective all-reduce --size 1MiB --inner 4
! moesim: --inner: expected --algorithm hierarchical with it, found direct
? 2

$ moesim simulate --topo hgx-h100 --collective broadcast --size 1MiB --algorithm one-shot
! moesim: --algorithm: there is no one-shot broadcast
? 2

$ moesim simulate --topo hgx-h100 --collective all-reduce --size 1MiB --algorithm hierarchicl
! moesim: --algorithm: unknown "hierarchicl", did you mean hierarchical?
? 2

$ moesim simulate --topo hgx-h100 --collective all-reduce --size 1MiB --algorithm 7
! moesim: --algorithm: expected a name such as ring or auto, found "7"
? 2
