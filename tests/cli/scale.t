# moesim scale: a plan of a large machine, small enough to run here.

# --- DeepSeek-V3 on an NVL72 becomes 8 ranks with an eighth of the widths; the plan says where it comes from and comes out again
$ moesim rank --topo nvl72 --model deepseek-v3 --top 1 --save large >/dev/null; moesim scale large/plan-001.json --ranks 8 --hidden 1/8 --layers 4 --save small; moesim simulate small/plan-001.json | tail -n 1; sed -n 4p small/plan-001.json
>                                        as saved                          scaled
> plan           TP1 PP1 DP72 EP72 x1 tbo-prefill  TP1 PP1 DP8 EP8 x1 tbo-prefill
> ranks                                        72                               8
> layers                                       61                               4
> hidden size                                7168                             896
> experts                                     256                              24
> parameters, M                            671026                              98
> concurrency                                1024                             120
>
> on large/topology.json: TTFT 2.04 ms, TPOT 1.28 ms
> reproduced: yes
>   "origin": "scaled from plan-001.json (plan digest 2f4fcec3396bc2fc): 8 of 72 ranks, hidden 896 of 7168, 4 of 61 layers, 24 of 256 experts",

# --- on another machine, with fewer tokens
$ moesim scale large/plan-001.json --ranks 4 --hidden 1/16 --layers 2 --isl 64 --osl 8 --topo switch:4,25MB/s --format json
> {
>   "moesim": "scale",
>   "version": 1,
>   "origin": "scaled from plan-001.json (plan digest 2f4fcec3396bc2fc): 4 of 72 ranks, hidden 448 of 7168, 2 of 61 layers, 16 of 256 experts",
>   "as_saved": {
>     "plan": "TP1 PP1 DP72 EP72 x1 tbo-prefill",
>     "ranks": 72,
>     "layers": 61,
>     "hidden_size": 7168,
>     "experts": 256,
>     "parameters": 671026419200,
>     "concurrency": 1024
>   },
>   "scaled": {
>     "plan": "TP1 PP1 DP4 EP4 x1 tbo-prefill",
>     "ranks": 4,
>     "layers": 2,
>     "hidden_size": 448,
>     "experts": 16,
>     "parameters": 13237712,
>     "concurrency": 60
>   },
>   "output_tok_per_s_per_gpu": 273.7022817803091,
>   "output_tok_per_s_per_user": 139.51229977482305,
>   "output_tok_per_s": 1094.8091271212363,
>   "requests_in_flight": 60,
>   "ttft_s": 0.026966504926,
>   "ttft_lower_bound_s": 0.02064784,
>   "tpot_s": 0.007167826791,
>   "tpot_lower_bound_s": 0.0048404,
>   "prefill_of_cycle_s": 0.388257801404,
>   "usd_per_million_output_tok": 4.607601744889212,
>   "bottleneck": "nvlink bandwidth",
>   "confidence": "default"
> }

# --- what cannot be
$ moesim scale large/plan-001.json --ranks 100; moesim scale large/plan-001.json --hidden 1/3; moesim scale large/plan-001.json --hidden 0; moesim scale large/plan-001.json --layers 62
! moesim: --ranks: expected 1 to 72, found 100
! moesim: large/deepseek-v3.json:4:18: hidden_size: 7168 cannot be divided by 3
! moesim: --hidden: expected a part such as 1/16 (1/4096 at most), found "0"
! moesim: --layers: expected 1 to 61, found 62
? 2
$ moesim scale large/plan-001.json --ranks 8 --topo switch:4,25MB/s; moesim scale large/plan-001.json --ranks 4 --save small; moesim scale nothing.json; moesim scale large/plan-001.json --device H200
! moesim: switch:4,25MB/s: 4 GPUs, expected at least 8
! moesim: small: the folder is not empty, expected a new or an empty one; --force replaces what moesim saved there
! moesim: nothing.json: no such file or folder
! moesim: --device: expected --topo with it
? 2

# --- one rank has no all-to-all and nothing beside it, which the plan says; groups keep as many experts as the router chooses
$ moesim scale large/plan-001.json --ranks 1 --hidden 1/8 --layers 4 --save one | grep -E '^(plan|experts)'; grep -o 'experts; dropped.*' one/plan-001.json; moesim simulate one/plan-001.json | tail -n 1
> plan           TP1 PP1 DP72 EP72 x1 tbo-prefill  TP1 PP1 DP1 EP1 x1
> experts                                     256                  16
> experts; dropped: prefill_overlap, prefill_sms",
> reproduced: yes

# --- a processor without SMs has none to give
$ moesim scale large/plan-001.json --ranks 4 --hidden 1/8 --layers 4 --topo switch:4,10GB/s --device 'CPU core' --isl 128 --osl 8 --save cores | grep ^plan; grep -o 'experts; dropped.*' cores/plan-001.json; moesim simulate cores/plan-001.json | tail -n 1
> plan           TP1 PP1 DP72 EP72 x1 tbo-prefill  TP1 PP1 DP4 EP4 x1 tbo-prefill
> experts; dropped: prefill_sms",
> reproduced: yes
