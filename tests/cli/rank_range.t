# Ranges of rank: the best plan of each load, of each size, of both, with separate pools, and the front over all of them.

# --- with one size requests are counted on the GPUs that a plan uses, as its tokens are
$ moesim rank --topo switch:8,450GB/s --model qwen3-30b-a3b --isl 1k --osl 128 -c 64 --gpus 2 --top 1 | grep -oE '^64 requests are [0-9.]+ per GPU|over the GPUs that a plan uses'
> 64 requests are 32.0 per GPU
> over the GPUs that a plan uses

# --- sizes: plans of at most 2, 4 and 8 GPUs, each as --gpus N alone ranks it
$ moesim rank --topo switch:8,450GB/s --model qwen3-30b-a3b --isl 1k --osl 128 -c 64 --gpus 2:8 | sed -n '/^best/,/^at most/p'
> best plans by throughput, of at most so many GPUs; figures are of those that a plan uses
>
> at most  requests  best plan                       GPUs  tok/s/GPU  tok/s/user     TTFT     TPOT  bottleneck

$ moesim rank --topo switch:8,450GB/s --model qwen3-30b-a3b --isl 1k --osl 128 -c 64 --gpus 2:8 --format csv | cut -d, -f1,3,4 >sizes; for n in 2 4 8; do moesim rank --topo switch:8,450GB/s --model qwen3-30b-a3b --isl 1k --osl 128 -c 64 --gpus $n --top 1 --format csv | sed -n 2p | cut -d, -f2,3 | sed "s/^/$n,/"; done >each; tail -n +2 sizes | cmp - each

# --- sizes and loads; a size that is no power of two ends the range
$ moesim rank --topo switch:8,450GB/s --model qwen3-30b-a3b --isl 1k --osl 128 -c 16:64 --gpus 4:6 --format csv | cut -d, -f1,2,4 | paste -sd' '
> at_most_gpus,concurrency_requests,gpus 4,16,4 4,32,4 4,64,4 6,16,6 6,32,6 6,64,6

$ moesim rank --topo switch:8,450GB/s --model qwen3-30b-a3b --isl 1k --osl 128 -c 16:32 --gpus 4:8 --format json | grep -E '"(at_most_gpus|concurrency_requests)"' | tr -d ' ,' | paste -sd' '
> "at_most_gpus":4 "concurrency_requests":16 "at_most_gpus":4 "concurrency_requests":32 "at_most_gpus":8 "concurrency_requests":16 "at_most_gpus":8 "concurrency_requests":32

# --- the front over all loads: throughput falls as users get faster, and no row of a load beats one of it
$ moesim rank --topo switch:4,450GB/s --model qwen3-30b-a3b --isl 1k --osl 128 -c 8:128 --pareto --format csv >front; tail -n +2 front | cut -d, -f5 | sort -g -c && echo faster; tail -n +2 front | cut -d, -f4 | sort -g -r -c && echo lower
> faster
> lower
$ cut -d, -f1 front | tail -n +2 | sort -u | wc -l; for c in 8 16 32 64 128; do moesim rank --topo switch:4,450GB/s --model qwen3-30b-a3b --isl 1k --osl 128 -c $c --pareto --format csv | tail -n +2; done | awk -F, 'NR == FNR { if (FNR > 1) { user[++n] = $5; gpu[n] = $4 } next } { for (i = 1; i <= n; i++) if ($7 > user[i] * 1.000001 && $5 > gpu[i] * 1.000001) print "beaten", i }' front - | wc -l
> 5
> 0

$ moesim rank --topo switch:4,450GB/s --model qwen3-30b-a3b --isl 1k --osl 128 -c 8:128 --pareto --svg all.svg >text; grep -c '<circle class="k1"' all.svg; tail -n +2 front | wc -l; grep -A 1 'no plan is better' text | tail -n 1; grep -oE 'tok/s/user; .*' text
> 9
> 9
>
> tok/s/user; . plans, * Pareto front: no plan is better in both

# --- pools of their own, at one load and at several
$ moesim rank --topo switch:4,450GB/s --model qwen3-30b-a3b --isl 4k --osl 64 -c 64 --pools both --top 1 --pareto --svg both.svg >text; grep -oE 'tok/s/user; .*' text; ! command -v xmllint >/dev/null || xmllint --noout both.svg all.svg; grep -c 'separate pools' both.svg
> tok/s/user; . plans, o separate pools, * Pareto front: no plan is better in both
> 1
$ moesim rank --topo switch:4,450GB/s --model qwen3-30b-a3b --isl 4k --osl 64 -c 64 --pools both --top 1 --pareto --format csv >pools; tail -n +2 pools | cut -d, -f4 | sort -g -r -c && echo lower; tail -n +2 pools | cut -d, -f2 | grep -c ' + '
> lower
> 2

$ moesim rank --topo switch:4,450GB/s --model qwen3-30b-a3b --isl 4k --osl 64 -c 64 --pools both --top 1 --format csv | cut -d, -f9 | sed -n 2p >alone; moesim rank --topo switch:4,450GB/s --model qwen3-30b-a3b --isl 4k --osl 64 -c 32:64 --pools both --format csv | tail -n 1 | cut -d, -f4 | cmp - alone

$ moesim rank --topo switch:4,450GB/s --model qwen3-30b-a3b --isl 4k --osl 64 -c 32:64 --pools separate --format json | grep -cE '"(bound_by|links_carry_requests_per_s)"'
> 4

# --- what a range leaves nothing for, and what pools are not ordered by
$ moesim rank --topo switch:4,450GB/s --model qwen3-30b-a3b -c 8:64 --save there
! moesim: --save: expected one --concurrency, found the range 8:64
? 2
$ moesim rank --topo switch:4,450GB/s --model qwen3-30b-a3b --gpus 1:4 --save there
! moesim: --save: expected one --gpus, found the range 1:4
? 2
$ moesim rank --topo switch:4,450GB/s --model qwen3-30b-a3b --pools both --objective ttft
! moesim: --objective ttft: separate pools are ordered by throughput or cost; --pareto shows those of fast users too
? 2
$ moesim rank --topo switch:4,450GB/s --model qwen3-30b-a3b --pools both --moe-tp any
! moesim: --moe-tp: not done for separate pools, expected --pools unified
? 2
