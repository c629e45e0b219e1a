# moesim load: sampled routing, and how even it is.

$ moesim load --help
> usage: moesim load [OPTION]... [FILE]
>
> make or summarise a load: which experts tokens go to
>
> With --law: samples what the tokens of a model choose, layer by layer, with its
> top-k and its groups. With FILE: reads a load that was made so or recorded.
> Prints the hottest expert of each layer over the mean, with --ep how even the
> load of GPUs is when experts lie in order and when DeepSeek's load balancer
> places them, and on how many nodes the experts of a sampled token lie.
>
> options:
>   -m, --model MODEL             whose routing: a config.json, its folder or a shipped name
>       --law LAW                 make a load: popularity of the experts, uniform, zipf:S or lognormal:SIGMA
>       --seed N                  with --law: of the random numbers (default 1)
>       --tokens N                with --law: of a layer, from all sources together (default 4096)
>       --layers N|all            with --law: how many layers, each drawn anew (default all)
>       --sources N               with --law: groups of ranks counted apart (default 1)
>       --expected                with --law: the shares that the law states, instead of sampled tokens
>       --nodes N                 nodes over which the experts lie (default 1)
>       --ep N                    say how even the load of N GPUs is, before and after EPLB
>       --redundant N             with --ep: redundant experts (default 0)
>       --assume FIELD=VALUE,...  take these values for fields of the model's config that are missing or not understood
>   -o, --out FILE                write the load (- for stdout, without the summary)
>   -f, --format table|json|csv   how to print the result (default table)

# 8 of 256 experts in 4 of 8 groups. A group on each of 8 nodes: no token is on more than 4 of them.
$ moesim load --model deepseek-v3 --law zipf:0.8 --seed 1 --tokens 4096 --layers 4 --ep 32 --redundant 32 --nodes 8 --out load.json
> load     zipf:0.8, seed 1, 4096 tokens, top 8 of 256 in 4 of 8 groups (digest e5f720a683dcfadd)
> counts   4 layers of 256 experts from 1 source
> nodes    a token's experts are on 3.98 of 8 nodes in the mean (5.29 when all experts are alike and no group is chosen)
> eplb     256 experts and 32 redundant ones on 32 GPUs, groups on 8 nodes
>
> layer  pairs  hottest  its pairs  over mean  balance  with eplb
>     0  32768       72       2102       16.4    0.298      0.683
>     1  32768      106       2214       17.3    0.375      0.639
>     2  32768      178       1979       15.5    0.362      0.626
>     3  32768      230       2231       17.4    0.360      0.646
> pairs of token and expert; balance is mean over largest of the GPUs

# The same counts from the file, on more GPUs; which nodes a token is on is not in it.
$ moesim load load.json --ep 64 --redundant 64 --format csv
> layer,pairs,hottest,its pairs,over mean,balance,with eplb
> 0,32768,72,2102,16.4,0.205,0.994
> 1,32768,106,2214,17.3,0.206,0.987
> 2,32768,178,1979,15.5,0.203,0.990
> 3,32768,230,2231,17.4,0.210,0.990

$ moesim load load.json --model deepseek-v3
! moesim: load.json: the load is of 4 layers, expected 58, or one for all
? 2

# What the law states, without sampling: no expert has more than one of a token's 8 choices.
$ moesim load --model qwen3-30b-a3b --law zipf:2 --expected --layers 2
> load     expected shares of zipf:2, seed 1, top 8 of 128 (digest 6c58081b8e698f5c)
> counts   2 layers of 128 experts from 1 source
>
> layer       pairs  hottest   its pairs  over mean
>     0  8589934596       24  1073741824       16.0
>     1  8589934596       13  1073741824       16.0
> pairs of token and expert

# With a group limit the mean of sampled tokens: an expert is missed where its group is.
$ moesim load --model deepseek-v3 --law zipf:2 --expected --layers 2
> load     expected shares of zipf:2, seed 1, top 8 of 256 in 4 of 8 groups, mean of 4096 tokens (digest b590442a01e715ac)
> counts   2 layers of 256 experts from 1 source
>
> layer       pairs  hottest   its pairs  over mean
>     0  8589934592      152  1063518208       31.7
>     1  8589934592      106  1070596096       31.9
> pairs of token and expert

# All experts alike: a balanced load is even but for the luck of its tokens.
$ moesim load --model qwen3-30b-a3b --law uniform --tokens 1024 --layers 1 --nodes 4 --ep 8 --format json
> {
>   "moesim": "load-summary",
>   "version": 1,
>   "origin": "uniform, seed 1, 1024 tokens, top 8 of 128",
>   "digest": "c484fbea94680b09",
>   "experts": 128,
>   "sources": 1,
>   "ep": 8,
>   "redundant_experts": 0,
>   "nodes_per_token": 3.6328125,
>   "tokens_by_nodes": [0, 0, 17, 342, 665],
>   "layers": [
>     {"pairs": 8192, "hottest_expert": 50, "hottest_pairs": 88, "hottest_over_mean": 1.375, "balance": 0.9651272384542884, "eplb_balance": 0.9990243902439024}
>   ]
> }

$ moesim load --model mixtral-8x7b --law lognormal:1 --tokens 16 --layers 1 --sources 2 --out -
> {
>   "moesim": "load",
>   "version": 2,
>   "experts": 8,
>   "sources": 2,
>   "origin": "lognormal:1, seed 1, 16 tokens, top 2 of 8",
>   "tokens": [
>     [2, 2, 0, 2, 2, 3, 4, 1],
>     [2, 3, 2, 2, 1, 4, 2, 0]
>   ]
> }

# Recorded counts.
$ moesim load "$ROOT/tests/golden/load.json" --ep 2
> load     recorded (digest 1599f2513edf2363)
> counts   2 layers of 4 experts from 1 source
> eplb     4 experts and 0 redundant ones on 2 GPUs
>
> layer  pairs  hottest  its pairs  over mean  balance  with eplb
>     0    100        3         40       1.60    0.714       1.00
>     1      7        3          7       4.00    0.500      0.500
> pairs of token and expert; balance is mean over largest of the GPUs

# Plans under a skewed load: its name and digest are among the inputs of the result.
$ moesim rank --topo hgx-h100:1 --model qwen3-30b-a3b --concurrency 8 --top 1 --load zipf:0.8 --format json | grep -A 3 '"load"'
>     "load": {
>       "name": "expected shares of zipf:0.8, seed 1, top 8 of 128",
>       "digest": "9c59966a4436421e"
>     }
$ moesim rank --topo hgx-h100:1 --model qwen3-30b-a3b --concurrency 8 --top 1 --save plans >saved.txt && moesim simulate plans/plan-001.json --load zipf:0.8 | grep -E '^(load|repr)'
> load       expected shares of zipf:0.8, seed 1, top 8 of 128
> reproduced: yes

# Each bad use or input: one line, status 2.
$ moesim load
! moesim: load: expected a FILE, or --law and --model to make one
? 2
$ moesim load --law zipf:1
! moesim: load: --law needs --model: a config.json or a shipped name
? 2
$ moesim load --law zipf --model deepseek-v3
! moesim: --law: expected "uniform", "zipf:S" or "lognormal:SIGMA", found "zipf"
? 2
$ moesim load --law zipf:1 --model deepseek-v3 "$ROOT/tests/golden/load.json"
! moesim: load: expected a FILE, or --law and --model to make one, found both
? 2
$ moesim load nosuch.json
! moesim: nosuch.json: no such file or folder
? 2
$ moesim load "$ROOT/tests/golden/load.json" --seed 3
! moesim: --seed: belongs to --law
? 2
$ moesim load "$ROOT/tests/golden/load.json" --model deepseek-v3
! moesim: $ROOT/tests/golden/load.json: the load is of 4 experts, expected 256
? 2
$ moesim load "$ROOT/tests/golden/load.json" --ep 5
! moesim: --ep: 4 experts are fewer than 5 ranks
? 2
$ moesim load "$ROOT/tests/golden/load.json" --ep 3
! moesim: 4 experts and 0 redundant ones are not the same number on 3 GPUs; with 2 redundant ones they are
? 2
$ moesim load "$ROOT/tests/golden/load.json" --redundant 3
! moesim: --redundant: needs --ep, the GPUs that have the experts
? 2
$ moesim load "$ROOT/tests/golden/load.json" --ep 4 --nodes 3
! moesim: 4 GPUs are not the same number on 3 nodes
? 2
$ moesim load --law zipf:1 --model deepseek-v3 --tokens 99999999999
! moesim: 99999999999 tokens in 58 layers that choose 8 of 256 experts are too many to sample
? 2
$ moesim load --law zipf:1 --model deepseek-v3 --layers 99999999999
! moesim: --layers: expected at most 4294967295, found 99999999999
? 2
$ moesim load --law zipf:1 --model deepseek-v3 --layers some
! moesim: --layers: expected a number or "all", found "some"
? 2
$ moesim load "$ROOT/tests/golden/plan.json"
! moesim: $ROOT/tests/golden/plan.json:2:13: moesim: expected "load", found "plan"
? 2
$ moesim rank --topo hgx-h100:1 --model qwen3-30b-a3b --load zipf:9
! moesim: --load: expected a number from 0 to 8 after "zipf:", found "9"
? 2
$ moesim rank --topo hgx-h100:1 --model qwen3-30b-a3b --load nosuch.json
! moesim: nosuch.json: no such file or folder
? 2
$ moesim rank --topo hgx-h100:1 --model qwen3-30b-a3b --load "$ROOT/tests/golden/load.json"
! moesim: $ROOT/tests/golden/load.json: the load is of 4 experts, expected 128
? 2
$ moesim simulate plans/plan-001.json --load normal:1
! moesim: normal:1: no such file or folder
? 2
