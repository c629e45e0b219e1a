# Two GPUs of one Grace write to its DRAM, 512 GB/s for both: 9 GB / 512 GB/s = 17.58 ms.
$ printf '# of a tray\ntray[0].gpu[0-1], tray[0].dram[0], 4.5GB\n' >host.csv; moesim simulate --topo nvl72 --transfers host.csv --nominal
> machine    nvl72
> transfers  2 by host.csv, 9.00 GB
> time       17.6 ms (bound 17.6 ms, ratio 1.00)
> bandwidth  512 GB/s together, 256 GB/s to 256 GB/s each
> links      at nominal rates, no software time
> flow eps   0 (exact)
>
> from            to                  size      end  bandwidth
> tray[0].gpu[0]  tray[0].dram[0]  4.50 GB  17.6 ms   256 GB/s
> tray[0].gpu[1]  tray[0].dram[0]  4.50 GB  17.6 ms   256 GB/s
>
> links    volume  busiest link                       its volume  of capacity
> c2c     9.00 GB  tray[0].gpu[0] -> tray[0].cpu[0]      4.50 GB       56.9 %
> memory  9.00 GB  tray[0].cpu[0] -> tray[0].dram[0]     9.00 GB      100.0 %

# The same, each GPU of a rack to the memory of its Grace.
$ printf 'tray[t].gpu[i] tray[t].dram[i/2] 4.5GB\n' >rack.txt; moesim simulate --topo nvl72 --transfers rack.txt --nominal
> machine    nvl72
> transfers  72 by rack.txt, 324 GB
> time       17.6 ms (bound 17.6 ms, ratio 1.00)
> bandwidth  18.4 TB/s together, 256 GB/s to 256 GB/s each
> links      at nominal rates, no software time
> flow eps   0 (exact)
>
> links   volume  busiest link                       its volume  of capacity
> c2c     324 GB  tray[0].gpu[0] -> tray[0].cpu[0]      4.50 GB       56.9 %
> memory  324 GB  tray[0].cpu[0] -> tray[0].dram[0]     9.00 GB      100.0 %

# By packets of 4096 B and 66 B of headers: 1.6 % more.
$ printf 'tray[0].gpu[0-1], tray[0].dram[0], 5.12MB\n' >small.csv; moesim simulate --topo nvl72 --transfers small.csv --network packet | head -n 7
> machine    nvl72
> transfers  2 by small.csv, 10.2 MB
> time       20.6 us (bound 20.3 us, ratio 1.02)
> bandwidth  497 GB/s together, 248 GB/s to 248 GB/s each
> network    packets of 4096 B and 66 B of headers, nominal rates, no software time
> packets    2500, routed by stripe, seed 1
> buffers    fullest 375 kB of 377 kB, at tray[0].cpu[0]; a link stood for want of room for at most 7.71 us

# Two GPUs and one drive of 7.875 GB/s; another drive serves one from 1 s on.
$ printf 'gpu[0-1], nvme[0], 7.875GB\n2, nvme[1], 7.875 GB, 1s\n' >drives.csv; moesim simulate --topo hgx-a100 --transfers drives.csv --nominal
> machine    hgx-a100
> transfers  3 by drives.csv, 23.6 GB
> time       2.00 s (bound 2.00 s, ratio 1.00)
> bandwidth  11.8 GB/s together, 3.94 GB/s to 7.87 GB/s each
> links      at nominal rates, no software time
> flow eps   0 (exact)
>
> from    to          size   start     end  bandwidth
> gpu[0]  nvme[0]  7.88 GB    0 ps  2.00 s  3.94 GB/s
> gpu[1]  nvme[0]  7.88 GB    0 ps  2.00 s  3.94 GB/s
> gpu[2]  nvme[1]  7.88 GB  1.00 s  2.00 s  7.87 GB/s
>
> links     volume  busiest link        its volume  of capacity
> pcie     39.4 GB  gpu[0] -> pcie[0]      7.88 GB       12.5 %
> storage  23.6 GB  pcie[0] -> nvme[0]     15.8 GB      100.0 %

# A checkpoint of 63 GB a GPU, from the drive beside each: 8 x 7.875 GB/s, 8 s.
$ printf 'nvme[i], gpu[i], 63GB\n' >load.csv; moesim simulate --topo hgx-a100 --transfers load.csv --nominal --format json | head -n 19
> {
>   "moesim": "transfers",
>   "version": 1,
>   "machine": "hgx-a100",
>   "network": "flow",
>   "nominal": true,
>   "total_B": 504000000000,
>   "time_ps": 8000010200000,
>   "time_lower_bound_ps": 8000010200000,
>   "B_per_s": 62999919675,
>   "flow_eps": 0,
>   "flow_eps_error": 0,
>   "transfers": [
>     {"from": "nvme[0]", "to": "gpu[0]", "bytes": 63000000000, "start_ps": 0, "end_ps": 8000010200000, "B_per_s": 7874989959},
>     {"from": "nvme[1]", "to": "gpu[1]", "bytes": 63000000000, "start_ps": 0, "end_ps": 8000010200000, "B_per_s": 7874989959},
>     {"from": "nvme[2]", "to": "gpu[2]", "bytes": 63000000000, "start_ps": 0, "end_ps": 8000010200000, "B_per_s": 7874989959},
>     {"from": "nvme[3]", "to": "gpu[3]", "bytes": 63000000000, "start_ps": 0, "end_ps": 8000010200000, "B_per_s": 7874989959},
>     {"from": "nvme[4]", "to": "gpu[4]", "bytes": 63000000000, "start_ps": 0, "end_ps": 8000010200000, "B_per_s": 7874989959},
>     {"from": "nvme[5]", "to": "gpu[5]", "bytes": 63000000000, "start_ps": 0, "end_ps": 8000010200000, "B_per_s": 7874989959},

# An NPU and the memory of another node: 7 planes of 22.857 GB/s at the CPU that has it.
$ printf 'node[0].npu[0] node[1].dram[0] 16GB\n' >pool.txt; moesim simulate --topo cloudmatrix384 --transfers pool.txt --nominal
> machine    cloudmatrix384
> transfers  1 by pool.txt, 16.0 GB
> time       100 ms (bound 100 ms, ratio 1.00)
> bandwidth  160 GB/s together, 160 GB/s to 160 GB/s each
> links      at nominal rates, no software time
> flow eps   0 (exact)
>
> from            to                  size     end  bandwidth
> node[0].npu[0]  node[1].dram[0]  16.0 GB  100 ms   160 GB/s
>
> links    volume  busiest link                       its volume  of capacity
> ub      64.0 GB  node[1].l1[0] -> node[1].cpu[0]       2.29 GB      100.0 %
> memory  16.0 GB  node[1].cpu[0] -> node[1].dram[0]     16.0 GB       85.2 %

# Host memory of HGX H100: 4 GPUs of 63 GB/s by PCIe are less than a socket's 307 GB/s.
$ printf 'gpu[i], dram[i/4], 6.3GB\n' >dram.csv; moesim simulate --topo hgx-h100 --transfers dram.csv --nominal | tail -n 4
>
> links    volume  busiest link       its volume  of capacity
> pcie     101 GB  gpu[0] -> pcie[0]     6.30 GB      100.0 %
> memory  50.4 GB  cpu[0] -> dram[0]     25.2 GB       82.0 %

# Copy engines reach 0.88 of NVLink, loads and stores of kernels 0.8: 396 and 360 of 450 GB/s.
$ printf '0, 1, 45GB\n' >pair.csv; moesim simulate --topo hgx-h200 --transfers pair.csv | grep -E '^(links  |bandwidth)'
> bandwidth  396 GB/s together, 396 GB/s to 396 GB/s each
> links      by calibration default, bytes of GPUs moved by copy-engines
> links    volume  busiest link           its volume  of capacity

$ moesim simulate --topo hgx-h200 --transfers pair.csv --mover kernels | grep -E '^(links  |bandwidth)'
> bandwidth  360 GB/s together, 360 GB/s to 360 GB/s each
> links      by calibration default, bytes of GPUs moved by kernels
> links    volume  busiest link           its volume  of capacity

$ moesim simulate --topo hgx-h200 --transfers pair.csv --mover kernels --nominal
! moesim: --mover: at nominal rates all are the same, expected neither --nominal nor --network packet with it
? 2

$ moesim simulate --topo hgx-h200 --collective all-to-all --size 1MB --mover kernels
! moesim: --mover: a collective says itself what moves its bytes, expected --transfers with it
? 2

# Links as calibrated, and with a switch down.
$ printf 'gpu[*], gpu[*], 1GB\n' >all.csv; moesim simulate --topo hgx-h100 --transfers all.csv --degrade 'nvswitch[1]:down' --flow-eps 1e-3
> machine    hgx-h100
> transfers  56 by all.csv, 56.0 GB
> time       24.5 ms (bound 21.5 ms, ratio 1.14)
> degraded   nvswitch[1]:down; as built 17.7 ms, the faults cost +38.5 %
> bandwidth  2.29 TB/s together, 40.9 GB/s to 40.9 GB/s each
> links      by calibration default, bytes of GPUs moved by copy-engines
> flow eps   0.001 (each end waits at most 0 % of its time for others; what links stand idle meanwhile comes on top)
>
> links   volume  busiest link           its volume  of capacity
> nvlink  112 GB  gpu[0] -> nvswitch[2]     2.69 GB       88.0 %

$ printf '0, 1, 1MB\n0, nvswitch[0], 1MB\n' >bad.csv; moesim simulate --topo hgx-h100 --transfers bad.csv
! moesim: bad.csv:2:4: nvswitch[0] is a switch, which sends and receives nothing itself: expected a gpu, cpu, nic, memory or storage
? 2

$ printf '0, dram[2], 1MB\n' >bad.csv; moesim simulate --topo hgx-h100 --transfers bad.csv
! moesim: bad.csv:1:4: dram[2] does not exist, dram has indices 0 to 1
? 2

$ printf '0, 1\n' >bad.csv; moesim simulate --topo hgx-h100 --transfers bad.csv
! moesim: bad.csv:1:5: expected FROM, TO, BYTES and at most START, found 2 of them
? 2

$ printf '0, 1, 1e6\n' >bad.csv; moesim simulate --topo hgx-h100 --transfers bad.csv
! moesim: bad.csv:1:7: expected a size such as "80 GiB", found "1e6"
? 2

$ printf '0, dram[1], 1MB\n' >far.csv; moesim simulate --topo hgx-h100 --transfers far.csv --degrade 'cpu[1]:down'
! moesim: far.csv:1:4: gpu[0] cannot reach dram[1]
? 2

$ printf 'gpu[*], 1, 1MB\n' >down.csv; moesim simulate --topo hgx-h100 --transfers down.csv --degrade 'gpu[3]:down'
! moesim: down.csv:1:1: gpu[3] is down
? 2

$ printf '0, 1, 1EB\n' >bad.csv; moesim simulate --topo hgx-h100 --transfers bad.csv
! moesim: bad.csv:1:7: expected a size such as "80 GiB", found "1EB": unknown unit
? 2

$ printf '0, 1, 4611PB\n' >bad.csv; moesim simulate --topo hgx-h100 --transfers bad.csv
! moesim: bad.csv: the transfers take longer than 9223372 s, the most that can be timed
? 2

$ moesim simulate --topo hgx-h100 --transfers absent.csv
! moesim: absent.csv: no such file or folder
? 2

$ moesim simulate --transfers bad.csv
! moesim: simulate --transfers: expected --topo
? 2

$ moesim simulate --topo hgx-h100 --transfers bad.csv --collective all-to-all
! moesim: simulate --transfers: expected no --collective with it
? 2

$ moesim simulate plan.json --topo hgx-h100 --transfers bad.csv
! moesim: simulate: expected a plan or --transfers, found both
? 2

$ moesim simulate --topo hgx-h100 --transfers bad.csv --mtu 2KiB
! moesim: --mtu: flows have none, expected --network packet with it
? 2
