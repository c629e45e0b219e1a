# What runs beside what: two batches in the ranking, what explain says of them, and that they run.
$ moesim rank --topo switch:4,450GB/s --model qwen3-30b-a3b.json --concurrency 256 --isl 4096 --osl 32 --top 40 --save saved >saved.txt; grep -oE 'TP1 PP1 DP4 EP4 x1( [a-z-]+)?' saved.txt | sort -u
> TP1 PP1 DP4 EP4 x1
> TP1 PP1 DP4 EP4 x1 chunks
> TP1 PP1 DP4 EP4 x1 gather
> TP1 PP1 DP4 EP4 x1 tbo
> TP1 PP1 DP4 EP4 x1 tbo-prefill

$ grep -l '"prefill_overlap": "two-batch"' saved/plan-*.json | head -n 1 | xargs -I{} cp {} saved/halves.json; grep -E '"prefill_(overlap|sms)' saved/halves.json
>       "prefill_overlap": "two-batch",
>       "prefill_sms": 20

$ moesim explain saved/halves.json --phase prefill | sed -n '/^transfer:/,/^combine/p' | awk '/^(dispatch|combine) / { print $1, ($(NF - 1) > 95 ? "hidden" : "exposed"); next } { $1 = $1; print }'
> transfer: with all partners there = volume on the fullest link / effective bandwidth; bound: at nominal rates;
> overlap: the part of it that lies beside computing
>
> communication times bytes fullest link effective nominal transfer bound exposed overlap
> dispatch hidden
> combine hidden

# Qwen has no shared experts: without halves nothing lies beside what travels.
$ sed 's/"two-batch"/"shared"/' saved/halves.json >saved/whole.json; moesim explain saved/whole.json --phase prefill | sed -n '/^communication/,/^$/p' | awk '/^(dispatch|combine) / { print $1, ($(NF - 1) > 95 ? "hidden" : "exposed") }'
> dispatch exposed
> combine exposed

$ sed 's/"two-batch"/"three-batch"/' saved/halves.json >saved/wrong.json; moesim explain saved/wrong.json
! moesim: saved/wrong.json:30:26: pools[0].prefill_overlap: expected one of "shared", "none", "two-batch", found "three-batch"
? 2

$ sed 's/"moe_comm": "all-to-all"/"moe_comm": "gather"/' saved/halves.json >saved/wrong.json; moesim explain saved/wrong.json
! moesim: saved/wrong.json:9:5: pools[0]: prefill_overlap with moe_comm "gather" and ep 4, expected "all-to-all" and an ep above 1
? 2

# --- the halves are executed on bytes like any schedule
$ moesim simulate saved/halves.json --phase prefill --schedule prefill.json | tail -n 1
> reproduced: yes

$ moesim run prefill.json --tokens 9 --sequences 1 --kv-tokens 9 --qk-pairs 45 >first.txt; moesim run prefill.json --tokens 9 --sequences 1 --kv-tokens 9 --qk-pairs 45 >second.txt; cmp first.txt second.txt && echo same bytes
> same bytes
