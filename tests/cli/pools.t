# Separate pools of prefill and decode: their ratio, the transfer between them, and who wins. Figures
# move with the constants and are checked in tests/sim/test_pools.c.

# --- a link that is too slow for caches: unified plans win
$ moesim rank --topo switch:2,100MB/s --model qwen3-30b-a3b --isl 2k --osl 256 -c 32 --pools both --top 1 --max-ttft 60s >slow; sed -n '/^best/,/^memory/p' slow | sed -E 's/ +/ /g; s/[0-9]+(\.[0-9]+)?/N/g'
> best: unified TPN PPN DPN EPN xN: N tok/s/GPU, Nx the N tok/s/GPU of the best separate pools
>
> # ratio prefill decode GPUs tok/s/GPU tok/s/user TTFT TPOT transfer exposed batch bound by
>  unified TPN PPN DPN EPN xN N, N idle N N N ms N ms N memory bandwidth
> N NPND TPN PPN DPN EPN xN TPN PPN DPN EPN xN N + N, N idle N N N s N ms N s N s N transfer
>
> of N:
> transfer: the cache of a request is N MB, N MB arrive with its copies; links carry N requests/s, bound by gpu[N] -> switch (nvlink, N MB/s); N are served
> decode: transfers beside decode were not simulated: they lengthen a step by N % at most
> memory: a decode rank has room for N sequences, N decode and N are received; a prefill rank holds N until it is sent

# --- a fast one: what is said of the best pools
$ moesim rank --topo switch:4,450GB/s --model qwen3-30b-a3b --isl 4k --osl 64 -c 64 --pools separate --top 3 >fast; sed -n '/^best/,$p' fast | sed -E 's/ +/ /g; s/[0-9]+(\.[0-9]+)?/N/g'
> best: separate pools NPND: N tok/s/GPU
>
> # ratio prefill decode GPUs tok/s/GPU tok/s/user TTFT TPOT transfer exposed batch bound by
> N NPND TPN PPN DPN EPN xN TPN PPN DPN EPN xN N + N, N idle N N N ms N ms N ms N us N prefill
> N NPND TPN PPN DPN EPN xN TPN PPN DPN EPN xN N + N, N idle N N N ms N ms N ms N us N prefill
> N NPND TPN PPN DPN EPN xN TPN PPN DPN EPN xN N + N, N idle N N N ms N ms N ms N us N concurrency
>
> of N:
> transfer: the cache of a request is N MB, N MB arrive with its copies; links carry N requests/s, bound by gpu[N] -> switch (nvlink, N GB/s); N are served
> decode: transfers beside decode were not simulated: they lengthen a step by N % at most
> memory: a decode rank has room for N sequences, N decode and N are received; a prefill rank holds N until it is sent
> closed loop of N equal requests; TTFT does not queue: prefill, what is left of the transfer when the last layer is computed, and a decode step; TPOT is the mean of steps with and without transfers beside them
> tok/s/GPU counts output tokens over all N GPUs, idle ones too; prefill instances work at their unloaded rate beside their own sending
>
> ratios of N tok/s/GPU tok/s/GPU used bound by
> NPND N N prefill
> NPND N N prefill, most of the GPUs used
>
> N instances considered; N prefill and N decode instances simulated, N and N pruned by their lower bounds; N pairs solved, N simulated, N shown

# --- for programs
$ moesim rank --topo switch:4,450GB/s --model qwen3-30b-a3b --isl 4k --osl 64 -c 64 --pools both --top 1 --format csv | sed 1q
> rank,pools,ratio,prefill_instance,decode_instance,prefill_gpus,decode_gpus,idle_gpus,output_tok_per_s_per_gpu,output_tok_per_s_per_user,requests_per_s,ttft_s,tpot_s,transfer_s,transfer_exposed_s,cache_per_request_B,decode_batch,bound_by,transfer_link

$ moesim rank --topo switch:4,450GB/s --model qwen3-30b-a3b --isl 4k --osl 64 -c 64 --pools both --top 1 --format csv | cut -d, -f1,2 | sed 1d
> 1,separate
> ,unified

$ moesim rank --topo switch:4,450GB/s --model qwen3-30b-a3b --isl 4k --osl 64 -c 64 --pools both --top 1 --format json | grep -E '"(moesim|cache_per_request_B|link_class|link_capacity_Bps|no_pools_because|beside_decode_simulated)"'
>   "moesim": "pools",
>   "no_pools_because": null,
>         "cache_per_request_B": 393216000,
>         "link_class": "nvlink",
>         "link_capacity_Bps": 450000000000,
>         "beside_decode_simulated": false,

# --- instances of one's own: two prefill instances of one GPU feed one decode instance of two
$ moesim rank --topo switch:4,450GB/s --model qwen3-30b-a3b --isl 4k --osl 64 -c 64 --pools separate --top 1 --prefill-pool tp1,pp1,dp1,x2 --decode-pool tp2,pp1,dp1,ep2,x1 --format csv | cut -d, -f2-8
> pools,ratio,prefill_instance,decode_instance,prefill_gpus,decode_gpus,idle_gpus
> separate,2P1D,TP1 PP1 DP1 EP1 x2,TP2 PP1 DP1 EP2 x1,2,2,0

# --- saved plans have two pools: they are simulated again, and engines start them
$ moesim rank --topo hgx-h100:2 --model qwen3-30b-a3b --isl 4k --osl 64 -c 64 --pools separate --top 1 --prefill-pool tp1,pp1,dp1,ep1,x4 --decode-pool tp8,pp1,ep8,x1 --save pools >saved.txt; ls pools
> calibration.json
> plan-001.json
> qwen3-30b-a3b.json
> report.csv
> report.html
> report.json
> reproduce.sh
> saved.json
> scenario.json
> topology.json

$ moesim simulate pools/plan-001.json | sed -n '/^plan/,$p' | sed -E 's/[0-9]+(\.[0-9]+)? ([a-zA-Z]+)/N \2/g; s/[0-9.]+ %/N %/'
> plan       4P1D, N GPUs idle
> prefill    TPN PPN DPN EPN xN on GPUs 0-3: N requests/s, N prompts in a step on each rank
> decode     TPN PPN DPN EPN xN on GPUs 8-15: N requests/s, N sequences on each rank
>
> TTFT N ms = prefill N ms + transfer left over N us + decode step N ms
> throughput N tok/s/GPU, bound by prefill
> transfer: the cache of a request is N MB, N MB arrive with its copies; links carry N requests/s, bound by unit.node[0].nic[0] -> unit.leaf[0] (ib, N GB/s); N are served
> decode: a step takes N ms alone and N ms beside transfers, which come in N % of the time
> memory: a decode rank has room for N sequences, N decode and N are received; a prefill rank holds N until it is sent
> reproduced: yes

$ moesim simulate pools/plan-001.json --format json | grep -E '^  "(moesim|ratio|gpus|idle_gpus|reproduced)"'
>   "moesim": "pools simulation",
>   "ratio": "4P1D",
>   "gpus": 12,
>   "idle_gpus": 4,
>   "reproduced": true

$ moesim emit pools/plan-001.json --engine vllm | grep -o -E '^# pool .*|"kv_role":"[a-z_]*"|^vllm-router --vllm-pd-disaggregation'
> # pool 0, prefill: 4 GPUs = 1 tp x 1 dp x 1 pp x 4 replicas; experts 1 ep x 1 moe_tp
> "kv_role":"kv_producer"
> "kv_role":"kv_producer"
> "kv_role":"kv_producer"
> "kv_role":"kv_producer"
> # pool 1, decode: 8 GPUs = 8 tp x 1 dp x 1 pp x 1 replica; experts 8 ep x 1 moe_tp
> "kv_role":"kv_consumer"
> vllm-router --vllm-pd-disaggregation

$ sed 's/"replicas": 4/"replicas": 3/' pools/plan-001.json >pools/edited.json; moesim simulate pools/edited.json | tail -n 1
> reproduced: no
! moesim: the saved prediction was not reproduced

$ sed 's/"replicas": 4/"replicas": 9/' pools/plan-001.json >pools/edited.json; moesim simulate pools/edited.json
! moesim: pools/edited.json:8:12: pools: pools[0] on GPUs 0-8 and pools[1] on GPUs 8-15 overlap
? 2

$ sed 's/"kind": "decode"/"kind": "prefill"/' pools/plan-001.json >pools/edited.json; moesim simulate pools/edited.json
! moesim: pools/edited.json: expected a prefill pool, then a decode pool, and one transfer between them
? 2

$ moesim simulate pools/plan-001.json --form folded
! moesim: --form: not done for separate pools, expected a plan of one pool
? 2

$ moesim explain pools/plan-001.json --quick | grep -cE '^(prefill|decode): an instance of'
> 2

# --- what has no separate pools
$ moesim rank --topo switch:1,450GB/s --model qwen3-8b --pools separate
! moesim: separate pools: expected at least 2 GPUs, found 1
? 2

$ moesim rank --topo switch:2,450GB/s --model qwen3-30b-a3b --pools separate --osl 1
! moesim: separate pools: osl 1 leaves nothing to decode in a pool of its own, expected an osl above 1
? 2

$ moesim rank --topo switch:2,450GB/s --model deepseek-v3 --pools separate
! moesim: separate pools: no prefill instance on fewer than 2 GPUs: weights 673 GB, kv cache 864 MB and engine reserve 140 MB exceed the usable 76.5 GB by 598 GB
? 2

$ moesim rank --topo switch:2,450GB/s --model qwen3-30b-a3b --pools both --isl 128 --osl 1 -c 4 | sed -n '/^sep/p'
> separate pools: osl 1 leaves nothing to decode in a pool of its own, expected an osl above 1

$ moesim rank --topo switch:4,450GB/s --model qwen3-30b-a3b --pools separate --max-tpot 1us 2>&1 | sed -E 's/TPOT [0-9.]+ ms/TPOT N ms/'
> moesim: separate pools: no pair of instances is feasible; nearest miss: TPOT N ms is over the limit of 1.00 us

$ moesim rank --topo switch:4,450GB/s --model qwen3-30b-a3b --pools separate --prefill-pool tp1,x4 --decode-pool tp1
! moesim: separate pools: no numbers of instances have a place: a prefill instance takes 1 GPU at least and a decode instance 1, the machine has 4
? 2

$ moesim rank --topo switch:4,450GB/s --model qwen3-30b-a3b --pools separate --prefill-pool tp3
! moesim: separate pools: no prefill instance on fewer than 4 GPUs: none has such numbers
? 2

# --- options
$ moesim rank --topo switch:4,450GB/s --model qwen3-30b-a3b --pools prefill
! moesim: --pools: expected unified, separate or both, found "prefill"
? 2

$ moesim rank --topo switch:4,450GB/s --model qwen3-30b-a3b --prefill-pool tp1
! moesim: --prefill-pool: expected --pools separate or both with it
? 2

$ moesim rank --topo switch:4,450GB/s --model qwen3-30b-a3b --pools separate --prefill-pool tp1,tp2
! moesim: --prefill-pool: expected numbers of an instance such as "tp1,dp8,ep8", and x2 for two of them, found "tp1,tp2"
? 2

$ moesim rank --topo switch:4,450GB/s --model qwen3-30b-a3b --pools separate --decode-pool tp99999999999999999999
! moesim: --decode-pool: expected numbers of an instance such as "tp1,dp8,ep8", and x2 for two of them, found "tp99999999999999999999"
? 2

$ moesim rank --topo switch:4,450GB/s --model qwen3-30b-a3b --pools separate --decode-pool tp1,
! moesim: --decode-pool: expected numbers of an instance such as "tp1,dp8,ep8", and x2 for two of them, found "tp1,"
? 2

$ moesim rank --topo switch:4,450GB/s --model qwen3-30b-a3b --pools separate --samples 4
! moesim: --samples: not done for separate pools, expected --pools unified
? 2

$ moesim rank --topo switch:4,450GB/s --model qwen3-30b-a3b --pools separate --max-ttft 1ps
! moesim: separate pools: no prefill instance is feasible; nearest miss: prefill alone takes 39.1 ms, over the limit of TTFT of 1 ps
? 2

# --- the page of a saved folder: tables and pictures as of unified plans, whole and without anything fetched
$ ! command -v xmllint >/dev/null || xmllint --noout pools/report.html; grep -c '<svg' pools/report.html; grep -cE '<script|<img|<link|href=|src=|https:' pools/report.html; grep -o '<h2>[^<]*' pools/report.html
> 4
> 0
> <h2>plans
> <h2>pictures
> <h2>other ratios of the first pools, by arithmetic
> <h2>instances and pools that are not in the table

# --- what no engine's rule sees: pools of one kind, pools beyond the machine, an instance of one kind alone
$ sed 's/"kind": "prefill"/"kind": "decode"/' pools/plan-001.json >pools/edited.json; moesim check pools/edited.json
! moesim: pools/edited.json: 0 unified, 0 prefill and 2 decode pools, expected unified ones alone, or prefill and decode
? 2
$ moesim check pools/plan-001.json --topo hgx-h100
! moesim: pools/plan-001.json: pools[1]: GPUs 8-15 of a machine that has 8
? 2
$ echo 'vllm serve m -tp 2' | moesim import-plan - --model olmoe-1b-7b | sed 's/"kind": "unified"/"kind": "decode"/' >alone.json; moesim simulate alone.json; moesim explain alone.json
! moesim: alone.json: expected a unified pool, found one for decode alone
! moesim: alone.json: expected a unified pool, found one for decode alone
? 2
