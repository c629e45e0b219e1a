# whatif on machines that are small enough to search every cell in a moment. Figures move with the constants and are
# checked elsewhere (tests/sim/test_sweep.c); here is what is printed around them.

# --- one axis: inputs, table, winners, changes
$ moesim whatif --topo switch:4,450GB/s --model qwen3-30b-a3b.json --vary isl=500,1k --osl 64 -c 16 >one; sed '/^$/,$d' one
> machine    switch:4,450GB/s (switch:4,450GB/s): 4 x H100 SXM (default), 85.0 GB and 3.35 TB/s each
> model      qwen3-30b-a3b: 30.5 G parameters, 61.1 GB checkpoint
> workload   chat.json (no --scenario was given): ISL 4096 (default), OSL 64, concurrency 16
> engine     prefill chunk 8192 (default), KV cache in bf16 (default), memory fraction 0.900 (default)
> limits     TTFT <= 2.00 s (default), TPOT <= 50.0 ms (default); plans over a limit are left out
> price      $1.99 (default) for a GPU and hour (device catalogue, low end of $1.99 to $5.00: advertised on-demand prices, mercatus-ai.com, May 2026; median 2.95 over 37 providers, aimultiple.com/gpu-index, 20 May 2026)
> constants  default
> vary       isl over 2 values, 500 to 1000
> plan       the best of each cell, by throughput

$ sed -n '/tok\/s\/GPU  /p' one | tr -s ' '
>  isl best plan GPUs tok/s/GPU tok/s/user TTFT TPOT $/Mtok bottleneck

$ sed -n '/^ *[0-9]/p' one | awk '{ print $1, $2 }'
> 500 A
> 1000 A

# --- the format of the cache is an input of the cell, not another plan
$ moesim whatif --topo switch:4,450GB/s --model qwen3-30b-a3b.json --vary kv-format=bf16,fp8 --isl 500 --osl 64 -c 16 | awk '/^ *(bf16|fp8)/ { print $1, $2 } /^one plan/'
> bf16 A
> fp8 A
> one plan wins in all cells

# --- one node of a line with a network has none, and is a machine all the same
$ moesim whatif --topo hgx-h100:2,ib=200Gbps --model qwen3-30b-a3b.json --vary gpus=8:16 --isl 500 --osl 64 -c 16 | awk '/^ *(8|16) / { print $1, $2 }'
> 8 A
> 16 B

# --- two axes: a table of all cells, then the grid of winners
$ moesim whatif --topo switch:4,450GB/s --model qwen3-30b-a3b.json --vary gpus=2:4,link.nvlink=50:450GB/s --osl 64 --isl 500 -c 16 >two; grep -E '^(vary|plan|winner)' two
> vary       gpus over 2 values, 2 to 4
> vary       link.nvlink over 5 values, 50 GB/s to 450 GB/s
> plan       the best of each cell, by throughput
> winner and its tok/s/GPU, gpus down, link.nvlink across

# --- a plan that is held, and one that does not fit a cell
$ moesim whatif --topo switch:4,450GB/s --model qwen3-30b-a3b.json --vary gpus=4,2 --hold best-of-first --osl 64 --isl 500 -c 16 >held; grep -A1 -E 'none|^plan' held | sed -E 's/TP.*, the/PLAN, the/; s/takes [0-9]/takes N/'
> plan       PLAN, the best of the first cell, held in all, by throughput
>
> --
>    2  -  none
>         the plan takes N GPUs, the machine has 2

# --- files: CSV with a row for each cell, a picture; the same bytes each time
$ moesim whatif --topo switch:4,450GB/s --model qwen3-30b-a3b.json --vary isl=500,1k --osl 64 -c 16 --csv a.csv --svg a.svg --format csv >b.csv; cmp a.csv b.csv; head -n 1 a.csv; wc -l <a.csv; head -c 4 a.svg; ls
> isl_tok,feasible,winner,machine,plan,machine_gpus,plan_gpus,output_tok_per_s_per_gpu,output_tok_per_s_per_user,output_tok_per_s,ttft_s,tpot_s,usd_per_million_output_tok,bottleneck,reason
> 3
> <svga.csv
> a.svg
> b.csv
> held
> one
> two

# --- keys for programs
$ moesim whatif --topo switch:4,450GB/s --model qwen3-30b-a3b.json --vary isl=500 --osl 64 -c 16 --format json >one.json; grep -oE '"[A-Za-z_]+":' one.json | sort -u | paste -sd ' '
> "at": "axes": "bottleneck": "calibration": "cells": "changes": "confidence": "device": "feasible": "machine": "machine_gpus": "machines": "model": "model_digest": "moesim": "name": "objective": "output_tok_per_s": "output_tok_per_s_per_gpu": "output_tok_per_s_per_user": "plan": "plan_digest": "plan_gpus": "prefill_of_cycle_s": "price_source": "price_usd_per_gpu_hour": "requests_in_flight": "scenario_digest": "sequences_per_rank_and_micro_batch": "topology_digest": "tpot_lower_bound_s": "tpot_s": "ttft_lower_bound_s": "ttft_s": "usd_per_million_output_tok": "values": "version": "winner": "winners":

# --- parts that are down, and what they cost
$ moesim whatif --topo hgx-h100:2 --model qwen3-30b-a3b.json --vary 'fail=link|plane|nic|switch|gpu' --osl 64 --isl 500 -c 16 >fail; sed -n '/^vary/,/^plan/p' fail
> vary       fail over 6 values, none to gpu
>            link: unit.node[0].nic[0]>unit.leaf[0]:down
>            plane: unit.node[0].nvswitch[0]:down
>            nic: unit.node[0].nic[0]:down
>            switch: unit.leaf[0]:down
>            gpu: unit.node[0].gpu[0]:down
>            a job of NCCL that loses a NIC stops: each of its channels sends through one NIC; started
>            again, it has what is left; unless NICs were merged into one device and port failover was
>            set (NVIDIA/nccl issues 998 and 2192, of 2.29 and 2.30; RCCL alike: ROCm/rocm-systems
>            pull request 6145)
> plan       the best of each cell, by throughput

# --- the cheaper of two machines as the price of one rises
$ moesim whatif --topo hgx-h100:1+hgx-b200.json --model qwen3-30b-a3b.json --vary price.H100=1:64 --refine 1 --osl 64 --isl 500 -c 64 >price; sed -n '/^or/,/^plan/p' price; grep -c '^price.H100 between' price
> or         hgx-b200.json: 8 x B200 SXM, $6.03 for a GPU and hour (device catalogue, low end of $6.03 to $6.03: on-demand price, Spheron blog, 17 March 2026)
> vary       price.H100 over 7 values, $1.00 to $64.00
> plan       the best of each cell, by cost
> 1

# --- no cell has a plan: the nearest miss, status 1
$ moesim whatif --topo switch:4,450GB/s --model qwen3-30b-a3b.json --vary isl=500,1k --max-tpot 1ps >/dev/null 2>none; echo $?; sed -E 's/TP[^:]*:/PLAN:/; s/TPOT [0-9.]+ .s/TPOT N s/' none
> 1
> moesim: no plan is feasible in any cell; the first: PLAN: TPOT N s is over the limit of 1 ps

# --- what is not understood: one line, status 2
$ moesim whatif --topo hgx-h100:1 --model qwen3-30b-a3b.json
! moesim: whatif: --vary is missing: one or two of gpus, link.CLASS, fail, isl, osl, concurrency, kv-format, memory-fraction and price, such as isl=1k:64k
? 2

$ moesim whatif --vary isl=1k
! moesim: whatif: --topo is missing: a file, a shipped name such as nvl72.json, a machine such as hgx-h100:4, or several joined by +
? 2

$ moesim whatif --topo hgx-h100:1 --model qwen3-30b-a3b.json --vary isl=8k:1k
! moesim: --vary isl: 8k:1k runs backwards, expected the smaller end first
? 2

$ moesim whatif --topo hgx-h100:1 --model qwen3-30b-a3b.json --vary isl=1k:8k --isl 1k
! moesim: --isl: --vary gives its values
? 2

$ moesim whatif --topo hgx-h100:1+hgx-h100:1 --model qwen3-30b-a3b.json --vary isl=1k:8k
! moesim: --topo: hgx-h100:1 is listed twice
? 2

$ moesim whatif --topo hgx-h100:1 --model qwen3-30b-a3b.json --vary isl=1k:8k:0
! moesim: --vary isl: 1k:8k:0 has a step of 0
? 2

$ moesim whatif --topo hgx-h100:2 --model qwen3-30b-a3b.json --vary link.ib=200:1600
! moesim: --vary link.ib: expected a rate such as "400 Gbit/s", found "200": no unit
? 2

$ moesim whatif --topo hgx-h100:2 --model qwen3-30b-a3b.json --vary link.eth=200:1600Gbps
! moesim: --vary link.eth: hgx-h100:2 has no such links, it has nvlink, pcie, ib, memory, other
? 2

$ moesim whatif --topo hgx-h100:1 --model qwen3-30b-a3b.json --vary islt=1k
! moesim: --vary: unknown axis "islt", did you mean isl
? 2

$ moesim whatif --topo hgx-h100:1 --model qwen3-30b-a3b.json --vary isl=1k,osl=1k,price=2
! moesim: --vary: expected one or two axes, found 3
? 2

$ moesim whatif --topo hgx-h100:1 --model qwen3-30b-a3b.json --vary isl=1:100000:1,osl=1:10000:1
! moesim: --vary: 1000000000 cells, at most 4096
? 2

$ moesim whatif --topo hgx-h100:1 --model qwen3-30b-a3b.json --vary memory-fraction=0.5:1.5
! moesim: --vary memory-fraction: expected 0.001 to 1 in steps of 0.001, found 1.5
? 2

$ moesim whatif --topo hgx-h100:1 --model qwen3-30b-a3b.json --vary price.B200=1:2
! moesim: --vary price.B200: no machine of --topo is named "B200" or has such GPUs
? 2

$ moesim whatif --topo hgx-h100:1 --model qwen3-30b-a3b.json --vary isl=1k --refine 0
! moesim: --refine: expected 0.01 to 100 percent, found 0
? 2

# two pools are held too; three, or two that do the same, are not
$ moesim whatif --topo hgx-h100:1 --model qwen3-30b-a3b.json --vary isl=1k --osl 64 -c 64 --hold "$ROOT/tests/bad/whatif-two-pools.json" --format csv | cut -d, -f2-6
> feasible,winner,machine,plan,machine_gpus
> yes,A,hgx-h100:1,TP1 PP1 DP4 EP4 x1 + TP1 PP1 DP4 EP4 x1,8
$ sed 's/"kind": "decode"/"kind": "prefill"/' "$ROOT/tests/bad/whatif-two-pools.json" >same.json; moesim whatif --topo hgx-h100:1 --model qwen3-30b-a3b.json --vary isl=1k --hold same.json
! moesim: --hold: same.json: expected a prefill pool, then a decode pool, and a transfer
? 2

$ moesim whatif --topo hgx-h100:1 --model qwen3-30b-a3b.json --vary isl=1k --hold "$ROOT/tests/bad/whatif-micro-batches.json"
! moesim: --hold: $ROOT/tests/bad/whatif-micro-batches.json: expected at most 1024 micro-batches, found 4000
? 2

$ moesim whatif --topo hgx-h100:1 --model qwen3-30b-a3b.json --vary isl=1k --osl 16 --hold "$ROOT/tests/bad/whatif-large-plan.json" >/dev/null
! moesim: no plan is feasible in any cell; the first: the plan takes 4000 GPUs, the machine has 8
? 1

$ moesim whatif --topo hgx-h100:1 --model qwen3-30b-a3b.json --vary isl=1k --hold best-of-first --max-tpot 1ps 2>&1 | sed -E 's/TP[^:]*: .*/.../'
> moesim: --hold best-of-first: the first cell has no plan: ...

$ moesim whatif --topo hgx-h100:1+ --model qwen3-30b-a3b.json --vary isl=1k
! moesim: --topo: an empty name in "hgx-h100:1+"
? 2

$ moesim whatif --topo hgx-h100:1 --model qwen3-30b-a3b.json --vary isl=1k --osl 16 -c 16 --csv nosuch/a.csv
! moesim: --csv: nosuch/a.csv: cannot be written: no such file or folder
? 2

# --- separate pools: in each cell the better of both kinds, never worse than either; a held pair has its figures
$ for use in unified separate both; do moesim whatif --topo switch:4,450GB/s --model qwen3-30b-a3b --isl 4k --osl 64 --vary concurrency=16,64 --pools $use --format csv | tail -n +2 | cut -d, -f9; done | paste - - - - - - | awk '{ print ($5 >= $1 && $5 >= $3), ($6 >= $2 && $6 >= $4) }'
> 1 1
$ moesim whatif --topo switch:4,450GB/s --model qwen3-30b-a3b --isl 4k --osl 64 --vary concurrency=16,64 --pools both | sed -n '/^plan/p'
> plan       the best of each cell, by throughput; prefill and decode in pools of their own where that serves more
$ moesim whatif --topo switch:4,450GB/s --model qwen3-30b-a3b --isl 4k --osl 64 --vary concurrency=16,64 --pools separate --format json | grep -cE '"(bound_by|cache_per_request_B)"'
> 4
$ moesim whatif --topo switch:4,450GB/s --model qwen3-30b-a3b --vary isl=1k --pools both --objective tpot
! moesim: --objective tpot: separate pools are ordered by throughput or cost
? 2
$ moesim plan-capacity --topo switch:4,450GB/s --model qwen3-30b-a3b --isl 4k --osl 64 --tokens-per-day 1G --pools separate --format csv | cut -d, -f5 | grep -c ' + '
> 1

# --- Ctrl-C while cells are priced: no file, whole or half
$ env --default-signal=INT moesim whatif --topo hgx-h100:2 --model qwen3-30b-a3b --vary isl=500:16k,concurrency=16:4k --csv cut.csv --svg cut.svg >/dev/null & sleep 0.3; kill -INT $!; wait $!; echo $?; ls | grep -c cut
> 130
> 0
? 1
