# What is priced is what runs: a plan is ranked, its schedule written and executed on bytes.
$ moesim rank --topo switch:4,450GB/s --model qwen3-30b-a3b.json --concurrency 16 --isl 128 --osl 32 --save saved >saved.txt; moesim simulate saved/plan-001.json --schedule decode.json | tail -n 1
> reproduced: yes

$ moesim simulate saved/plan-001.json --phase prefill --schedule - >prefill.json; moesim run prefill.json --tokens 8 --sequences 1 --kv-tokens 8 --qk-pairs 36 | sed -n 1,2p | sed 's/digest [0-9a-f]*/digest D/g'
> schedule prefill (digest D) on 4 ranks of the host back end
> shape 8 tokens, 1 sequences, 8 kv tokens, 36 qk pairs; load digest D; seed 1

$ moesim run decode.json --tokens 4 --sequences 4 --kv-tokens 512 --qk-pairs 512 >first.txt; moesim run decode.json --tokens 4 --sequences 4 --kv-tokens 512 --qk-pairs 512 >second.txt; cmp first.txt second.txt && grep -c 'stage 0' first.txt >/dev/null && echo same bytes
> same bytes

$ moesim simulate saved/plan-001.json --schedule both.json --timeline ./both.json
! moesim: --timeline: ./both.json is --schedule too, expected a file of its own
? 2

$ moesim simulate saved/plan-001.json --timeline saved/topology.json
! moesim: --timeline: saved/topology.json is the plan's topology too, expected a file of its own
? 2
