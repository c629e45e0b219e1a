# moesim fit: what fits where, term by term. Weights: those of `moesim model`, cut by TP; the cache of
# DeepSeek-V3: 61 x 1,152 B per token on every TP rank; vLLM samples 1,024 x 129,280 logits at 38 B.

$ moesim fit deepseek-v3 --topo hgx-h200 --tp 8 --isl 8k --osl 192 -c 16
> model      deepseek-v3, 61 layers, cache in bf16
> engine     vllm, 0.92 of memory (default) for all but graphs
> asked      8192 tokens of context, 16 at once over each plan, lengths fixed:8192
> machine    hgx-h200, 8 GPUs of 151 GB
> plan       TP8 PP1 DP1 EP1 x1, GPUs 8 = 8 tp x 1 dp x 1 pp x 1 replica
> step       8192 new tokens on an attention-DP rank
>
> memory of a GPU of each stage, with the sequences asked for
> layers  weights  kv cache  recurrent state  activations  communication buffers  engine reserve  cuda graphs  usable     left
>   0-60  85.4 GB   9.21 GB                       5.27 GB                 451 MB          140 MB      1.07 GB  139 GB  38.2 GB
>
> cache of a GPU of the fullest stage, groups by rule near
> cache       layers  B per token and layer  B per entry  B of state  tokens per page  groups  padding layers
> all tokens      61                   1152                                        64       1
>
> paging     a sequence of these lengths takes 576 MB for 576 MB: 0.00 % lost to pages and groups
> room       47.4 GB for cache and state; 70272 B per token
> longest    163840 tokens of one sequence, the model's own limit
> most       82 sequences of 8192 tokens at once, 82 on each attention-DP rank
> tokens     675126 of cache on each of 1 attention-DP ranks
>
> fits

# 48 layers of 2 x 4 x 128 x 2 B: a quarter of it with TP 4; lengths of 1 to 16 tokens take a page each
$ moesim fit qwen3-30b-a3b --devices "H100 SXM" --tp 4 --memory 81083MiB --memory-fraction 0.9 --lengths uniform:1-16 --format json
> {
>   "moesim": "fit",
>   "version": 1,
>   "model": "qwen3-30b-a3b",
>   "engine": "vllm",
>   "kv_format": "bf16",
>   "context_tok": 8192,
>   "concurrency": 1,
>   "lengths": "uniform:1-16",
>   "rows": [
>     {
>       "machine": "8 x H100 SXM",
>       "device": "H100 SXM",
>       "gpu_memory_B": 85021687808,
>       "requantised": "",
>       "plan": "TP4 PP1 DP1 EP1 x1",
>       "gpus": 4,
>       "legal": true,
>       "fits": true,
>       "reason": "",
>       "chunk_tok": 8192,
>       "fullest_stage": 0,
>       "available_B": 54664466432,
>       "longest_context_tok": 40960,
>       "most_sequences_per_dp_rank": 271,
>       "most_requests": 271,
>       "cache_tok_per_dp_rank": 2224302,
>       "converting_B": 0,
>       "sequence_taken_B": 393216,
>       "sequence_used_B": 208896,
>       "elsewhere_step_s": 0,
>       "stages": [
>         {
>           "first_layer": 0,
>           "layers": 48,
>           "memory_B": {
>             "weights": 15285252096,
>             "kv cache": 201326592,
>             "recurrent state": 0,
>             "activations": 5979242496,
>             "communication buffers": 450971566,
>             "engine reserve": 139586437,
>             "cuda graphs": 1073741824
>           },
>           "checkpoint_B": 15285252096,
>           "added_by_engine_B": 0,
>           "usable_B": 76519519027,
>           "over_B": 0,
>           "available_B": 54664466432,
>           "token_B": 24576,
>           "sequence_B": 201326592,
>           "longest_context_tok": 40960,
>           "most_sequences": 271,
>           "group_layers": 0,
>           "page_B": 0,
>           "padding_layers": 0,
>           "padding_of_kind": 0,
>           "cache_kinds": [
>             {"layers": 48, "token_B": 512, "window_tok": 0, "entry_B": 0, "entry_tok": 0, "state_B": 0, "page_tok": 16, "groups": 1, "padding_layers": 0}
>           ]
>         }
>       ]
>     }
>   ]
> }

# a size that a log prints with few digits is rounded down: 79.18 x 2^30 B = 85018877624.32 B
$ moesim fit qwen3-30b-a3b --devices H200 --tp 4 --memory 79.18GiB --format json | grep gpu_memory_B
>       "gpu_memory_B": 85018877624,

# Simple plans: the smallest that fits of each kind and the widest
$ moesim fit kimi-k3 --topo nvl72 --context 131072 -c 64
> model      kimi-k3, 93 layers, cache in bf16
> engine     vllm, 0.92 of memory (default) for all but graphs
> asked      131072 tokens of context, 64 at once over each plan, lengths fixed:131072
> machine    nvl72, 72 GPUs, 72 of them in a group
>
> plan                  GPUs  fits  weights     room  longest  most at once  overflows in
> TP32 PP1 DP1 EP32 x1    32  no    59.9 GB   116 GB  1048576            31  kv cache
>         kv cache 232 GB, weights 59.9 GB, activations 6.61 GB, recurrent state 1.02 GB,
>         communication buffers 451 MB and engine reserve 140 MB exceed the usable 183 GB by 117 GB
> TP1 PP1 DP64 EP64 x1    64  yes    137 GB  25.7 GB   911360           384
> TP1 PP1 DP72 EP72 x1    72  yes    135 GB  27.3 GB   968320           432

# Machines and formats: the smallest plan that fits
$ moesim fit deepseek-v3 --topo hgx-h100+hgx-h200 --formats fp8,fp4 --engine sglang
> model      deepseek-v3, 61 layers, cache in bf16
> engine     sglang, fraction of memory by its own rule for weights and cache
> asked      8192 tokens of context (default), 1 at once over each plan, lengths fixed:8192
> formats    hypothetical: attention and feed-forward matrices re-quantised, with scales; converting: with the weights as they are, when an engine does so at load
>
> machine    memory  weights as  plan                GPUs  fits  weights  converting      room  longest  most at once  overflows in
> hgx-h100  85.0 GB  fp8         TP8 PP1 DP1 EP1 x1     8  no    85.1 GB     86.5 GB  -15.7 GB        0             0  weights
>         weights 85.1 GB and kv cache 576 MB exceed the usable 69.4 GB by 16.3 GB
> hgx-h100  85.0 GB  fp4         TP8 PP1 DP1 EP1 x1     8  yes   48.2 GB     85.9 GB   21.3 GB   163840            36
> hgx-h200   151 GB  fp8         TP8 PP1 DP1 EP1 x1     8  yes   85.1 GB     86.5 GB   50.0 GB   163840            86
> hgx-h200   151 GB  fp4         TP4 PP1 DP1 EP1 x1     4  yes   95.6 GB      171 GB   40.1 GB   163840            69

# Stages of unequal weight: the one with the least room decides
$ moesim fit deepseek-v3 --devices H200 --tp 2 --pp 4 --format csv
> machine,gpu_memory_B,requantised,plan,gpus,fits,stage,weights_B,kv_cache_B,state_B,activations_B,communication_B,reserve_B,graphs_B,usable_B,over_B,available_B,token_B,longest_context_tok,most_sequences,reason
> 8 x H200 SXM,150754820096,,TP2 PP4 DP1 EP1 x1 vllm stages,8,yes,0,71261327392,141557760,0,5265424384,450971566,139586437,1073741824,138694434488,0,61577124709,17280,163840,434,
> 8 x H200 SXM,150754820096,,TP2 PP4 DP1 EP1 x1 vllm stages,8,yes,1,86732612640,141557760,0,5265424384,450971566,139586437,1073741824,138694434488,0,46105839461,17280,163840,325,
> 8 x H200 SXM,150754820096,,TP2 PP4 DP1 EP1 x1 vllm stages,8,yes,2,92514786816,150994944,0,5265424384,450971566,139586437,1073741824,138694434488,0,40323665285,18432,163840,267,
> 8 x H200 SXM,150754820096,,TP2 PP4 DP1 EP1 x1 vllm stages,8,yes,3,87659306016,141557760,0,5265424384,450971566,139586437,1073741824,138694434488,0,45179146085,17280,163840,319,
$ moesim fit deepseek-v3 --devices "RTX 4090" --gpus 32 --tp 8 --pp 4
> model      deepseek-v3, 61 layers, cache in bf16
> engine     vllm, 0.92 of memory (default) for all but graphs
> asked      8192 tokens of context (default), 1 at once over each plan, lengths fixed:8192
> machine    32 x RTX 4090, 32 GPUs of 25.8 GB
> plan       TP8 PP4 DP1 EP1 x1 vllm stages, GPUs 32 = 8 tp x 1 dp x 4 pp x 1 replica
> step       2048 new tokens on an attention-DP rank
>
> memory of a GPU of each stage, with the sequences asked for
> layers  weights  kv cache  recurrent state  activations  communication buffers  engine reserve  cuda graphs   usable      left
>   0-14  18.0 GB    142 MB                       1.32 GB                 451 MB          140 MB      1.07 GB  23.7 GB   3.63 GB
>  15-29  21.9 GB    142 MB                       1.32 GB                 451 MB          140 MB      1.07 GB  23.7 GB   -247 MB
>  30-45  23.4 GB    151 MB                       1.32 GB                 451 MB          140 MB      1.07 GB  23.7 GB  -1.72 GB
>  46-60  22.1 GB    142 MB                       1.32 GB                 451 MB          140 MB      1.07 GB  23.7 GB   -479 MB
>
> cache of a GPU of the fullest stage, groups by rule near
> cache       layers  B per token and layer  B per entry  B of state  tokens per page  groups  padding layers
> all tokens      16                   1152                                        64       1
>
> paging     a sequence of these lengths takes 151 MB for 151 MB: 0.00 % lost to pages and groups
> room       -1.57 GB for cache and state; 18432 B per token
> longest    0 tokens of one sequence
> most       0 sequences of 8192 tokens at once, 0 on each attention-DP rank
> tokens     0 of cache on each of 1 attention-DP ranks
>
> does not fit: stage 2 of 4: weights 23.4 GB, activations 1.32 GB, communication buffers 451 MB, kv cache 151 MB and engine reserve 140 MB exceed the usable 23.7 GB by 1.72 GB
? 1

# A state and a cache in pages of the same bytes, by another rule
$ moesim fit kimi-k3 --devices B300 --tp 8 --grouping gcd --context 1Mi
> model      kimi-k3, 93 layers, cache in bf16
> engine     vllm, 0.92 of memory (default) for all but graphs
> asked      1048576 tokens of context, 1 at once over each plan, lengths fixed:1048576
> machine    8 x B300 SXM, 8 GPUs of 288 GB
> plan       TP8 PP1 DP1 EP1 x1, GPUs 8 = 8 tp x 1 dp x 1 pp x 1 replica
> step       8192 new tokens on an attention-DP rank
>
> memory of a GPU of each stage, with the sequences asked for
> layers  weights  kv cache  recurrent state  activations  communication buffers  engine reserve  cuda graphs  usable     left
>   0-92   205 GB   29.0 GB          61.0 MB      6.61 GB                 451 MB          140 MB      1.07 GB  265 GB  23.9 GB
>
> cache of a GPU of the fullest stage, groups by rule gcd
> cache       layers  B per token and layer  B per entry  B of state  tokens per page  groups  padding layers
> state           69                                          814080                       23
> all tokens      24                   1152                                       768       8
>
> paging     a sequence of these lengths takes 29.1 GB for 29.0 GB: 0.07 % lost to pages and groups
> room       53.0 GB for cache and state; 27648 B per token
> longest    1048576 tokens of one sequence, the model's own limit
> most       1 sequences of 1048576 tokens at once, 1 on each attention-DP rank
> tokens     1911831 of cache on each of 1 attention-DP ranks
>
> fits

# Weights and cache in the host's memory, over its link
$ moesim fit deepseek-v3 --topo hgx-h100 --tp 8 --offload weights=30GB,kv=10GB
> model      deepseek-v3, 61 layers, cache in bf16
> engine     vllm, 0.92 of memory (default) for all but graphs
> asked      8192 tokens of context (default), 1 at once over each plan, lengths fixed:8192
> machine    hgx-h100, 8 GPUs of 85.0 GB
> plan       TP8 PP1 DP1 EP1 x1, GPUs 8 = 8 tp x 1 dp x 1 pp x 1 replica
> step       8192 new tokens on an attention-DP rank
>
> memory of a GPU of each stage, with the sequences asked for
> layers  weights  kv cache  recurrent state  activations  communication buffers  engine reserve  cuda graphs   usable     left
>   0-60  55.4 GB                                 5.27 GB                 451 MB          140 MB      1.07 GB  78.2 GB  17.0 GB
>
> cache of a GPU of the fullest stage, groups by rule near
> cache       layers  B per token and layer  B per entry  B of state  tokens per page  groups  padding layers
> all tokens      61                   1152                                        64       1
>
> paging     a sequence of these lengths takes 576 MB for 576 MB: 0.00 % lost to pages and groups
> room       17.0 GB for cache and state; 70272 B per token
> longest    163840 tokens of one sequence, the model's own limit
> most       46 sequences of 8192 tokens at once, 46 on each attention-DP rank
> tokens     241424 of cache on each of 1 attention-DP ranks
> elsewhere  weights 30.0 GB and cache 10.0 GB of a GPU in dram: read in 485 ms by each step
>
> fits

# What is wrong with the request
$ moesim fit deepseek-v3
! moesim: expected either --topo MACHINE or --devices NAME
? 2
$ moesim fit deepseek-v3 --topo hgx-h100 --devices H100
! moesim: expected either --topo MACHINE or --devices NAME
? 2
$ moesim fit deepseek-v3 --topo hgx-h100 --tp 16
! moesim: hgx-h100: the plan uses 16 GPUs, the machine has 8
? 2
$ moesim fit deepseek-v3 --topo hgx-h100 --tp 6 --ep 4
! moesim: --ep: 4 does not divide tp 6 x dp 1
? 2
$ moesim fit deepseek-v3 --topo hgx-h100 --context 1M
! moesim: 1000000 tokens of context, the model has at most 163840
? 2
$ moesim fit deepseek-v3 --topo hgx-h100 --context 10 --isl 10
! moesim: --context is the sum of --isl and --osl, expected one of the two
? 2
$ moesim fit deepseek-v3 --topo hgx-h100 --engine tgi
! moesim: unknown engine "tgi", expected vllm or sglang
? 2
$ moesim fit deepseek-v3 --topo hgx-h100 --formats fp9
! moesim: --formats: expected formats such as bf16,fp8,fp4, found "fp9"
? 2
$ moesim fit deepseek-v3 --topo hgx-h100+
! moesim: --topo: an empty name in "hgx-h100+"
? 2
$ moesim fit deepseek-v3 --devices nosuch
! moesim: unknown device "nosuch"
? 2
$ moesim fit deepseek-v3 --devices H100 --offload weights=1GB
! moesim: --offload needs --topo, which says over which link
? 2
$ moesim fit deepseek-v3 --topo hgx-h100 --offload weights=1TB
! moesim: --offload: dram of hgx-h100 has 250 GB for each GPU
? 2
$ moesim fit deepseek-v3 --topo hgx-h100 --offload disk=1TB
! moesim: --offload: expected weights=SIZE or kv=SIZE, found "disk=1TB"
? 2
$ moesim fit deepseek-v3 --topo hgx-h100 --offload kv=1GB --offload-to flash
! moesim: hgx-h100: no memory "flash" to put anything into
? 2
$ moesim fit deepseek-v3 --topo hgx-h100 --lengths uniform:9
! moesim: --lengths: expected lengths such as 1000-8000, found "9"
? 2
$ moesim fit deepseek-v3 --topo hgx-h100 --memory-fraction 1.5
! moesim: --memory-fraction: expected 0.001 to 1, found 1.5
? 2
$ moesim fit deepseek-v3 --topo hgx-h100 --tp 2 --dcp 3
> model      deepseek-v3, 61 layers, cache in bf16
> engine     vllm, 0.92 of memory (default) for all but graphs
> asked      8192 tokens of context (default), 1 at once over each plan, lengths fixed:8192
> machine    hgx-h100, 8 GPUs of 85.0 GB
> plan       TP2 PP1 DP1 EP1 x1 DCP3, GPUs 2 = 2 tp x 1 dp x 1 pp x 1 replica
>
> illegal: pools[0]: dcp 3 does not divide tp 2
? 1
$ moesim fit qwen3-30b-a3b --topo hgx-h100 --tp 8 --dcp 8 | tail -n 1
> illegal: dcp 8 does not divide 2, the copies that tp 8 keeps of each of 4 kv heads
$ $ROOT/tests/cli/plan_by_hand.sh deepseek-v3 8 2 1 8 >wide.json; moesim fit deepseek-v3 --topo hgx-h100 --plan wide.json
! moesim: hgx-h100: the plan uses 16 GPUs, the machine has 8
? 2
