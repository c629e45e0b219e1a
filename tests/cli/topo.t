# The rack of 72: 18 trays of 4 GPUs, 18 links of 50 GB/s from each, one to each switch chip.
$ moesim topo nvl72.json | head -26
> machine   GB200 NVL72, digest dfd7d75896ccd74b
> source    NVIDIA GB200 NVL72 and DGX GB200 data sheets
> note      Latencies are hardware alone and a budget, not a measurement: 0.5 us for an NVLink path through its switch, 0.25 us per InfiniBand switch (vendor and third-party port-to-port figures of 0.15 to 0.33 us), 0.6 us for NIC and PCIe on each side. Software overhead is calibrated elsewhere. NICs have no network here; nvl72-cluster.json gives them one.
> gpus      72, scale-up domain of 72, node of 4
> shape     72, all pairs of GPUs alike
> diameter  2 links, 500 ns
>
> part       kind    device      count  memory each   memory
> tray.gpu   gpu     GB200          72       199 GB  14.3 TB
> tray.cpu   cpu     Grace          36
> tray.dram  memory                 36       480 GB  17.3 TB
> tray.nic   nic     ConnectX-7     72
> nvswitch   switch  NVSwitch 4     18
>
> link class  cables  out of a GPU  bisection
> nvlink        1296      900 GB/s  32.4 TB/s
> c2c             90      450 GB/s
> pcie            72
> memory          36
> all                               32.4 TB/s
> bandwidth is per direction; ib and eth of a GPU are its share of all NICs
>
> from                  to           class   cables  bandwidth  latency  confidence  source
> tray: gpu[i]          cpu[i/2]     c2c          1   450 GB/s   200 ns  A           NVIDIA Grace Hopper and Grace Blackwell white papers: NVLink-C2C 900 GB/s in both directions together
> tray: cpu[i]          dram[i]      memory       1   512 GB/s   100 ns  A           NVIDIA Grace CPU data sheet: LPDDR5X, 480 GB, 512 GB/s, shared by the two GPUs of a Grace; latency assumed
> tray: cpu[0]          cpu[1]       c2c          1   300 GB/s   200 ns  M           no published figure found; order of magnitude of the coherent link between two Grace CPUs

# The same figures for a program: 1296 = 72 x 18 NVLinks, 36 x 900 GB/s between the halves.
$ moesim topo nvl72.json --format csv
> figure,value
> uniform,1
> gpu_count,72
> gpu_memory_B,14304581517312
> cpu_count,36
> nic_count,72
> switch_count,18
> memory_count,36
> memory_B,17280000000000
> domain_gpus,72
> node_gpus,4
> nvlink_cables,1296
> nvlink_per_gpu_least_Bps,900000000000
> nvlink_per_gpu_most_Bps,900000000000
> nvlink_bisection_Bps,32400000000000
> c2c_cables,90
> c2c_per_gpu_least_Bps,450000000000
> c2c_per_gpu_most_Bps,450000000000
> c2c_bisection_Bps,0
> pcie_cables,72
> pcie_per_gpu_least_Bps,0
> pcie_per_gpu_most_Bps,0
> pcie_bisection_Bps,0
> memory_cables,36
> memory_per_gpu_least_Bps,0
> memory_per_gpu_most_Bps,0
> memory_bisection_Bps,0
> bisection_Bps,32400000000000
> diameter_links,2
> diameter_ps,500000

# A shipped cluster cut to 4 nodes: GPUs of one rail are a leaf apart, of two rails also a spine.
$ moesim topo hgx-h100:4 --format csv
> figure,value
> uniform,1
> gpu_count,32
> gpu_memory_B,2720604083968
> cpu_count,8
> nic_count,32
> switch_count,40
> pcie_switch_count,32
> memory_count,8
> memory_B,8000000000000
> domain_gpus,8
> node_gpus,8
> nvlink_cables,576
> nvlink_per_gpu_least_Bps,450000000000
> nvlink_per_gpu_most_Bps,450000000000
> nvlink_bisection_Bps,0
> pcie_cables,96
> pcie_per_gpu_least_Bps,63000000000
> pcie_per_gpu_most_Bps,63000000000
> pcie_bisection_Bps,0
> ib_cables,288
> ib_per_gpu_least_Bps,50000000000
> ib_per_gpu_most_Bps,50000000000
> ib_bisection_Bps,800000000000
> memory_cables,8
> memory_per_gpu_least_Bps,0
> memory_per_gpu_most_Bps,0
> memory_bisection_Bps,0
> other_cables,4
> other_per_gpu_least_Bps,0
> other_per_gpu_most_Bps,0
> other_bisection_Bps,0
> bisection_Bps,800000000000
> diameter_links,8
> diameter_ps,1950000

# A ring is no place where all pairs are alike.
$ moesim topo ring:4,450GB/s
> machine   ring:4,450GB/s, digest 9b0128ddd3c4bc00
> gpus      4, scale-up domain of 4, node of 4
> shape     irregular: each pair of GPUs is a case of its own
> diameter  2 links, 1.00 us
>
> part  kind  device    count  memory each  memory
> gpu   gpu   H100 SXM      4      85.0 GB  340 GB
>
> link class  cables  out of a GPU  bisection
> nvlink           4      900 GB/s   900 GB/s
> all                                900 GB/s
> bandwidth is per direction; ib and eth of a GPU are its share of all NICs
>
> from             to            class   cables  bandwidth  latency  confidence  source
> machine: gpu[i]  gpu[(i+1)%4]  nvlink       1   450 GB/s   500 ns  M
> confidence: A vendor or source code, B third party, C derived, M no source
>
> device    confidence  source                                                                                                                                                                                                                  note
> H100 SXM  A           NVIDIA data sheet of the product; collected in stas00/ml-engineering, compute/accelerator; memory as vLLM's start-up log prints it on this GPU (llm-d-incubation/llm-d-planner, docs/empirical-vllm-memory-results.md)  80 GB are printed
$ moesim topo ring:4,450GB/s --format json
> {
>   "moesim": "machine",
>   "version": 1,
>   "name": "ring:4,450GB/s",
>   "source": "",
>   "digest": "9b0128ddd3c4bc00",
>   "devices_digest": "a2acad750807f2e5",
>   "uniform": false,
>   "shape": [4],
>   "gpu_count": 4,
>   "gpu_memory_B": 340075510496,
>   "domain_gpus": 4,
>   "node_gpus": 4,
>   "nvlink_cables": 4,
>   "nvlink_per_gpu_least_Bps": 900000000000,
>   "nvlink_per_gpu_most_Bps": 900000000000,
>   "nvlink_bisection_Bps": 900000000000,
>   "bisection_Bps": 900000000000,
>   "diameter_links": 2,
>   "diameter_ps": 1000000,
>   "parts": [
>     {"part": "gpu", "kind": "gpu", "device": "H100 SXM", "count": 4, "memory_B": 85018877624}
>   ],
>   "links": [
>     {"template": "machine", "from": "gpu[i]", "to": "gpu[(i+1)%4]", "class": "nvlink", "cables": 1, "cable_Bps": 450000000000, "latency_ps": 500000, "confidence": "M", "source": ""}
>   ]
> }

# Several kinds of GPUs, written by hand.
$ printf '%s' '{"moesim": "topology", "version": 1, "name": "mixed", "machine": "m", "templates": {"m": {"parts": {"old": {"kind": "gpu", "device": "A100"}, "new": {"kind": "gpu", "device": "H100"}, "cpu": {"kind": "cpu"}}, "links": [{"from": "old", "to": "cpu", "class": "pcie", "bandwidth": "31.5 GB/s", "latency": "200 ns"}, {"from": "new", "to": "cpu", "class": "pcie", "bandwidth": "63 GB/s", "latency": "200 ns"}]}}}' > mixed.json
$ moesim topo mixed.json
> machine   mixed, digest 05a775684e44294f
> gpus      2, scale-up domain of 1, node of 2
> shape     irregular: each pair of GPUs is a case of its own
> diameter  2 links, 400 ns
>
> part  kind  device        count  memory each   memory
> old   gpu   A100 SXM 80G      1      85.2 GB  85.2 GB
> new   gpu   H100 SXM          1      85.0 GB  85.0 GB
> cpu   cpu                     1
>
> link class  cables            out of a GPU  bisection
> pcie             2  31.5 GB/s to 63.0 GB/s  31.5 GB/s
> all                                         31.5 GB/s
> bandwidth is per direction; ib and eth of a GPU are its share of all NICs
>
> from    to   class  cables  bandwidth  latency  confidence  source
> m: old  cpu  pcie        1  31.5 GB/s   200 ns  M
> m: new  cpu  pcie        1  63.0 GB/s   200 ns  M
> confidence: A vendor or source code, B third party, C derived, M no source
>
> device        confidence  source                                                                                                                                                                                                                  note
> A100 SXM 80G  A           NVIDIA data sheet of the product; collected in stas00/ml-engineering, compute/accelerator; memory as a process sees it (79.35 GiB: MoonshotAI/Kimi-VL issue 54)
> H100 SXM      A           NVIDIA data sheet of the product; collected in stas00/ml-engineering, compute/accelerator; memory as vLLM's start-up log prints it on this GPU (llm-d-incubation/llm-d-planner, docs/empirical-vllm-memory-results.md)  80 GB are printed

# 16 units of a B200 SuperPOD: 128 leaves, 128 spines, 64 cores and 4096 cables in each tier, as published. 512 nodes have
# 8 x 2 x 9 NVLinks each, and half of 4096 GPUs send 50 GB/s each.
$ moesim topo superpod-b200:16su | grep -E '^(gpus|shape|diameter|unit.leaf|unit.spine|cores|nvlink|ib |all)'
> gpus      4096, scale-up domain of 8, node of 8
> shape     16 x 32 x 8, pairs alike that differ in the same digits
> diameter  10 links, 2.45 us
> unit.leaf           switch       QM9700        128
> unit.spine          switch       QM9700        128
> cores.core          switch       QM9700         64
> nvlink       73728      900 GB/s
> ib           12288     50.0 GB/s   102 TB/s
> all                                102 TB/s

# Two racks on Ethernet, 3:1: 8 leaves of 18 cables down and 6 up fill 48 of 128 ports of one spine;
# 4 leaves x 6 x 50 GB/s = 1.20 TB/s cross the middle.
$ moesim topo nvl72:2,eth=400Gbps,oversubscription=3 | grep -E '^(gpus|rack[.].*leaf|spine|eth|ib |all|rack:.*nic|cluster)'
> gpus      144, scale-up domain of 72, node of 2
> rack.rails.leaf           switch  Spectrum-4 400G      8
> spine                     switch  Spectrum-4 400G      1
> eth            192     50.0 GB/s  1.20 TB/s
> all                               1.20 TB/s
> rack: tray[*].superchip[s].nic[r]  rails[s].leaf[r]  eth          1  50.0 GB/s   300 ns  C           class and rate of the network as the line asks for; data sheet of the switch
> cluster: rack[*].rails[*].leaf[*]  spine[*]          eth          6  50.0 GB/s   600 ns  C           class and rate of the network as the line asks for; data sheet of the switch

# 144 racks: 10368 GPUs. 576 leaves with 18 cables up, 18 spines for each of 18 units, 16 cores for each spine.
$ moesim topo nvl72:144 | grep -E '^(gpus|shape|diameter|unit[.].*leaf|unit[.]spine|cores|ib |all)'
> gpus      10368, scale-up domain of 72, node of 2
> shape     18 x 8 x 18 x 2 x 2, pairs alike that differ in the same digits
> diameter  10 links, 2.45 us
> unit.rack.rails.leaf           switch  QM9700        576
> unit.spine                     switch  QM9700        324
> cores.core                     switch  QM9700        288
> ib           31104     50.0 GB/s   259 TB/s
> all                                259 TB/s

# A torus is halved across its longest side: 2 x 16 x 20 links of 100 GB/s.
$ moesim topo torus:16x20x28,100GB/s | grep -E '^(gpus|shape|ici|all)'
> gpus      8960, scale-up domain of 8960, node of 16
> shape     irregular: each pair of GPUs is a case of its own
> ici          26880      600 GB/s  64.0 TB/s
> all                               64.0 TB/s

# Host memory and storage are parts like any other.
$ moesim topo hgx-a100 | grep -E '^(nvme|dram|pcie|memory|storage)'
> pcie      pcie-switch                    4
> nvme      storage                        8      3.84 TB  30.7 TB
> dram      memory                         2      1.00 TB  2.00 TB
> pcie            20     31.5 GB/s
> memory           2
> storage          8
