# rank, simulate and explain on machines that are small enough to simulate every plan in a moment.

# --- inputs, headline, table, meaning, ledger, counts
$ moesim rank --topo switch:4,450GB/s --model qwen3-30b-a3b.json --isl 1k --osl 128 --concurrency 16 --top 1 >table; sed '/^best/,$d' table
> machine    switch:4,450GB/s (switch:4,450GB/s): 4 x H100 SXM (default), 85.0 GB and 3.35 TB/s each
> model      qwen3-30b-a3b: 30.5 G parameters, 61.1 GB checkpoint
> workload   chat.json (no --scenario was given): ISL 1000, OSL 128, concurrency 16
> engine     prefill chunk 8192 (default), KV cache in bf16 (default), memory fraction 0.900 (default)
> limits     TTFT <= 2.00 s (default), TPOT <= 50.0 ms (default); plans over a limit are left out
> price      $1.99 (default) for a GPU and hour (device catalogue, low end of $1.99 to $5.00: advertised on-demand prices, mercatus-ai.com, May 2026; median 2.95 over 37 providers, aimultiple.com/gpu-index, 20 May 2026)
> constants  default
> flow eps   0 (exact)
>

# figures move with the constants and are checked elsewhere
$ sed -n '/^best/,$p' table | sed -E 's/^best: .* on 4 of 4 GPUs: [0-9]+ (.*), at least [0-9.]+x (.*); .*/best: PLAN on 4 of 4 GPUs: N \1, at least Nx \2; .../; s/ +/ /g; s/^1 TP.*/1 .../; s/TP.*: at most .*/PLAN: at most .../; s/^ [0-9]+ pruned/ N pruned/; s/ [0-9]+ simulated, [0-9]+ feasible/ N simulated, N feasible/'
> best: PLAN on 4 of 4 GPUs: N tok/s/GPU, at least Nx the median of 26 plans; ...
>
> # plan GPUs tok/s/GPU $/Mtok tok/s/user TTFT bound TPOT bound headroom bottleneck confidence tie
> 1 ...
>
> 16 requests are 4.00 per GPU; the memory of plan 1 would hold 2136: a higher --concurrency loads the machine
> closed loop of 16 equal requests: all are prefilled, then decode together at their mean context of 1064 tokens
> tok/s/GPU counts output tokens over all 4 GPUs; TTFT is unloaded; nothing queues, so there are no percentiles
> bound: roofline and narrowest links alone; bottleneck: what takes the largest part of a cycle, prefill and decode together
> = ties with the best (95 % of 200 draws of the constants, seed 42): a plan close below that loses in nearly every draw does not tie
>
> plans not in the table because; the nearest miss
>  2 engine refuses: all-to-all needs whole experts on each rank
>  TP1 PP1 DP4 EP2 x1: all-to-all with moe_tp 2: all-to-all back ends of vLLM and SGLang hold
>  whole experts
>  3 not searched: dp is not the widest and matches neither domains nor experts
>  TP1 PP1 DP3 EP1 x1 gather: dp 3, where 1 replica could have dp 4: stages of 3 ranks match
>  neither domains nor experts
>  2 not searched: moe_tp is neither 1 nor tp nor all ranks of a stage
>  TP1 PP1 DP4 EP2 x1 gather: moe_tp 2 beside tp 1 and 4 ranks of a stage
>  1 not searched: pp is no power of two (tried for one replica of whole domains only)
>  TP1 PP3 DP1 EP1 x1: pp 3 with stages of 1 ranks, no whole scale-up domains of 4 GPUs
>  N pruned: its lower bounds keep it out of the plans shown and of the ties
>  PLAN: at most ...
>
> 34 plans considered, 26 bounded, N simulated, N feasible, 1 shown
> tried around the first plans alone: no overlap, dispatch in chunks, twice the micro-batches, caches dealt out, ranks in another order than GPUs (all plans with --placement any)
> tried where it can pay alone: prefill context parallelism (the TTFT of long prompts), eplb and redundant experts (a --load that is not even), caches in fp8 (scales in the checkpoint, or --kv-format any)

# a full machine is not told how full it is; what was given comes back as it was given
$ moesim rank --topo switch:4,450GB/s --model qwen3-30b-a3b.json --isl 1k --osl 128 --concurrency 1200 --top 1 --price 2.5 --max-ttft 100s >full; grep -E '^(limits|price|[0-9]+ requests)' full
> limits     TTFT <= 100 s, TPOT <= 50.0 ms (default); plans over a limit are left out
> price      $2.50 for a GPU and hour

# ranks that straddle nodes are priced too, and left out where stages as wide do not
$ moesim rank --topo hgx-h100:3 --model qwen3-30b-a3b.json --isl 128 --osl 32 --concurrency 64 --top 1 >some; grep -c 'could not be priced' some; grep -A2 straddle some
> 0
>     7  not searched: ranks straddle blocks where stages as wide, on as many GPUs, do not
>         TP1 PP1 DP6 EP6 x4: stages of 6 ranks straddle blocks of 8 GPUs, where stages of 8 ranks
>         would not, on as many GPUs
>     5  not searched: decode context parallelism takes longer than what it saves of reading

# --- programs read keys with units
$ moesim rank --topo switch:4,450GB/s --model qwen3-30b-a3b.json --concurrency 16 --format csv --top 2 | head -n 1
> rank,plan,gpus,gpu_product,output_tok_per_s_per_gpu,usd_per_million_output_tok,output_tok_per_s_per_user,ttft_s,ttft_lower_bound_s,tpot_s,tpot_lower_bound_s,memory_headroom_B,bottleneck,confidence,ties_with_best

$ moesim rank --topo switch:4,450GB/s --model qwen3-30b-a3b.json --concurrency 16 --format csv --top 2 | wc -l
> 3

$ moesim rank --topo switch:4,450GB/s --model qwen3-30b-a3b.json --concurrency 16 --format json --top 1 >one.json; grep -oE '"[A-Za-z_]+":' one.json | sort -u | paste -sd ' '
> "assume": "balancedness": "balancedness_in_order": "bottleneck": "buffers": "calibration": "concurrency_requests": "confidence": "decode_overlap": "decode_overlap_ratio": "device": "device_catalogue_digest": "digest": "dp": "ep": "expert_placement": "flow_eps": "flow_eps_error": "gpu_product": "gpus": "inputs": "isl_tok": "kind": "kv_format": "ledger": "machine": "median_output_tok_per_s_per_gpu": "memory_B": "memory_fraction": "micro_batches": "model": "moe_comm": "moe_tp": "moesim": "name": "nearest_miss": "nearest_plan": "note": "objective": "origins": "osl_tok": "output_tok_per_s": "output_tok_per_s_per_gpu": "output_tok_per_s_per_user": "pareto_front": "plan": "plan_digest": "plans": "plans_bounded": "plans_considered": "plans_feasible": "plans_pruned": "plans_simulated": "plans_tied_with_best": "pp": "prefill_chunk_tok": "prefill_of_cycle_parts_s": "prefill_of_cycle_s": "prefill_overlap": "prefill_overlap_ratio": "price_source": "price_usd_per_gpu_hour": "rank": "ratio_to_best_high": "ratio_to_best_low": "reason": "redundant_experts": "replicas": "requests_in_flight": "sequences_per_rank_and_micro_batch": "ties_with_best": "timelines_digest": "total": "tp": "tpot_limit_s": "tpot_lower_bound_s": "tpot_parts_s": "tpot_s": "ttft_limit_s": "ttft_lower_bound_s": "ttft_s": "usable": "usd_per_million_output_tok": "version": "weights": "workload":

$ grep -E '"(digest|version|moesim|gpus|concurrency_requests|ttft_limit_s|isl_tok)"' one.json | sed -E 's/"[0-9a-f]{16}"/"DIGEST"/'
>   "moesim": "ranking",
>   "version": 1,
>       "digest": "DIGEST"
>     "gpus": 4,
>       "digest": "DIGEST"
>       "isl_tok": 4096,
>       "concurrency_requests": 16,
>       "ttft_limit_s": 2,
>         "isl_tok": "default",
>         "concurrency_requests": "option",
>         "ttft_limit_s": "default",
>       "digest": "DIGEST"
>       "digest": "DIGEST"
>       "gpus": 4,

# --- the same inputs give the same bytes, whatever the locale
$ moesim rank --topo switch:4,450GB/s --model qwen3-30b-a3b.json --concurrency 16 --format json --top 1 | cmp - one.json

$ LC_ALL=de_DE.UTF-8 LANG=de_DE.UTF-8 moesim rank --topo switch:4,450GB/s --model qwen3-30b-a3b.json --concurrency 16 --format json --top 1 | cmp - one.json

# --- a saved plan comes out again, bit for bit
$ moesim rank --topo switch:4,450GB/s --model qwen3-30b-a3b.json --concurrency 16 --format json --top 3 --save plans >three.json; cmp three.json plans/report.json; ls plans
> calibration.json
> plan-001.json
> plan-002.json
> plan-003.json
> qwen3-30b-a3b.json
> report.csv
> report.html
> report.json
> reproduce.sh
> saved.json
> scenario.json
> topology.json

$ for plan in plans/plan-*.json; do moesim simulate $plan | tail -n 1; done
> reproduced: yes
> reproduced: yes
> reproduced: yes

$ moesim simulate plans/plan-001.json --format json | grep -E '"(moesim|reproduced|form)"'
>   "moesim": "simulation",
>     "form": "folded",
>     "form": "folded",
>   "reproduced": true

$ for form in folded refined expanded; do moesim simulate plans/plan-001.json --form $form --format json | sed '/"form"/d' >$form.json; done; cmp folded.json expanded.json; cmp refined.json expanded.json

$ moesim simulate plans/plan-001.json | sed -E 's/[0-9][0-9.]*/N/g; s/ +/ /g; /^(plan|nvlink)/d'
> flow eps N (exact)
> TTFT N ms (bound N ms)
> TPOT N ms (bound N ms)
> throughput N tok/s/GPU, N tok/s/user, $N per million output tokens
>
> prefill, last full chunk: N new tokens of N sequence, attention reads N tokens, these included; folded, N events
> pass ends at after the one before
>  N N ms N ms
> links volume busiest link its volume of capacity
>
> decode: N new tokens of N sequences, attention reads N tokens, these included; folded, N events
> pass ends at after the one before
>  N N ms N ms
>  N N ms N ms
> links volume busiest link its volume of capacity
>
> reproduced: yes

$ mkdir moved && cp plans/* moved && moesim simulate moved/plan-002.json | tail -n 1
> reproduced: yes

# a plan that was edited is another prediction
$ sed 's/"requests_in_flight": 16/"requests_in_flight": 17/' plans/plan-001.json >plans/edited.json; moesim simulate plans/edited.json | tail -n 1; exit ${PIPESTATUS[0]}
> reproduced: no
! moesim: the saved prediction was not reproduced
? 1

# inputs that were changed are refused
$ sed -i 's/"osl": [0-9]*/"osl": 99/' moved/scenario.json; moesim simulate moved/plan-001.json 2>&1 | sed -E 's/[0-9a-f]{16}/DIGEST/g'; exit ${PIPESTATUS[0]}
> moesim: moved/scenario.json: digest DIGEST is not the DIGEST that the plan was made for
? 2

$ rm moved/topology.json; moesim explain moved/plan-001.json
! moesim: moved/topology.json: no such file or folder
? 2

$ sed 's/"replicas": 1/"replicas": 9/' plans/plan-001.json >plans/large.json; moesim simulate plans/large.json
! moesim: plans/large.json: the plan uses 36 GPUs, the machine has 4
? 2

$ sed 's/"micro_batches": 1/"micro_batches": 999999/' plans/plan-001.json >plans/many.json; moesim simulate plans/many.json
! moesim: plans/many.json: expected at most 1024 micro-batches, found 999999
? 2

# --- traces
$ moesim simulate plans/plan-001.json --trace trace.json | tail -n 1; head -c 2 trace.json; tail -n 1 trace.json
> reproduced: yes
> [
> ]

$ moesim simulate plans/plan-001.json --phase prefill --trace - | grep -c '"ph":"X"' >count; test $(cat count) -gt 100

$ moesim simulate plans/plan-001.json --trace ./plans
! moesim: ./plans: cannot be written: is a directory, expected a file
? 2

# --- explain
$ moesim explain plans/plan-001.json | grep -oE '^(time goes to|TPOT|class|all streams|links|memory of the fullest GPU|weights|kv cache|all|constant)  ' | sed 's/ *$//'
> time goes to
> TPOT
> class
> all streams
> links
> memory of the fullest GPU
> weights
> kv cache
> all
> constant

# every figure is told what it is of: the cycle, one decode step, one pass
$ moesim explain plans/plan-001.json | sed -n '/^result/,/^bottleneck/p; /^TPOT:/,/^the pass/p' | sed -E 's/[0-9][0-9.]*/N/g; s/(bottleneck|: prefill of) .*:/\1 X:/'
> result     N tok/s/GPU, $N per million output tokens, N tok/s/user, TTFT N ms, TPOT N ms
> cycle      N s: prefill of N prompts on each attention-DP rank N ms (N %), N decode steps N s (N %)
> bottleneck X: N s, N % of the cycle
> TPOT: a pass of N ms and N ms of the engine
> the pass of stage N, the busiest of N; time of communication includes waiting for partners, exposed is what moves while nothing computes

$ moesim explain plans/plan-001.json --phase prefill | sed -n '/^prefill of a cycle:/,/^the pass/p' | sed -E 's/[0-9][0-9.]*/N/g'
> prefill of a cycle: all passes over the prompts, each with N ms of the engine; below is one pass of N ms, the last full chunk of one prompt: N new tokens after N
> the pass of stage N, the busiest of N; time of communication includes waiting for partners, exposed is what moves while nothing computes

# sources stand under their constants and wrap
$ moesim explain plans/plan-001.json | sed -n '/^constant  /,$p' | awk 'length > 100' | wc -l
> 0

# --- nothing is feasible: the ledger on stdout, the nearest miss on stderr, exit status 1
$ moesim rank --topo hgx-h100 --model deepseek-v3.json --format csv
> rank,plan,gpus,gpu_product,output_tok_per_s_per_gpu,usd_per_million_output_tok,output_tok_per_s_per_user,ttft_s,ttft_lower_bound_s,tpot_s,tpot_lower_bound_s,memory_headroom_B,bottleneck,confidence,ties_with_best
! moesim: no plan is feasible; nearest miss: TP8 PP1 DP1 EP1 x1: weights 681 GB over 8 GPUs: 85.1 GB and 591 MB of engine reserve on the fullest exceed the usable 76.5 GB by 9.21 GB per GPU
? 1

$ moesim rank --topo hgx-h100 --model deepseek-v3.json | sed -n '/^no plan/,$p'; exit ${PIPESTATUS[0]}
> no plan is feasible: 105 considered, 0 simulated
>
> plans  not in the table because; the nearest miss
>    50  does not fit: weights exceed the memory of a GPU
>         TP8 PP1 DP1 EP1 x1: weights 681 GB over 8 GPUs: 85.1 GB and 591 MB of engine reserve on the
>         fullest exceed the usable 76.5 GB by 9.21 GB per GPU
>    10  engine refuses: all-to-all needs whole experts on each rank
>         TP1 PP1 DP8 EP4 x1: all-to-all with moe_tp 2: all-to-all back ends of vLLM and SGLang hold
>         whole experts
>    23  not searched: dp is not the widest and matches neither domains nor experts
>         TP1 PP1 DP7 EP1 x1 gather: dp 7, where 1 replica could have dp 8: stages of 7 ranks match
>         neither domains nor experts
>    10  not searched: moe_tp is neither 1 nor tp nor all ranks of a stage
>         TP1 PP1 DP8 EP2 x1 gather: moe_tp 4 beside tp 1 and 8 ranks of a stage
>     8  not searched: pp is no power of two (tried for one replica of whole domains only)
>         TP1 PP3 DP2 EP1 x1 gather: pp 3 with stages of 2 ranks, no whole scale-up domains of 8 GPUs
>     4  not searched: more than a quarter of the machine is idle
>         TP1 PP1 DP5 EP1 x1 gather: leaves 3 of 8 GPUs idle
>
> 105 plans considered, 0 bounded, 0 simulated, 0 feasible, 0 shown
> tried around the first plans alone: no overlap, dispatch in chunks, twice the micro-batches, caches dealt out, ranks in another order than GPUs (all plans with --placement any)
> tried where it can pay alone: prefill context parallelism (the TTFT of long prompts), eplb and redundant experts (a --load that is not even), caches in fp8 (scales in the checkpoint, or --kv-format any)
! moesim: no plan is feasible; nearest miss: TP8 PP1 DP1 EP1 x1: weights 681 GB over 8 GPUs: 85.1 GB and 591 MB of engine reserve on the fullest exceed the usable 76.5 GB by 9.21 GB per GPU
? 1

$ moesim rank --topo switch:4,450GB/s --model qwen3-30b-a3b.json --concurrency 16 --max-ttft 1us --format csv 2>&1 | sed -E 's/TTFT [0-9.]+ ms/TTFT N ms/; s/TP[0-9]+ .* x[0-9]+( gather)?:/PLAN:/'; exit ${PIPESTATUS[0]}
> rank,plan,gpus,gpu_product,output_tok_per_s_per_gpu,usd_per_million_output_tok,output_tok_per_s_per_user,ttft_s,ttft_lower_bound_s,tpot_s,tpot_lower_bound_s,memory_headroom_B,bottleneck,confidence,ties_with_best
> moesim: no plan is feasible; nearest miss: PLAN: TTFT N ms is over the limit of 1.00 us
? 1

# --- with neither --model nor --scenario the output says what was taken
$ moesim rank --topo hgx-h100 | head -n 4; exit ${PIPESTATUS[0]}
> machine    HGX H100, 8 GPUs (hgx-h100): 8 x H100 SXM, 85.0 GB and 3.35 TB/s each
> model      kimi-k3 (default): 2.78 T parameters, 1.56 TB checkpoint
> workload   chat.json (neither --model nor --scenario was given): ISL 4096 (default), OSL 1024 (default), concurrency 1024 (default)
> engine     prefill chunk 8192 (default), KV cache in bf16 (default), memory fraction 0.900 (default)
! moesim: no plan is feasible; nearest miss: TP2 PP4 DP1 EP1 x1: weights 1.57 TB over 8 GPUs: 198 GB and 591 MB of engine reserve on the fullest exceed the usable 76.5 GB by 122 GB per GPU
? 1
