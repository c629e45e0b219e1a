# Where ranks lie: unevenly, and in another order than GPUs.

# --- 15 of 16 GPUs: stages of 15 ranks, 8 on one node and 7 on the other, uneven experts
$ moesim rank --topo hgx-h100:2 --degrade 'unit[0].node[0].gpu[3]:down' --model deepseek-v3.json --concurrency 256 --top 1 >broken; grep -E '^ *1  TP' broken | cut -c1-35
> 1  TP1 PP1 DP15 EP15 x1 tbo-prefill

# --- 144 ranks over two racks, 32 of them with one expert more
$ moesim rank --topo nvl72:2,ib=400Gbps --model kimi-k3.json --top 2 --format csv --placement linear | cut -d, -f2,3
> plan,gpus
> TP6 PP1 DP24 EP144 x1 tbo-prefill,144
> TP6 PP1 DP24 EP144 x1,144

# --- in one order
$ moesim rank --topo hgx-h100:4 --model deepseek-v3.json --concurrency 256 --placement stages --top 1 --save placed >table; grep -E '^ *1  TP' table | cut -c1-49
> 1  TP1 PP2 DP16 EP16 x1 tbo-prefill placed stages
$ grep '"placement"' placed/plan-001.json
>       "placement": "stages",
$ moesim simulate placed/plan-001.json | grep -c '^TPOT'
> 1
$ moesim explain placed/plan-001.json | grep -oE '^plan .* placed stages'
> plan       TP1 PP2 DP16 EP16 x1 tbo-prefill placed stages

# engines cannot be told
$ moesim emit placed/plan-001.json
! moesim: pools[0]: placement "stages": vllm puts ranks on GPUs and nodes in their order, expected "linear"
? 1

# --- in each order that differs: what does not is counted
$ moesim rank --topo hgx-h100:2 --model qwen3-30b-a3b.json --isl 1k --osl 128 --concurrency 64 --placement any --top 1 | grep -E -A2 'searched: placement|searched: the machine' | sed -E 's/^ +[0-9]+/N/'
> N  not searched: placement is that of ranks in order, by symmetry
>         TP1 PP1 DP16 EP16 x1 placed stages: placement "stages" has as many ranks of each group on a
>         node as in order
> N  not searched: the machine has no such placement
>         TP1 PP1 DP16 EP16 x1 placed leaves: placement "leaves": the machine has no leaves above its
>         nodes of 8 GPUs

# --- bad input
$ moesim rank --topo hgx-h100:2 --model qwen3-30b-a3b.json --placement scattered
! moesim: --placement: expected linear, stages, nodes, leaves, packed or any, found "scattered"
? 2
$ moesim rank --topo hgx-h100:2 --model qwen3-30b-a3b.json --placement nodes --pools separate
! moesim: --placement: not done for separate pools, expected --pools unified
? 2
