# plan-capacity: machines, nodes and dollars for so many tokens a day. Figures move with the constants and are checked
# elsewhere (tests/sim/test_capacity.c).

# --- demand, prices with their sources and dates
$ moesim plan-capacity --tokens-per-day 1G --topo hgx-h100:1+hgx-b200.json --model qwen3-30b-a3b.json --isl 768 --osl 256 -c 64 --as-of 2026-07-15 >two; sed -n '/^machines/,/^$/p' two | sed '/share/,$d'
> machines   hgx-h100:1: 8 x H100 SXM, $1.99 for a GPU and hour (device catalogue, low end of $1.99 to $5.00: advertised on-demand prices, mercatus-ai.com, May 2026; median 2.95 over 37 providers, aimultiple.com/gpu-index, 20 May 2026), 2 months before 2026-07-15
>            hgx-b200.json: 8 x B200 SXM, $6.03 for a GPU and hour (device catalogue, low end of $6.03 to $6.03: on-demand price, Spheron blog, 17 March 2026), 4 months before 2026-07-15
> demand     1.00 G tokens a day: 750 M of prompts and 250 M of answers, 11.3 requests a second on average; machines 100.0 % full
>

$ sed -nE '/tokens\/day/p; s/^(cheapest: [0-9]+ x [a-z0-9:]+).*/\1/p' two | tr -s ' '
> cheapest: 1 x hgx
>  machine best plan of one concurrency TTFT TPOT tokens/day machines nodes GPUs $/hour $/month $/Mtok in+out

# the demand divided by what one machine serves in a day, rounded up
$ moesim plan-capacity --tokens-per-day 1000G --topo switch:4,450GB/s --model qwen3-30b-a3b.json --isl 768 --osl 256 -c 64 --price 2 --format csv >one.csv; awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i } NR == 2 { n = 1e12 / $(at["tokens_per_day_of_one"] + 1); if (n > int(n)) n = int(n) + 1; print ($(at["machines"] + 1) == n), ($(at["gpus"] + 1) == 4 * n), ($(at["usd_per_hour"] + 1) == 8 * n) }' one.csv
> 1 1 1

# --- keys for programs
$ moesim plan-capacity --tokens-per-day 1G --topo switch:4,450GB/s --model qwen3-30b-a3b.json --isl 768 --osl 256 -c 64 --format json >one.json; grep -oE '"[A-Za-z_]+":' one.json | sort -u | paste -sd ' '
> "bottleneck": "cheapest": "cheapest_from": "cheapest_from_is_complete": "concurrency_requests": "confidence": "device": "feasible": "gpus": "isl_tok": "machine": "machines": "model": "model_digest": "moesim": "nodes": "osl_tok": "output_tok_per_s": "output_tok_per_s_per_gpu": "output_tok_per_s_per_user": "plan": "prefill_of_cycle_s": "price_source": "price_usd_per_gpu_hour": "requests_in_flight": "tokens_per_day": "tokens_per_day_of_one": "topology_digest": "tpot_lower_bound_s": "tpot_s": "ttft_lower_bound_s": "ttft_s": "usd_per_hour": "usd_per_million_output_tok": "utilization": "version":

# --- owning against renting: 140160 / (8 x 2) is 8760 hours; over 4 years of 8766 hours 4.00 dollars an hour
$ moesim plan-capacity --tokens-per-day 1G --topo hgx-h100:1 --model qwen3-30b-a3b.json --isl 768 --osl 256 -c 64 --price 2 --capex 140160 --life 4 | grep buys | sed -E 's/from [0-9.]+ [kMG]/from N/'
> hgx-h100:1: $140160 buys 8760 hours of rent at $16.00, 1.00 years around the clock; over 4.0 years owning costs $4.00 an hour and pays from N tokens a day and machine on, against rent for the hours that they take

# --- a budget: kept, too small for the demand, too small for one machine
$ moesim plan-capacity --tokens-per-day 1M --topo hgx-h100:1 --model qwen3-30b-a3b.json --isl 768 --osl 256 -c 64 --budget 20/hour | grep -o 'within the budget'
> within the budget

$ moesim plan-capacity --tokens-per-day 1000G --topo hgx-h100:1 --model qwen3-30b-a3b.json --isl 768 --osl 256 -c 64 --budget '$24000/month' >/dev/null 2>small; echo $?; sed -E 's/with [0-9.]+ [kMG]/with N/' small
> 1
> moesim: the budget is too small: the nearest that it pays for is 2 x hgx-h100:1 with N tokens a day

$ moesim plan-capacity --tokens-per-day 1M --topo hgx-h100:1 --model qwen3-30b-a3b.json --isl 768 --osl 256 -c 64 --budget 10/hour >/dev/null
! moesim: the budget is too small for a single machine: one hgx-h100:1 is $15.92 an hour
? 1

# --- no plan keeps the limits
$ moesim plan-capacity --tokens-per-day 1M --topo hgx-h100:1 --model qwen3-30b-a3b.json --max-ttft 1ps >/dev/null 2>none; echo $?; sed -E 's/TP[0-9][^:]*:.*/.../' none
> 1
> moesim: no machine has a feasible plan; hgx-h100:1, one request: ...

# --- what is not understood: one line, status 2
$ moesim plan-capacity --topo hgx-h100:1 --model qwen3-30b-a3b.json
! moesim: plan-capacity: --tokens-per-day is missing: prompts and answers together, such as 500M
? 2

$ moesim plan-capacity --tokens-per-day 0 --topo hgx-h100:1 --model qwen3-30b-a3b.json
! moesim: --tokens-per-day: expected 1 to 1000000000000000000, found 0
? 2

$ moesim plan-capacity --tokens-per-day 1M --topo hgx-h100:1 --model qwen3-30b-a3b.json --budget 100
! moesim: --budget: expected DOLLARS/hour or DOLLARS/month, found "100"
? 2

$ moesim plan-capacity --tokens-per-day 1M --topo hgx-h100:1 --model qwen3-30b-a3b.json --budget -5/hour
! moesim: --budget: expected dollars above 0 and up to 1000000000000, found "-5"
? 2

$ moesim plan-capacity --tokens-per-day 1M --topo hgx-h100:1 --model qwen3-30b-a3b.json --as-of 2026-02-01
! moesim: --as-of 2026-02-01: the price of H100 SXM is of May 2026 (advertised on-demand prices, mercatus-ai.com, May 2026; median 2.95 over 37 providers, aimultiple.com/gpu-index, 20 May 2026): add --price "H100 SXM=DOLLARS"
? 2

$ moesim plan-capacity --tokens-per-day 1M --topo hgx-h100:1 --model qwen3-30b-a3b.json --as-of tomorrow
! moesim: --as-of: expected a date such as 2026-06-01, found "tomorrow"
? 2

$ moesim plan-capacity --tokens-per-day 1M --topo hgx-h100:1 --model qwen3-30b-a3b.json --price B200=4
! moesim: --price: no machine of --topo is named "B200" or has such GPUs
? 2

$ moesim plan-capacity --tokens-per-day 1M --topo hgx-h100:1 --model qwen3-30b-a3b.json --life 4
! moesim: --life: years of use of a machine that --capex buys
? 2

$ moesim plan-capacity --tokens-per-day 1M --topo hgx-h100:1 --model qwen3-30b-a3b.json --utilization 1.5
! moesim: --utilization: expected 0.001 to 1, found 1.5
? 2
