# explain of plans with separate pools: both phases, the hand-over of caches, what bounds them, and beside a unified plan.
# Figures move with the constants; that they add up is what is checked.
$ moesim rank --topo switch:4,450GB/s --model qwen3-30b-a3b --isl 4k --osl 64 -c 64 --pools separate --top 1 --save two >/dev/null; moesim rank --topo switch:4,450GB/s --model qwen3-30b-a3b --isl 4k --osl 64 -c 64 --top 1 --save one >/dev/null; ls two one | grep -c plan-001
> 2

# --- one plan: the whole, then each phase
$ moesim explain two/plan-001.json --quick >text; sed -n '/^plan /,/^prefill: /p' text | sed -E 's/[0-9]+(\.[0-9]+)?/N/g; s/ +/ /g; s/TPN.*(on|xN)/PLAN/; s/ (ms|us)\b/ T/g'
> plan NPND, GPUs N = N tp x N dp x N pp x N replicas + N tp x N dp x N pp x N replica, N idle
> prefill PLAN each rank
> decode PLAN each rank
> result N tok/s/GPU, $N per million output tokens, N tok/s/user, TPOT N T
> TTFT N T = prefill N T + transfer left over N T + decode step N T
>
> requests/s that each could do alone, and what part of that is used; bound by prefill
>
> rate match requests/s used
> prefill, N instances N N % limits
> decode, N instance at a batch of N N N %
> links, all instances sending at once N N %
> requests in flight, none of which queues N N %
>
> caches of a request N MB, N MB with what ranks that hold the same receive
> time N T, of which N T (N %) lie beside prefill, layer by layer; N T are left when its last layer is computed
> links N MB over nvlink, each link counted, of a request; fullest gpu[N] -> switch (nvlink, N GB/s), N MB when all send
> staging prefill: N on each attention-DP rank until it is sent, N MB of the fullest GPU; decode: N received into, N MB, beside N that decode
> decode: transfers beside decode were not simulated: they lengthen a step by N % at most
>
> prefill: an instance of N, PLAN

$ grep -E '^(prefill|decode): |^(the prompts of a step|TPOT) ' text | sed -E 's/[0-9]+(\.[0-9]+)?/N/g; s/ +/ /g'
> decode: transfers beside decode were not simulated: they lengthen a step by N % at most
> prefill: an instance of N, TPN PPN DPN EPN xN
> the prompts of a step N ms N %
> decode: an instance of N, TPN PPN DPN EPN xN
> TPOT N ms N %

$ moesim explain two/plan-001.json --quick --phase prefill | grep -cE '^(prefill|decode): an instance'
> 1

# TTFT is prefill, the transfer left over and a decode step; each critical path adds up to its objective and the engine
$ moesim explain two/plan-001.json --quick --format csv >table; awk -F, '$1 == "result" && $2 == "ttft" { ttft = $4 } $1 == "ttft" { sum += $4 } END { print ttft - sum }' table; awk -F, '$1 == "rate match" { rate[$2] = $4 } END { for (name in rate) if (rate[name] < rate["served"]) print name }' table
> 0
$ awk -F, '$1 == "prefill critical path" && $2 != "engine" { p += $4 } $1 == "prefill objective" && $2 == "time" { t = $4 } $1 == "decode critical path" && $2 != "engine" { d += $4 } $1 == "decode objective" && $2 == "time" { u = $4 } END { print p - t, d - u }' table
> 0 0

$ moesim explain two/plan-001.json --quick --format json | grep -E '^  "[a-z_]*"' | sed 's/:.*//' | paste -sd' '
>   "plan"   "ratio"   "output_tok_per_s_per_gpu"   "output_tok_per_s_per_user"   "output_tok_per_s"   "requests_per_s"   "ttft_s"   "prefill_s"   "tpot_s"   "usd_per_million_output_tok"   "bound_by"   "prefill"   "decode"   "transfer"   "rate_match_requests_per_s"   "cache_bytes_per_request_over"   "phases"   "constants"   "link_rates"   "device"   "device_source"   "sizes"

# sensitivity is that of the whole plan
$ moesim explain two/plan-001.json | grep -cE '^(sensitivity|memory bandwidth efficiency .*[+-]0)'
> 2

# --- beside a unified plan
$ moesim explain two/plan-001.json one/plan-001.json --quick >text; sed -n '/^first token/,/^B: all/p' text | sed -E 's/[+-]?[0-9]+(\.[0-9]+)?/N/g; s/ +/ /g; s/ (ps|us|ms)\b/ T/g'
> first token A B B - A
> prefill N T N T N T
> transfer left over N T N T N T
> decode step N T N T N T
> TTFT N T N T N T
>
> requests/s A B B - A
> prefill, alone N N N %
> decode, alone N N N %
> links, alone N
> requests in flight N
> served N N N %
> A: bound by prefill: N GPUs prefill and N decode, each for itself
> B: all N GPUs prefill N % of the time and decode in the rest: N / served = N / prefill + N / decode

$ grep -cE '^(prefill|decode)$' text; moesim explain two/plan-001.json one/plan-001.json --quick --format csv >table; awk -F, '$3 == "difference_ps" && $1 == "first token" && $2 != "ttft" { f += $4 } $3 == "difference_ps" && $1 == "first token" && $2 == "ttft" { f -= $4 } $3 == "difference_ps" && $1 == "prefill term" { p += $2 == "step" ? -$4 : $4 } $3 == "difference_ps" && $1 == "decode term" { d += $2 == "step" ? -$4 : $4 } END { print f, p, d }' table
> 2
> 0 0 0

$ moesim explain one/plan-001.json two/plan-001.json --quick --format json | grep -E '^  "[a-z_]*"' | sed 's/:.*//' | paste -sd' '
>   "a"   "b"   "prefill"   "decode"

$ moesim explain two/plan-001.json two/plan-001.json | grep -E '^the plans tie|they are equal' | sed -E 's/[0-9]+(\.[0-9]+)?/N/g'
> prefill step: A N ms, B N ms; they are equal; tok/s/GPU of B +N %
> TPOT: A N ms, B N ms; they are equal; tok/s/GPU of B +N %
> the plans tie by tok/s/GPU

$ moesim explain two/plan-001.json --degrade 'gpu[0]:down'
! moesim: --degrade: not done for plans of separate pools
? 2
