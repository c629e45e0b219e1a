# Experts placed by EPLB, with redundant ones and without: rank, explain, simulate and what is saved.

# --- 8 experts on 4 GPUs, with 4 redundant ones 3 on each; the load is saved beside the plans
$ moesim rank --topo switch:4,450GB/s --model mixtral-8x7b.json --isl 1k --osl 128 --concurrency 512 --load zipf:1.2 --redundant-experts 4 --top 40 --save saved >table; grep '^load' table; grep -o 'EP4 x1 +4r tbo *4 = 1 tp' table | sort -u
> load       expected shares of zipf:1.2, seed 1, top 2 of 8; ranked by the hottest rank of each group and the rest alike, in the mean layer
> EP4 x1 +4r tbo          4 = 1 tp

$ ls saved | grep -v plan; cp $(grep -l '"ep": 4' saved/plan-*.json | head -n 1) saved/plan-ep4.json; grep -h -e load.json -e '"redundant_experts"' -e expert_placement saved/plan-ep4.json
> calibration.json
> load.json
> mixtral-8x7b.json
> report.csv
> report.html
> report.json
> reproduce.sh
> saved.json
> scenario.json
> topology.json
>   "load": {"file": "load.json", "digest": "8cf3e1c59456050a"},
>       "redundant_experts": 4,
>       "expert_placement": "eplb",

$ moesim simulate saved/plan-ep4.json | grep -e ^load -e ^experts -e ^reproduced
> load       expected shares of zipf:1.2, seed 1, top 2 of 8
> experts    8 and 4 redundant ones, at most 3 on each of 4 positions; balancedness 0.495 in order, 0.969 as placed (mean over largest load of a position, mean over the layers)
> reproduced: yes

$ moesim explain saved/plan-ep4.json | grep -e ^load -e ^experts
> load       expected shares of zipf:1.2, seed 1, top 2 of 8; ranked by the hottest rank of each group and the rest alike, in the mean layer
> experts    8 and 4 redundant ones, at most 3 on each of 4 positions; balancedness 0.495 in order, 0.969 as placed (mean over largest load of a position, mean over the layers)

# other tokens than the experts were placed for
$ moesim simulate saved/plan-ep4.json --load uniform | grep -e ^load -e ^expected -e ^experts -e ^reproduced
> load       uniform
> expected   expected shares of zipf:1.2, seed 1, top 2 of 8
> experts    8 and 4 redundant ones, at most 3 on each of 4 positions; balancedness 1.00 in order, 0.667 as placed (mean over largest load of a position, mean over the layers)
> reproduced: yes

# a load that was changed is another one
$ sed -i -E '0,/^( *)\[[0-9]+,/s//\1[1,/' saved/load.json; moesim simulate saved/plan-ep4.json 2>&1 | sed -E 's/digest [0-9a-f]+/digest D/; s/the [0-9a-f]+ that/the E that/'; exit ${PIPESTATUS[0]}
> moesim: saved/load.json: digest D is not the E that the plan was made for
? 2

# --- without redundancy, placed and in order
$ moesim rank --topo switch:4,450GB/s --model mixtral-8x7b.json --isl 1k --osl 128 --concurrency 512 --load zipf:1.2 --eplb --top 40 --format json >eplb.json; grep -A 60 'DP4 EP4 x1 eplb"' eplb.json | grep -e redundant_experts -e expert_placement -e balancedness | head -n 4
>       "redundant_experts": 0,
>       "expert_placement": "eplb",
>       "balancedness_in_order": 0.4948738496007948,
>       "balancedness": 0.5388186103434692,

$ moesim rank --topo switch:4,450GB/s --model mixtral-8x7b.json --isl 1k --osl 128 --concurrency 512 --load zipf:1.2 --redundant-experts 0 --top 40 --format json >order.json; grep -A 60 'DP4 EP4 x1"' order.json | grep -e redundant_experts -e expert_placement -e balancedness | head -n 4
>       "redundant_experts": 0,
>       "expert_placement": "linear",
>       "balancedness_in_order": 0.4948738496007948,
>       "balancedness": 0.4948738496007948,

# --- what cannot be dealt out evenly is counted
$ moesim rank --topo switch:4,450GB/s --model mixtral-8x7b.json --isl 1k --osl 128 --concurrency 16 --redundant-experts 2 --top 1 | grep -A 1 'and redundant ones'
>     5  illegal for the model: ep does not divide the experts and redundant ones
>         TP1 PP1 DP4 EP4 x1 +2r: ep 4 does not divide 8 experts and 2 redundant ones

$ moesim rank --topo switch:4,450GB/s --model mixtral-8x7b.json --redundant-experts 9000
! moesim: --redundant-experts: expected at most 8192, found 9000
? 2
