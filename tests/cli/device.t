# --device: what the GPUs of a machine are, whatever it says of them.
$ printf '\tGPU0\tGPU1\tCPU Affinity\nGPU0\t X \tNV4\t0-7\nGPU1\tNV4\t X \t0-7\n' >dump.txt; moesim rank --topo dump.txt --model qwen3-30b-a3b --top 1
! moesim: dump.txt: the GPUs name no device of the catalogue, so nothing is known of them: add --device NAME
? 2
$ moesim rank --topo dump.txt --device A100 --model qwen3-30b-a3b --isl 1k --osl 128 -c 8 --top 1 --save plans | sed -nE '1s/,.*//p'; moesim simulate plans/plan-001.json | tail -n 1; grep -c '"A100 SXM 80G"' plans/topology.json
> machine    dump (dump.txt): 2 x A100 SXM 80G (--device; the machine names none)
> reproduced: yes
> 1

$ moesim topo dump.txt --device A100 | grep '^finding *the GPUs'
> finding   the GPUs were named A100 SXM 80G from outside

# --- the same machine with other GPUs: said wherever inputs are
$ moesim rank --topo nvl72 --device GB300 -c 64 --top 1 | sed -nE '1s/,.*//p'; moesim rank --topo nvl72 --device GB300 -c 64 --top 1 --format json | grep device_instead_of; moesim rank --topo nvl72 --device GB200 -c 64 --top 1 | sed -nE '1s/,.*//p'
> machine    GB200 NVL72 (nvl72): 72 x GB300 (--device
>     "device_instead_of": "GB200",
> machine    GB200 NVL72 (nvl72): 72 x GB200

$ moesim whatif --topo hgx-h100:2 --device H200 --model qwen3-30b-a3b --vary 'gpus=8:16,fail=nic' --isl 500 --osl 64 -c 16 --format json | grep -c '"feasible": true'; moesim whatif --topo hgx-h100:2 --device H200 --model qwen3-30b-a3b --vary gpus=8:16 --isl 500 --osl 64 -c 16 --format csv >a; moesim whatif --topo 'hgx-h100:2,device=H200' --model qwen3-30b-a3b --vary gpus=8:16 --isl 500 --osl 64 -c 16 --format csv >b; cut -d, -f 5- a | cut -d, -f4- >c; sed 's/"[^"]*"//' b | cut -d, -f5- | cut -d, -f4- | cmp - c
> 4

$ moesim fit qwen3-30b-a3b --topo hgx-h100 --device B200 | grep '^machine' | sed -E 's/of [0-9]+ GB/of N GB/'; moesim simulate --topo dump.txt --device H100 --collective all-reduce --size 1MiB | head -n 1 | grep -c dump; moesim check qwen3-30b-a3b --topo dump.txt --device H100 --tp 2 | grep ^machine
> machine    hgx-h100, 8 GPUs, 8 of them in a group
> 1
> machine    dump

# --- names that are none, and machines that are not read
$ moesim rank --topo nvl72 --device GB2000
! moesim: --device: unknown device "GB2000", did you mean "GB200"?
? 2
$ moesim topo nvl72 --device ConnectX-7
! moesim: --device: expected a GPU, found ConnectX-7, a nic
? 2
$ moesim fit qwen3-30b-a3b --devices H100 --device H200
! moesim: --device: expected --topo, whose GPUs it names; --devices names its own
? 2
$ moesim check qwen3-30b-a3b --device H200
! moesim: --device: expected --topo, whose GPUs it names
? 2
$ moesim simulate plans/plan-001.json --device H200
! moesim: --device: expected --collective or --transfers with it, found a saved plan
? 2
