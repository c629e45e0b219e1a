# A dump of a tool is a machine: what is degraded, shared, asymmetric or assumed is listed first.
$ moesim topo "$ROOT/tests/machine/import/topo.txt" | head -26
> machine   topo, digest e1c9e5409490c43e
> source    nvidia-smi topo -m
> finding   asymmetric: row GPU2 says NV11 of GPU3, which says NV12, the worse is taken
> finding   degraded: GPU2 has 11 NVLinks where others have 12
> finding   degraded: GPU3 has 11 NVLinks where others have 12
> finding   GPUs 1 have no NIC nearer than NODE: their traffic crosses CPUs or the NVLinks of a neighbour
> finding   shared: the nearest NICs of GPUs 3 are those of another GPU
> finding   the matrix gives no rate of a NIC and no network behind it
> finding   generation and width of PCIe are assumed from the device
> gpus      4, scale-up domain of 2, node of 4
> shape     irregular: each pair of GPUs is a case of its own
> diameter  5 links, 1.00 us
>
> part  kind         device         count  memory each  memory
> gpu   gpu          A100 PCIe 80G      4      80.0 GB  320 GB
> nic   nic                             2
> cpu   cpu                             2
> pcie  pcie-switch                     2
>
> link class  cables          out of a GPU  bisection
> nvlink          23  275 GB/s to 300 GB/s
> pcie             8             31.5 GB/s
> other            1                        16.0 GB/s
> all                                       16.0 GB/s
> bandwidth is per direction; ib and eth of a GPU are its share of all NICs
>

# rank says so too: a plan is no better than what is known of its machine
$ moesim rank --topo "$ROOT/tests/machine/import/topo.txt" --model qwen3-30b-a3b --isl 64 --osl 16 -c 4 | sed -n '2,8p'
> finding    asymmetric: row GPU2 says NV11 of GPU3, which says NV12, the worse is taken
> finding    degraded: GPU2 has 11 NVLinks where others have 12
> finding    degraded: GPU3 has 11 NVLinks where others have 12
> finding    GPUs 1 have no NIC nearer than NODE: their traffic crosses CPUs or the NVLinks of a neighbour
> finding    shared: the nearest NICs of GPUs 3 are those of another GPU
> finding    the matrix gives no rate of a NIC and no network behind it
> finding    generation and width of PCIe are assumed from the device

# Its JSON is a topology file to edit, which reads back to the same machine.
$ moesim topo "$ROOT/tests/machine/import/rccl.xml" --format json >edited.json; moesim topo edited.json | grep -v "^note \|^machine "
> source    NCCL or RCCL topology XML
> gpus      2, scale-up domain of 2, node of 2
> shape     2, all pairs of GPUs alike
> diameter  1 links, 500 ns
>
> part  kind  device  count  memory each  memory
> gpu   gpu   MI300X      2       206 GB  412 GB
> cpu   cpu               1
>
> link class  cables  out of a GPU  bisection
> xgmi             1     64.0 GB/s  64.0 GB/s
> pcie             2     63.0 GB/s  63.0 GB/s
> all                                127 GB/s
> bandwidth is per direction; ib and eth of a GPU are its share of all NICs
>
> from             to      class  cables  bandwidth  latency  confidence  source
> machine: gpu[0]  gpu[1]  xgmi        1  64.0 GB/s   500 ns  C           AMD Instinct data sheet of the product; collected in stas00/ml-engineering, compute/accelerator; memory as the driver reports it (206141652992 B: sgl-project/sglang pull request 32670)
> machine: gpu[*]  cpu     pcie        1  63.0 GB/s   200 ns  B           link_speed and link_width of the dump; latency: a budget for hardware alone
> confidence: A vendor or source code, B third party, C derived, M no source
>
> device  confidence  source                                                                                                                                                                                    note
> MI300X  A           AMD Instinct data sheet of the product; collected in stas00/ml-engineering, compute/accelerator; memory as the driver reports it (206141652992 B: sgl-project/sglang pull request 32670)  7 xGMI links of 64 GB/s raw, of which about 48 are reached; 256 MB of last-level cache besides the L2

# A fabric, for programs.
$ moesim topo "$ROOT/tests/machine/import/fabric.out" --format csv | head -12
> figure,value
> uniform,0
> gpu_count,16
> gpu_memory_B,1360302041984
> cpu_count,2
> nic_count,4
> switch_count,11
> pcie_switch_count,16
> domain_gpus,8
> node_gpus,8
> nvlink_cables,288
> nvlink_per_gpu_least_Bps,450000000000

# What is no machine is refused with its line; what is hostile too.
$ moesim topo "$ROOT/tests/bad/import-entities.xml"
! moesim: $ROOT/tests/bad/import-entities.xml:2: declares an entity, which is not read
? 2
$ moesim topo "$ROOT/tests/bad/import-deep.xml"
! moesim: $ROOT/tests/bad/import-deep.xml:2: elements are nested more than 64 deep
? 2
$ moesim topo "$ROOT/tests/bad/import-huge-hostlist.conf"
! moesim: $ROOT/tests/bad/import-huge-hostlist.conf:1: expected names such as "n[0-3,12]", at most 1000000 of them, found "n[0-99999999]"
? 2
$ moesim topo "$ROOT/tests/bad/import-huge-nodes.topo"
! moesim: $ROOT/tests/bad/import-huge-nodes.topo:1: expected "nodes gpus_per_server nvswitches switches links gpu_type" or "nodes switches links"
? 2
$ moesim topo "$ROOT/tests/bad/import-short-matrix.txt"
! moesim: $ROOT/tests/bad/import-short-matrix.txt:1: expected a row GPU1 below the header, found none
? 2
$ moesim topo "$ROOT/tests/bad/import-circle.conf"
! moesim: $ROOT/tests/bad/import-circle.conf:1: switch "a" is below itself, or more than 64 levels deep
? 2
$ moesim topo "$ROOT/tests/bad/import-unknown-adapter.out"
! moesim: $ROOT/tests/bad/import-unknown-adapter.out:2: a cable to "H-1", which has no record in the file
? 2
