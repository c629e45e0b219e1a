# moesim tenants: what several plans on one machine cost each other.

# --- Two tenants of two nodes each, both across the leaves of two nodes; whole leaves would keep them apart
$ echo '{"moesim": "scenario", "version": 1, "name": "short", "source": "test", "isl": 2048, "osl": 256, "concurrency": 64}' >short.json; $ROOT/tests/cli/plan_by_hand.sh qwen3-30b-a3b 1 1 16 16 >a.json; $ROOT/tests/cli/plan_by_hand.sh qwen3-235b-a22b 2 1 8 16 >b.json
$ moesim tenants a.json b.json --topo leafspine:nodes=8,gpus=8,nic=50GB/s,nvlink=450GB/s,leaf=16,oversubscription=4 -s short.json --at 8,24
> machine    leafspine:nodes=8,gpus=8,nic=50GB/s,nvlink=450GB/s,leaf=16,oversubscription=4, 64 GPUs, H100 SXM
> tenant 1   a.json: TP1 PP1 DP16 EP16 x1 on GPU 8-23, qwen3-30b-a3b, ISL 2048, OSL 256 (short.json, as the plan names no scenario), 4 sequences on an attention-DP rank and micro-batch
> tenant 2   b.json: TP2 PP1 DP8 EP16 x1 on GPU 24-39, qwen3-235b-a22b, ISL 2048, OSL 256 (short.json, as the plan names no scenario), 8 sequences on an attention-DP rank and micro-batch
> proof      32 GPUs, looked at one by one: each, with its memory, belongs to one tenant
>            host memory: the machine names none near them
>            cpu: the machine names none near them
>            nic: 32 near them, none near two tenants
>
> tenant  time    alone   shared   slowdown    least     most
>      1  TPOT  6.89 ms  6.89 ms  +0.0114 %  6.89 ms  6.89 ms
>      1  TTFT  76.4 ms  76.8 ms   +0.546 %  76.8 ms  76.8 ms
>      2  TPOT  22.8 ms  22.8 ms   +0.117 %  22.8 ms  22.8 ms
>      2  TTFT   182 ms   186 ms    +2.04 %   186 ms   186 ms
> each beside the decode steps of the others, back to back; mean, least and most over 8 offsets of theirs with 4 steps each (TTFT: until 16 of their steps were seen); expanded, 25 simulations
>
> contested  first link                links   capacity  tenant 1  tenant 2  together
> ib         unit[1].leaf -> spine[0]      8  50.0 GB/s    4.27 %    1.13 %    5.40 %
> part of a link's capacity that the decode of a tenant takes on average when it is alone
>
> places     4 others simulated
> best       decode steps 2.12 % shorter on average: --at 0,16
>            tenant 1 on GPU 0-15: TPOT 6.68 ms, alone 6.68 ms
>            tenant 2 on GPU 16-31: TPOT 22.6 ms, alone 22.6 ms
$ moesim tenants a.json b.json --topo leafspine:nodes=8,gpus=8,nic=50GB/s,nvlink=450GB/s,leaf=16,oversubscription=4 -s short.json --at 8,24 --placements 0 --format json
> {
>   "moesim": "tenants",
>   "version": 1,
>   "machine": "leafspine:nodes=8,gpus=8,nic=50GB/s,nvlink=450GB/s,leaf=16,oversubscription=4",
>   "topology_digest": "39f37d1693fee37c",
>   "calibration_digest": "6b341e597163c08f",
>   "tenants": [
>     {
>       "file": "a.json",
>       "plan": "TP1 PP1 DP16 EP16 x1",
>       "model": "qwen3-30b-a3b",
>       "first_gpu": 8,
>       "gpus": 16,
>       "sequences_per_rank_and_micro_batch": 4,
>       "tpot": {
>         "alone_s": 0.006891593688,
>         "shared_s": 0.006892381876,
>         "slowdown_percent": 0.011436948196363872,
>         "least_s": 0.006892352531,
>         "most_s": 0.006892445793
>       },
>       "ttft": {
>         "alone_s": 0.076368843275,
>         "shared_s": 0.076786113239,
>         "slowdown_percent": 0.5463876970054793,
>         "least_s": 0.076782551893,
>         "most_s": 0.076790610578
>       }
>     },
>     {
>       "file": "b.json",
>       "plan": "TP2 PP1 DP8 EP16 x1",
>       "model": "qwen3-235b-a22b",
>       "first_gpu": 24,
>       "gpus": 16,
>       "sequences_per_rank_and_micro_batch": 8,
>       "tpot": {
>         "alone_s": 0.022802658485,
>         "shared_s": 0.022829234538,
>         "slowdown_percent": 0.11654804643714822,
>         "least_s": 0.02282845435,
>         "most_s": 0.022830389292
>       },
>       "ttft": {
>         "alone_s": 0.182436297454,
>         "shared_s": 0.186152005991,
>         "slowdown_percent": 2.0367156036681155,
>         "least_s": 0.186152005991,
>         "most_s": 0.186152005991
>       }
>     }
>   ],
>   "proof": {
>     "gpus_of_one_tenant": 32,
>     "parts_near_tenants": [
>       {
>         "kind": "host memory",
>         "count": 0,
>         "shared": 0
>       },
>       {
>         "kind": "cpu",
>         "count": 0,
>         "shared": 0
>       },
>       {
>         "kind": "nic",
>         "count": 32,
>         "shared": 0
>       },
>       {
>         "kind": "pooled memory",
>         "count": 0,
>         "shared": 0
>       }
>     ]
>   },
>   "contested_links": [
>     {
>       "class": "ib",
>       "first": "unit[1].leaf -> spine[0]",
>       "links": 8,
>       "capacity": "50 GB/s",
>       "lone_share_by_tenant": [
>         0.04271479897070593,
>         0.011267242486461394
>       ],
>       "lone_share_together": 0.053982041457167326
>     }
>   ]
> }
# the order on the command line changes no number
$ T=leafspine:nodes=8,gpus=8,nic=50GB/s,nvlink=450GB/s,leaf=16,oversubscription=4; moesim tenants a.json b.json --topo $T -s short.json --at 8,24 --placements 0 -f csv | cut -d, -f2- | sort >ab.csv; moesim tenants b.json a.json --topo $T -s short.json --at 24,8 --placements 0 -f csv | cut -d, -f2- | sort | cmp - ab.csv && wc -l <ab.csv
> 3

# --- NVLink domains of their own: nothing is shared; the lone times are those of rank
$ moesim rank --topo hgx-h100:2 --model qwen3-30b-a3b --isl 2048 --osl 256 -c 64 --top 1 --save saved >saved.txt; $ROOT/tests/cli/plan_by_hand.sh qwen3-30b-a3b 1 1 8 8 >c.json; moesim tenants c.json c.json --topo hgx-h100:2 -s short.json --at 0,8
> machine    hgx-h100:2, 16 GPUs, H100 SXM
> tenant 1   c.json (number 1): TP1 PP1 DP8 EP8 x1 on GPU 0-7, qwen3-30b-a3b, ISL 2048, OSL 256 (short.json, as the plan names no scenario), 8 sequences on an attention-DP rank and micro-batch
> tenant 2   c.json (number 2): TP1 PP1 DP8 EP8 x1 on GPU 8-15, qwen3-30b-a3b, ISL 2048, OSL 256 (short.json, as the plan names no scenario), 8 sequences on an attention-DP rank and micro-batch
> proof      16 GPUs, looked at one by one: each, with its memory, belongs to one tenant
>            host memory: 4 near them, none near two tenants
>            cpu: 4 near them, none near two tenants
>            nic: 16 near them, none near two tenants
>
> tenant  time    alone   shared  slowdown    least     most
>      1  TPOT  7.97 ms  7.97 ms         0  7.97 ms  7.97 ms
>      1  TTFT  42.8 ms  42.8 ms         0  42.8 ms  42.8 ms
>      2  TPOT  7.97 ms  7.97 ms         0  7.97 ms  7.97 ms
>      2  TTFT  42.8 ms  42.8 ms         0  42.8 ms  42.8 ms
> each beside the decode steps of the others, back to back; mean, least and most over 8 offsets of theirs with 4 steps each (TTFT: until 16 of their steps were seen); folded, 28 simulations
>
> no link carries bytes of two tenants
>
> places     1 other simulated
> best       the given one
$ moesim tenants saved/plan-001.json --topo hgx-h100:2 -f csv | sed -n '2s/,/ /gp' | cut -d' ' -f5,10 | tr ' ' '\n' >lone.txt; sed -n 's/.*"\(tpot\|ttft\)_s": \([0-9.]*\).*/\2/p' saved/plan-001.json | sort -u | while read -r t; do grep -c "^$t" lone.txt; done
> 1
> 1

# --- Devices and memories are apart, or it is said which are not
$ moesim tenants c.json c.json --topo hgx-h100:2 -s short.json
! moesim: GPU 0 (unit.node[0].gpu[0]) is taken by both c.json (number 1) and c.json (number 2): --at says where each plan begins
? 2
$ moesim tenants c.json a.json --topo hgx-h100:4 -s short.json --at 8,0
! moesim: GPU 8 (unit.node[1].gpu[0]) is taken by both c.json and a.json
? 2
$ $ROOT/tests/cli/plan_by_hand.sh qwen3-30b-a3b 1 1 2 2 >d.json; moesim tenants d.json d.json --topo hgx-h100 -s short.json --at 0,2
! moesim: dram[0] is the host memory of both d.json (number 1) and d.json (number 2): move one of them, or add --share-hosts
? 2
$ moesim tenants d.json d.json --topo hgx-h100 -s short.json --at 0,2 --share-hosts --placements 0 | sed -n '/^proof/,/^$/p'
> proof      4 GPUs, looked at one by one: each, with its memory, belongs to one tenant
>            host memory: 1 near them, 1 shared, the first is dram[0] of tenants 1 and 2
>            cpu: 1 near them, 1 shared, the first is cpu[0] of tenants 1 and 2
>            nic: 4 near them, none near two tenants
>

# --- What cannot be done: one line, status 2
$ moesim tenants --topo hgx-h100
! moesim: tenants: missing operand, expected PLANS...
? 2
$ moesim tenants a.json
! moesim: tenants: --topo is missing: a file, a shipped name such as nvl72.json, or a machine such as hgx-h100:4
? 2
$ moesim tenants missing.json --topo hgx-h100
! moesim: missing.json: no such file or folder
? 2
$ moesim tenants a.json b.json --topo hgx-h100:2 -s short.json --at 0,16
! moesim: --at: expected a first GPU for each of 2 plans, all below 16 and joined by commas, found "16"
? 2
$ moesim tenants c.json c.json --topo hgx-h100:2 -s short.json --at 0,12
! moesim: c.json (number 2): 8 GPUs from GPU 12 on, the machine has 16
? 2
$ moesim tenants c.json c.json --topo hgx-h100:2 -s short.json --at 0
! moesim: --at: expected 2 first GPUs, one for each plan, found fewer
? 2
$ moesim tenants c.json c.json --topo hgx-h100:2 -s short.json --at 0,8,16
! moesim: --at: expected 2 first GPUs, one for each plan, found more
? 2
$ moesim tenants c.json c.json --topo hgx-h100:2 -s short.json --at 0,x
! moesim: --at: expected a first GPU for each of 2 plans, all below 16 and joined by commas, found "x"
? 2
$ moesim tenants c.json c.json --topo hgx-h100:2 -s short.json --at 0,99999999999999999999
! moesim: --at: expected a first GPU for each of 2 plans, all below 16 and joined by commas, found "99999999999999999999"
? 2
$ moesim tenants $ROOT/tests/bad/tenants-two-pools.json c.json --topo hgx-h100:2 -s short.json
! moesim: $ROOT/tests/bad/tenants-two-pools.json: expected one unified pool, found 2 pools (prefill first): tenants with prefill and decode pools are not simulated together
? 2
$ moesim tenants $ROOT/tests/bad/tenants-prefill-pool.json c.json --topo hgx-h100:2 -s short.json
! moesim: $ROOT/tests/bad/tenants-prefill-pool.json: expected one unified pool, found 1 pool (prefill first): tenants with prefill and decode pools are not simulated together
? 2
$ moesim tenants $ROOT/tests/bad/tenants-huge.json c.json --topo hgx-h100:2 -s short.json
! moesim: the plans use 1000008 GPUs together, the machine has 16
? 2
$ moesim tenants $ROOT/tests/bad/tenants-first-gpu.json c.json --topo hgx-h100:2 -s short.json
! moesim: $ROOT/tests/bad/tenants-first-gpu.json:6:5: pools[0]: first_gpu 4294967295 and 4 ranks are over 1000000 GPUs
? 2
$ moesim tenants d.json d.json --topo $ROOT/tests/bad/tenants-mixed-machine.json -s short.json --at 0,4
! moesim: $ROOT/tests/bad/tenants-mixed-machine.json: mixed GPUs (A100 SXM 80G and H100 SXM), expected one device
? 2
$ moesim tenants b.json --topo hgx-h100:2 -s long-context
! moesim: $ROOT/scenarios/long-context.json:7:10: isl: isl 131072 + osl 1024 is 132096 tokens, more than the model's context of 40960
? 2
$ moesim tenants c.json c.json --topo hgx-h100:2 -s short.json --at 0,8 --placements 1000000
! moesim: --placements: expected at most 256, found 1000000
? 2
$ moesim tenants $(yes c.json | head -n 65) --topo hgx-h100:2
! moesim: tenants: unexpected operand "c.json", expected PLANS...
? 2
$ moesim tenants $(yes c | head -n 100000) --topo hgx-h100:2
! moesim: tenants: unexpected operand "c", expected PLANS...
? 2
$ moesim tenants saved/plan-001.json --topo nvl72
> machine    GB200 NVL72, 72 GPUs, GB200
> tenant 1   saved/plan-001.json: TP1 PP1 DP16 EP16 x1 tbo-prefill on GPU 0-15, qwen3-30b-a3b, ISL 2048, OSL 256, 4 sequences on an attention-DP rank and micro-batch
> proof      16 GPUs, looked at one by one: each, with its memory, belongs to one tenant
>            host memory: 8 near them, none near two tenants
>            cpu: 8 near them, none near two tenants
>            nic: 16 near them, none near two tenants
>
> tenant  time    alone   shared  slowdown    least     most
>      1  TPOT  5.08 ms  5.08 ms         0  5.08 ms  5.08 ms
>      1  TTFT  16.5 ms  16.5 ms         0  16.5 ms  16.5 ms
> each beside the decode steps of the others, back to back; mean, least and most over 8 offsets of theirs with 4 steps each (TTFT: until 16 of their steps were seen); folded, 2 simulations
>
> no link carries bytes of two tenants
