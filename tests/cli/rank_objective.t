# What rank is asked for: objectives, fewer GPUs, engines, ranges; each figure is that of the plan by itself.

# --- objectives order by their own column; the first plan of each has the best figure of all
$ moesim rank --topo switch:4,450GB/s --model qwen3-30b-a3b.json --isl 1k --osl 128 -c 64 --format csv --top 100 --objective tpot >tpot.csv; tail -n +2 tpot.csv | cut -d, -f10 | sort -g -c && echo ascending
> ascending
$ moesim rank --topo switch:4,450GB/s --model qwen3-30b-a3b.json --isl 1k --osl 128 -c 64 --format csv --top 100 --objective ttft | tail -n +2 | cut -d, -f8 | sort -g -c && echo ascending
> ascending
$ moesim rank --topo switch:4,450GB/s --model qwen3-30b-a3b.json --isl 1k --osl 128 -c 64 --format csv --top 100 --objective cost | tail -n +2 | cut -d, -f6 | sort -g -c && echo ascending
> ascending
$ moesim rank --topo switch:4,450GB/s --model qwen3-30b-a3b.json --isl 1k --osl 128 -c 64 --format csv --top 100 --objective interactivity | tail -n +2 | cut -d, -f7 | sort -g -r -c && echo descending
> descending
$ moesim rank --topo switch:4,450GB/s --model qwen3-30b-a3b.json --isl 1k --osl 128 -c 64 --top 1 --objective ttft | grep -o 'first by ttft'
> first by ttft
$ moesim rank --topo switch:4,450GB/s --model qwen3-30b-a3b.json --objective speed
! moesim: --objective: expected throughput, interactivity, cost, ttft or tpot, found "speed"
? 2

# --- the rows that are shown are the same however many are asked for: nothing that is pruned was in them
$ for top in 1 3 10; do moesim rank --topo hgx-h100:2 --model qwen3-30b-a3b.json --isl 1k --osl 128 -c 256 --format csv --top $top | sed -n 2p | cut -d, -f2-13; done | sort -u | wc -l
> 1

# --- fewer GPUs than there are, and a range of them
$ moesim rank --topo switch:8,450GB/s --model qwen3-30b-a3b.json --isl 1k --osl 128 -c 64 --gpus 2 --format csv --top 100 | tail -n +2 | cut -d, -f3 | sort -u
> 2
$ moesim rank --topo switch:8,450GB/s --model qwen3-30b-a3b.json --isl 1k --osl 128 -c 64 --gpus 2:8 --format csv --top 1000 --pareto | tail -n +2 | cut -d, -f3 | sort -un | paste -sd' '
> 2 4 8
$ moesim rank --topo switch:8,450GB/s --model qwen3-30b-a3b.json --isl 1k --osl 128 -c 64 --gpus 2 --top 1 | grep -o 'over the GPUs that a plan uses'
> over the GPUs that a plan uses
$ moesim rank --topo switch:4,450GB/s --model qwen3-30b-a3b.json --gpus 0
! moesim: --gpus: expected at least 1, found 0
? 2
$ moesim rank --topo switch:4,450GB/s --model qwen3-30b-a3b.json --gpus 4:2
! moesim: --gpus: 4:2 runs backwards, expected 2:4
? 2
$ moesim rank --topo switch:4,450GB/s --model qwen3-30b-a3b.json --gpus 8
! moesim: --gpus: switch:4,450GB/s has 4 GPUs, found 8
? 2
$ moesim rank --topo switch:4,450GB/s --model qwen3-30b-a3b.json --gpus 1:2:3
! moesim: --gpus: expected a count such as "4096" or "8k", found "2:3"
? 2
$ moesim rank --topo switch:4,450GB/s --model qwen3-30b-a3b.json --gpus 2 --pools separate --top 1 --format csv | cut -d, -f6-8
> prefill_gpus,decode_gpus,idle_gpus
> 1,1,2

# --- engines: what they refuse is in the ledger by the name of the rule
$ moesim rank --topo nvl72.json --model deepseek-v3.json --engine sglang --top 1 | grep -A 1 'sglang: ep-divides'
>    78  engine refuses: sglang: ep-divides
>         TP1 PP1 DP72 EP72 x1: 256 experts and 0 redundant ones do not divide by ep-size 72
$ moesim rank --topo nvl72.json --model deepseek-v3.json --engine any --top 1 | grep -o '^best: TP1 PP1 DP72 EP72 x1'
> best: TP1 PP1 DP72 EP72 x1
$ moesim rank --topo nvl72.json --model deepseek-v3.json --engine trt
! moesim: --engine: expected vllm, sglang or any, found "trt"
? 2

# --- both formats of the cache, and any cut of the experts
$ moesim rank --topo switch:4,450GB/s --model qwen3-30b-a3b.json --isl 1k --osl 128 -c 512 --kv-format any --top 100 | grep -oE 'KV cache in (fp8|bf16)$' | sort -u
> KV cache in bf16
> KV cache in fp8
$ moesim rank --topo switch:8,450GB/s --model qwen3-30b-a3b.json --isl 1k --osl 128 -c 64 --moe-tp any --top 1 | grep -c 'moe_tp is neither'
> 0
? 1

# --- a range of concurrencies: each row is the first of a rank of its own
$ moesim rank --topo switch:4,450GB/s --model qwen3-30b-a3b.json --isl 1k --osl 128 -c 1:12 --format csv >range.csv; cut -d, -f1 range.csv | paste -sd' '
> concurrency_requests 1 2 4 8 12
$ for c in 1 2 4 8 12; do moesim rank --topo switch:4,450GB/s --model qwen3-30b-a3b.json --isl 1k --osl 128 -c $c --format csv --top 1 | tail -n 1 | cut -d, -f2,3,5,7,8,10; done >single.csv; tail -n +2 range.csv | cut -d, -f2-7 | cmp - single.csv
$ moesim rank --topo switch:4,450GB/s --model qwen3-30b-a3b.json --isl 1k --osl 128 -c 1:2 | sed -n '/^best plans/,/^requests/p'
> best plans by throughput
>
> requests  best plan           GPUs  tok/s/GPU  tok/s/user     TTFT     TPOT  bottleneck
$ moesim rank --topo switch:4,450GB/s --model qwen3-30b-a3b.json --isl 1k --osl 128 -c 1:2 --format json | grep -c '"concurrency_requests"'
> 2
$ moesim rank --topo switch:4,450GB/s --model qwen3-30b-a3b.json -c 64:8
! moesim: --concurrency: 64:8 runs backwards, expected 8:64
? 2
$ moesim rank --topo switch:4,450GB/s --model qwen3-30b-a3b.json -c 1:
! moesim: --concurrency: expected a count such as "4096" or "8k", found ""
? 2
$ moesim rank --topo switch:4,450GB/s --model qwen3-30b-a3b.json -c 1:64 --save folder
! moesim: --save: expected one --concurrency, found the range 1:64
? 2

# --- limits that nothing meets, machines that are too small: one line with the nearest
$ moesim rank --topo switch:4,450GB/s --model qwen3-30b-a3b.json --isl 1k --osl 128 -c 1:4 --max-tpot 1us --format csv
> concurrency_requests,plan,gpus,output_tok_per_s_per_gpu,output_tok_per_s_per_user,ttft_s,tpot_s,bottleneck
> 1,,0,,,,,
> 2,,0,,,,,
> 4,,0,,,,,
! moesim: no plan is feasible at any concurrency
? 1
$ moesim rank --topo switch:1,450GB/s --model kimi-k3.json --format csv 2>&1 | tail -n 1; exit ${PIPESTATUS[0]}
> moesim: no plan is feasible; nearest miss: TP1 PP1 DP1 EP1 x1: weights 1.56 TB over 1 GPU: 1.56 TB and 140 MB of engine reserve on the fullest exceed the usable 76.5 GB by 1.48 TB per GPU
? 1

# --- a search space of 15 million plans and more ends in moments, in little memory
$ moesim rank --topo superpod-h100:64su --model deepseek-v3.json -c 100k --top 1 | grep -cE '^[0-9]{7} plans considered'
> 1
