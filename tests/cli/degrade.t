# One of 18 planes is dead: 1/18 of every GPU's 900 GB/s and of the 32.4 TB/s between the halves.
$ moesim topo nvl72 --degrade 'nvswitch[4]:down' | sed -n '4,13p'
> gpus      72, scale-up domain of 72, node of 4
> shape     72, all pairs of GPUs alike, as built
> diameter  2 links, 500 ns
>
> faults    nvswitch[4]:down
> degraded          as built  with faults  least at
> switch parts            18           17
> nvlink of a GPU   900 GB/s     850 GB/s  tray[0].gpu[0]
> bisection        32.4 TB/s    30.6 TB/s
> tray[0].gpu[0] and 71 more keep 850 GB/s of 900 GB/s nvlink (94.4 %): collectives run at the pace of their slowest GPU

# One GPU without its link to one chip; the others keep all.
$ moesim topo nvl72 --degrade 'tray[0].gpu[1]>nvswitch[2]:down' | sed -n '/^faults/,/^$/p'
> faults    tray[0].gpu[1]>nvswitch[2]:down
> degraded          as built  with faults  least at
> links down               0            1
> nvlink of a GPU   900 GB/s     850 GB/s  tray[0].gpu[1]
> bisection        32.4 TB/s    32.4 TB/s
> tray[0].gpu[1] keeps 850 GB/s of 900 GB/s nvlink (94.4 %): collectives run at the pace of their slowest GPU
>

# A dead NIC: two GPUs below one Grace share the other NIC.
$ moesim topo nvl72-cluster --degrade 'rack[0].tray[0].superchip[0].nic[0]:down' | sed -n '/^faults/,/^$/p'
> faults    rack[0].tray[0].superchip[0].nic[0]:down
> degraded                  as built  with faults  least at
> nic parts                      576          575
> a GPU out of its domain  50.0 GB/s    25.0 GB/s  rack[0].tray[0].superchip[0].gpu[0]
> bisection                14.4 TB/s    14.4 TB/s
> rack[0].tray[0].superchip[0].gpu[0] and 1 more keep 25.0 GB/s of 50.0 GB/s out of its domain (50.0 %): collectives run at the pace of their slowest GPU
>

# A dead leaf of a rail; its nodes go over the NICs of other rails.
$ moesim topo hgx-h100-cluster --degrade 'unit[0].leaf[3]:down' | sed -n '/^faults/,/^$/p'
> faults    unit[0].leaf[3]:down
> degraded                  as built  with faults  least at
> switch parts                   560          559
> a GPU out of its domain  50.0 GB/s    37.5 GB/s  unit[0].node[0].gpu[0]
> bisection                25.6 TB/s    24.0 TB/s
> unit[0].node[0].gpu[0] and 127 more keep 37.5 GB/s of 50.0 GB/s out of its domain (75.0 %): collectives run at the pace of their slowest GPU
>

# Dead GPUs, slow links and lost cables together, for programs.
$ moesim topo hgx-h100 --degrade 'gpu[5]:down, nvswitch[0]:50%, gpu[0]>nvswitch[1]:cables-2' --format csv | head -24
> figure,value
> uniform,1
> gpu_count,8
> gpu_memory_B,680151020992
> cpu_count,2
> nic_count,8
> switch_count,4
> pcie_switch_count,8
> memory_count,2
> memory_B,2000000000000
> domain_gpus,8
> node_gpus,8
> fault_count,3
> live_gpu_count,7
> gpu_down,1
> links_down,0
> links_slowed,9
> nvlink_hit_hardest_gpu,0
> nvlink_hit_hardest_built_Bps,450000000000
> nvlink_hit_hardest_left_Bps,350000000000
> bisection_built_Bps,1822000000000
> nvlink_cables,144
> nvlink_per_gpu_least_Bps,350000000000
> nvlink_per_gpu_most_Bps,400000000000
$ moesim topo hgx-h100 --degrade 'gpu[0]>nvswitch[1]:17/18' --format json | tail -4
>   "faults": [
>     {"fault": "gpu[0]>nvswitch[1]:17/18", "source": ""}
>   ]
> }

# Another machine has another digest; the same faults written otherwise have not.
$ moesim topo hgx-h100 --format json | grep '"digest"'
>   "digest": "57a782c894c0430e",
$ moesim topo hgx-h100 --degrade 'gpu[5]:down,nvswitch[0]:50%' --format json | grep '"digest"'
>   "digest": "fa3e80917e7029ac",
$ moesim topo hgx-h100 --degrade 'nvswitch[ 0 ]:1/2, gpu[5]:down' --format json | grep '"digest"'
>   "digest": "fa3e80917e7029ac",

# Faults of the file and of the command line together.
$ moesim topo "$ROOT/tests/fuzz/corpus/topology/faults.json" --degrade 'gpu[1]>sw[2]:50%' | sed -n '/^faults/,/^$/p'
> faults    sw[1]:down, gpu[i=0-2]>sw[i]:17/18, gpu[3]:cables-1, gpu[0]:down, gpu[1]>sw[2]:50 %
> degraded          as built  with faults  least at
> gpu parts                4            3
> switch parts             3            2
> links slowed             0            7
> nvlink of a GPU  30.0 GB/s    10.0 GB/s  gpu[3]
> bisection        60.0 GB/s    15.0 GB/s
> gpu[3] keeps 10.0 GB/s of 30.0 GB/s nvlink (33.3 %): collectives run at the pace of their slowest GPU
>

# 14 of 18 NVLinks are left: 18/14 of the time, but for the latency.
$ moesim simulate --topo hgx-h100 --collective all-to-all --size 16MiB --nominal --degrade 'nvswitch[0]:down' | head -4
> machine    hgx-h100, GPUs 0 to 7 of 8
> collective all-to-all, direct, 16777216 B from each rank to each other one
> time       336 us (bound 336 us, ratio 1.00; of its own steps 336 us)
> degraded   nvswitch[0]:down; as built 261 us, the faults cost +28.5 %

# Seven GPUs are left, and are what the collective uses; beside it, the machine with all eight.
$ moesim simulate --topo hgx-h100 --collective all-to-all --size 16MiB --nominal --degrade 'gpu[7]:down' | head -4
> machine    hgx-h100, live GPUs 0 to 6 of 7
> collective all-to-all, direct, 16777216 B from each rank to each other one
> time       224 us (bound 224 us, ratio 1.00; of its own steps 224 us)
> degraded   gpu[7]:down; as built, with all 8 GPUs, 261 us and bus 449 GB/s: the faults change the time by -14.3 % and the bandwidth by -0.0 %
$ moesim simulate --topo hgx-h100 --collective all-to-all --size 16MiB --nominal --degrade 'gpu[7]:down' --ranks 0-3 | sed -n '1p;4p'
> machine    hgx-h100, live GPUs 0 to 3 of 7
> degraded   gpu[7]:down; as built 112 us, the faults cost +0.0 %

# A slow GPU computes slower too.
$ moesim topo hgx-h100 --degrade 'gpu[3]:80%' | sed -n '/^faults/,/^$/p'
> faults    gpu[3]:80 %
> degraded           as built  with faults  least at
> links slowed              0            5
> nvlink of a GPU    450 GB/s     360 GB/s  gpu[3]
> pcie of a GPU     63.0 GB/s    50.4 GB/s  gpu[3]
> compute of a GPU      100 %       80.0 %  gpu[3]
> bisection         1.82 TB/s    1.73 TB/s
> gpu[3] computes at 80.0 % of its rates: the groups of a slow GPU wait for it
> gpu[3] keeps 360 GB/s of 450 GB/s nvlink (80.0 %): collectives run at the pace of their slowest GPU
>
$ moesim topo hgx-h100 --degrade 'gpu[3]:80%' --format csv | grep slowest
> slowest_gpu,3
> slowest_gpu_ppm,800000

# A node without one of its GPUs is filled last: three replicas of TP8 sit on the three whole nodes, as they did before.
$ moesim rank --topo hgx-h100:4 --model qwen3-30b-a3b --concurrency 256 --top 1 --degrade 'unit[0].node[1].gpu[2]:down' | sed -nE '/^degraded/,/^ranks/p'
> degraded: unit[0].node[1].gpu[2]:down; 31 of 32 GPUs are alive
> ranks fill the 3 domains of 8 GPUs without a dead one first, then those with one
$ moesim simulate --topo hgx-h100:4 --collective all-reduce --size 1GiB --nominal --ranks 8-15 --degrade 'unit[0].node[1].gpu[2]:down' | sed -n '1p;/busiest/,$p'
> machine    hgx-h100:4, live GPUs 8 to 15 of 31
> links    volume  busiest link                                     its volume  of capacity
> nvlink  30.1 GB  unit.node[2].gpu[0] -> unit.node[2].nvswitch[1]      522 MB      100.0 %

# One that is slow is left out when there are enough others.
$ moesim rank --topo hgx-h100:4 --model qwen3-30b-a3b --concurrency 256 --top 1 --degrade 'unit[0].node[1].gpu[2]:80%' | sed -nE '/^degraded/,/^a plan/p'
> degraded: unit[0].node[1].gpu[2]:80 %; 32 of 32 GPUs are alive
> a plan of fewer GPUs begins at the domain of 8 GPUs from which on it takes the fewest slow ones; one that is said to be down has its domain filled last

# Why a plan that can still run is not in the ranking any more: the limit that it misses itself.
$ moesim rank --topo hgx-h100:4 --model qwen3-30b-a3b --concurrency 256 --top 1 --degrade 'unit[0].node[1].gpu[2]:30%' | sed -n '/^plans  not feasible/,$p' | sed -E 's/TPOT [0-9.]+ ms/TPOT .../; s/^ +[0-9]+ /.../; s/^ +TP[^:]*:/...:/'
> plans  not feasible with the faults because; the best of them
> ... over a limit
> ...: TPOT ... is over the limit of 50.0 ms

# What a dead GPU costs, and the plans that it takes; figures left out.
$ moesim rank --topo hgx-h100 --model qwen3-30b-a3b --concurrency 64 --top 1 --degrade 'gpu[7]:down' --save plans | sed -nE '1,2p; /^degraded/,$p' | sed -E 's/ (TP|[0-9]+ +too)[^:]*/ .../; s/changes by .*/changes/; s/^ +\.\.\./.../'
> machine    HGX H100, 8 GPUs (hgx-h100): 8 x H100 SXM, 85.0 GB and 3.35 TB/s each
> faults     gpu[7]:down; 7 GPUs are alive
> degraded: gpu[7]:down; 7 of 8 GPUs are alive
> tok/s/GPU         plan                              as built   with faults  change
> best as built     ...
> best with faults  ...
> the best tok/s/GPU changes
> plans  not feasible with the faults because; the best of them
> ...
> ...: needs 8 GPUs, 7 are alive
$ grep -A2 '"faults"' plans/topology.json
>   "faults": [
>     {"part": "gpu[7]", "state": "down"}
>   ]
$ moesim simulate plans/plan-001.json | grep reproduced
> reproduced: yes

# A saved plan on the machine with faults that it was not made for.
$ moesim simulate plans/plan-001.json --degrade 'gpu[0]:50%' | sed -n '/^degraded/,$p' | sed -E 's/^(T[A-Z]+|tok[^ ]*) .*/\1 .../'
> degraded: gpu[7]:down, gpu[0]:50 %; 7 of 8 GPUs are alive
> gpu[0] computes at 50.0 % of its rates: the groups of a slow GPU wait for it
> gpu[0] keeps 225 GB/s of 450 GB/s nvlink (50.0 %): collectives run at the pace of their slowest GPU
> the same plan   before  with faults   change
> TTFT ...
> TPOT ...
> tok/s/GPU ...
$ moesim explain plans/plan-001.json --degrade 'gpu[0]:down' | sed -n '/^degraded/,$p'
> degraded: gpu[7]:down, gpu[0]:down; 6 of 8 GPUs are alive
> not feasible: the plan uses 7 GPUs, 6 are alive

# What the faults push over a limit that the plan was saved under.
$ moesim rank --topo hgx-h100 --model qwen3-30b-a3b --concurrency 64 --top 1 --max-ttft 100ms --save tight >table; moesim simulate tight/plan-001.json --degrade 'gpu[0]:50%' | sed -nE 's/^TTFT [^(]* is over/TTFT ... is over/p'
> TTFT ... is over the limit of 100 ms

# A chip of a torus that is down: transfers that turned at it turn at another corner.
$ moesim topo torus:4x4x4,100GB/s --degrade 'x[0].y[0].gpu[1]:down' | sed -n '/^faults/,/^$/p'
> faults    x[0].y[0].gpu[1]:down
> degraded       as built  with faults  least at
> gpu parts            64           63
> ici of a GPU   600 GB/s     500 GB/s  x[0].y[0].gpu[0]
> bisection     3.20 TB/s    3.10 TB/s
> x[0].y[0].gpu[0] and 5 more keep 500 GB/s of 600 GB/s ici (83.3 %): collectives run at the pace of their slowest GPU
>

# One of 8 NICs of a node is dead. A library may stop where the machine does not: what NCCL does stands beside what is
# left. A dead switch of NVLink is no NIC.
$ moesim simulate --collective all-reduce -t hgx-h100:2 --size 1GiB --algorithm hierarchical --degrade 'unit[0].node[0].nic[3]:down' | sed -n '/^degraded/,/^bandwidth/p'
> degraded   unit[0].node[0].nic[3]:down; as built 8.00 ms, the faults cost +11.5 %
>            a job of NCCL that loses a NIC stops: each of its channels sends through one NIC; started
>            again, it has what is left; unless NICs were merged into one device and port failover was
>            set (NVIDIA/nccl issues 998 and 2192, of 2.29 and 2.30; RCCL alike: ROCm/rocm-systems
>            pull request 6145)
> bandwidth  algorithm 120 GB/s, bus 226 GB/s (nccl-tests, size 1073741824 B)
$ moesim simulate --collective all-reduce -t hgx-h100:2 --size 1GiB --algorithm hierarchical --degrade 'unit[0].node[0].nvswitch[0]:down' | grep -c NCCL
> 0
? 1
