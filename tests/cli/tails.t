# --samples: step times over sampled loads; --flow-eps: ends of transfers that are close become one.

$ moesim rank --topo switch:8,450GB/s --model deepseek-v2-lite.json --isl 256 --osl 32 --concurrency 64 --top 2 --save plans >table; grep -c . plans/plan-001.json
> 54
$ moesim rank --topo switch:8,450GB/s --model deepseek-v2-lite.json --isl 256 --osl 32 --concurrency 64 --top 2 --load zipf:0.8 --redundant-experts 0 --samples 3 | grep -A6 '^p99 TPOT'
> p99 TPOT over 3 loads of zipf:0.8, seed 1 (of at most 16384 tokens, enough for larger steps); TPOT: as ranked, the ranks in classes; expected load: every rank and layer with its own
>
> #  plan                               TPOT  expected load      p50      p95      p99
> 1  TP1 PP1 DP8 EP8 x1 gather       4.92 ms        4.92 ms  4.92 ms  4.92 ms  4.92 ms
> 2  TP1 PP1 DP8 EP8 x1 tbo-prefill  5.01 ms        5.01 ms  5.00 ms  5.00 ms  5.00 ms
$ moesim rank --topo switch:8,450GB/s --model deepseek-v2-lite.json --isl 256 --osl 32 --concurrency 64 --top 1 --load zipf:0.8 --redundant-experts 0 --samples 3 --format json | grep -A14 '"sampled_tpot"'
>   "sampled_tpot": {
>     "samples": 3,
>     "load_law": "zipf:0.8",
>     "seed": 1,
>     "plans": [
>       {
>         "rank": 1,
>         "tpot": {
>           "even_s": 0.004916913718,
>           "expected_s": 0.004923464162,
>           "p50_s": 0.00492199264,
>           "p95_s": 0.004922309296,
>           "p99_s": 0.004922309296
>         }
>       }

# The expected load beside what was sampled; other tokens with another seed, the same with the same.
$ moesim simulate plans/plan-002.json --load zipf:0.8 --samples 3 >one; sed -n '/^samples/,/^decode/p' one
> samples    3 loads of zipf:0.8, seed 1 (of at most 16384 tokens, enough for larger steps); percentiles are of simulated steps, the engine's time between them included
> step                      even load  expected load      p50      p95      p99
> prefill, last full chunk    6.26 ms        6.60 ms  6.47 ms  6.47 ms  6.47 ms
> decode                      4.92 ms        4.92 ms  4.92 ms  4.92 ms  4.92 ms
$ moesim simulate plans/plan-002.json --load zipf:0.8 --samples 3 | cmp - one; moesim simulate plans/plan-002.json --load zipf:0.8 --samples 3 --seed 2 | cmp -s - one
? 1
$ moesim simulate plans/plan-002.json --load zipf:0.8 --samples 3 --format json | grep -A18 '"sampled_steps"'
>   "sampled_steps": {
>     "samples": 3,
>     "load_law": "zipf:0.8",
>     "seed": 1,
>     "prefill": {
>       "even_s": 0.006256057834,
>       "expected_s": 0.006602813722,
>       "p50_s": 0.006474179253,
>       "p95_s": 0.00647421641,
>       "p99_s": 0.00647421641
>     },
>     "decode": {
>       "even_s": 0.004916913718,
>       "expected_s": 0.004923464162,
>       "p50_s": 0.00492199264,
>       "p95_s": 0.004922309296,
>       "p99_s": 0.004922309296
>     }
>   },

$ moesim simulate plans/plan-002.json --samples 3
! moesim: --samples: expected a law in --load, such as zipf:0.8, found none
? 2
$ moesim simulate plans/plan-002.json --load plans/report.json --samples 3
! moesim: plans/report.json:2:13: moesim: expected "load", found "ranking"
? 2
$ moesim simulate plans/plan-002.json --load zipf:0.8 --samples 10001
! moesim: --samples: expected at most 10000, found 10001
? 2

# Exact unless it is asked for, and said so either way.
$ moesim simulate plans/plan-002.json | grep '^flow eps'; moesim explain plans/plan-002.json | grep '^flow eps'; grep '^flow eps' table
> flow eps   0 (exact)
> flow eps   0 (exact)
> flow eps   0 (exact)
$ moesim simulate plans/plan-002.json --load zipf:0.8 --flow-eps 1e-2 | grep '^flow eps'
> flow eps   0.01 (each end waits at most 0 % of its time for others; what links stand idle meanwhile comes on top)
$ moesim simulate --topo hgx-h100:2 --collective all-to-all --size 64KiB --flow-eps 0.05 --format json | grep flow_eps
>   "flow_eps": 0.05,
>   "flow_eps_error": 0,

# What a double cannot hold is not the 0 that is exact.
$ moesim simulate plans/plan-002.json --flow-eps 1e-400
! moesim: --flow-eps: expected 0 or 1e-9 to 0.1, found "1e-400"
? 2

# 1 MB and 1.001 MB of two pairs at 450 GB/s: the first ends with the second, about 1e-3 late.
$ printf '0 1MB 0\n0 0 1.001MB\n0 0 0\n' >matrix; moesim simulate --topo switch:3,450GB/s --collective all-to-all --matrix matrix --nominal --flow-eps 0.05 --format json | grep -E 'flow_eps|"time_ps"'
>   "time_ps": 3224445,
>   "flow_eps": 0.05,
>   "flow_eps_error": 0.000998901,
$ moesim simulate --topo switch:3,450GB/s --collective all-to-all --matrix matrix --nominal --format json | grep -E 'flow_eps|"time_ps"'
>   "time_ps": 3224445,
>   "flow_eps": 0,
>   "flow_eps_error": 0,
$ moesim simulate --topo hgx-h100:2 --collective all-to-all --size 64KiB --flow-eps 0.2
! moesim: --flow-eps: expected 0 or 1e-9 to 0.1, found "0.2"
? 2
$ moesim simulate --topo hgx-h100:2 --collective all-to-all --size 64KiB --flow-eps some
! moesim: --flow-eps: expected 0 or 1e-9 to 0.1, found "some"
? 2
$ moesim simulate --topo hgx-h100:2 --collective all-to-all --size 64KiB --flow-eps -1
! moesim: --flow-eps: expected 0 or 1e-9 to 0.1, found "-1"
? 2
$ moesim simulate --topo hgx-h100:2 --collective all-to-all --size 64KiB --network packet --flow-eps 1e-3
! moesim: --flow-eps: packets are exact, expected --network flow with it
? 2
$ moesim rank --topo switch:8,450GB/s --save other --flow-eps 1e-3
! moesim: --save: plans are saved with exact transfers, leave --flow-eps out
? 2

# What collisions cost on the uplinks of four leaves; not with nominal links.
$ moesim simulate --topo leafspine:nodes=4,gpus=8,nic=50GB/s,nvlink=450GB/s,leaf=8 --collective all-to-all --size 7KiB | sed -n 3p
> time       16.5 us (bound 5.39 us, ratio 3.06; of its own steps 5.39 us)
$ moesim simulate --topo leafspine:nodes=4,gpus=8,nic=50GB/s,nvlink=450GB/s,leaf=8 --collective all-to-all --size 7KiB --nominal | sed -n 3p
> time       5.39 us (bound 5.39 us, ratio 1.00; of its own steps 5.39 us)
$ moesim simulate --topo leafspine:nodes=4,gpus=8,nic=50GB/s,nvlink=450GB/s,leaf=8 --collective all-to-all --size 7KiB --network packet | sed -n 3p
> time       6.77 us (bound 5.39 us, ratio 1.26; of its own steps 5.39 us)
