# moesim-run --compute model: the model itself runs as the schedules that were priced.

# --- every plan that rank finds for 4 ranks gives the same tokens, in both phases: TP, EP, PP, DP, replicas, gather, all-to-all and two batches
$ cp $ROOT/tests/golden/tiny_moe.json .; moesim rank --topo switch:4,450GB/s --model tiny_moe.json --isl 16 --osl 8 --concurrency 16 --top 40 --save saved >/dev/null; $ROOT/tests/cli/forward_plans.sh tiny_moe.json saved/plan-*.json | sed "s/^[2-9][0-9] plans/all plans/"
> all plans, without a row to compare 0, tokens differ 0, logits differ 0

# --- what it prints and leaves
$ p=$(grep -l '"ep": 4' $(grep -L '"gather"\|two-batch' $(grep -l '"dp": 4' saved/plan-*.json)) | head -n 1); cp $p plan.json; cp saved/*.json .; moesim simulate plan.json --schedule s.json >/dev/null; moesim-run run s.json --tokens 2 --sequences 2 --kv-tokens 40 --qk-pairs 40 --compute model --model tiny_moe.json --plan plan.json --logits logits.csv --write-load load.json --timeline t.json | tail -n 1 | sed 's/): [0-9]*$/): N/'
> choices of experts: 64, near a tie (scores within 0.0001): N
$ head -n 1 logits.csv | cut -d, -f 1-5,503; wc -l <logits.csv; grep -c '"work": "measured"' t.json; grep -c -e stand-in -e skipped t.json
> sequence,round,token,0,1,499
> 17
> 19
> 0
? 1
$ moesim load load.json | head -n 2 | sed 's/digest [0-9a-f]*/digest D/'
> load     a run of moesim-run (digest D)
> counts   4 layers of 16 experts from 4 sources

# --- forced: every expert gets what the load gives it
$ moesim-run run s.json --tokens 4 --sequences 4 --kv-tokens 80 --qk-pairs 80 --compute model --model tiny_moe.json --plan plan.json --routing forced --write-load even.json >/dev/null; sed -n '/tokens/,$p' even.json | head -n 2
>   "tokens": [
>     [2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2],

# --- the same bytes by processes: buffers, logits, where the tokens went, and near ties
$ run() { moesim-run run s.json --tokens 2 --sequences 2 --kv-tokens 40 --qk-pairs 40 --compute model --model tiny_moe.json --plan plan.json "$@"; }; run --format json --logits host.csv --write-load host-load.json | tail -n +5 >host; run --backend net --format json --logits net.csv --write-load net-load.json | tail -n +5 | cmp - host && cmp host.csv net.csv && cmp host-load.json net-load.json; run | tail -n 1 >ties; run --backend net | tail -n 1 | cmp - ties

# --- 17 texts and one sequence of padding on each of 3 ranks, in two rounds; then 2 texts, so that two ranks have padding alone
$ for n in 17 2; do s=$(((n + 3) / 4)); moesim-run run s.json --tokens $s --sequences $s --kv-tokens $((20 * s)) --qk-pairs $((20 * s)) --compute model --model tiny_moe.json --plan plan.json --texts $n --backend net --logits l.csv --write-load l.json >/dev/null; tail -n +2 l.csv | wc -l; moesim load l.json | head -n 1 | sed 's/digest [0-9a-f]*/digest D/'; done
> 34
> load     a run of moesim-run (digest D)
> 4
> load     a run of moesim-run (digest D)

# --- refusals
$ moesim-run run s.json --compute model
! moesim-run: --compute model: expected --model
? 2
$ moesim-run run s.json --compute model --model tiny_moe.json
! moesim-run: --compute model: expected --plan
? 2
$ moesim-run run s.json --compute model --model tiny_moe.json --plan saved/plan-001.json
! moesim-run: saved/plan-001.json: the schedule is not one of this plan and model
? 2
$ moesim-run run s.json --tokens 2 --sequences 3 --kv-tokens 40 --compute model --model tiny_moe.json --plan plan.json
! moesim-run: s.json: role "stage 0", block "head", operation "sample": slice 1: bytes 0 to 12 lie outside buffer "token_ids" of 8 bytes
? 2
$ moesim-run run s.json --tokens 2 --sequences 2 --kv-tokens 40 --compute model --model tiny_moe.json --plan plan.json --texts 9
! moesim-run: s.json: 9 texts, all ranks together have 8 sequences
? 2
$ moesim-run run s.json --texts 9
! moesim-run: --texts: expected --compute model with it
? 2

# --- a process is charged for the ranks that it runs: caches of 4096 texts of 5001 tokens, in 4 layers 128 floats each, are 4096 x 5001 x 512 x 4 bytes on one
$ for backend in host net; do moesim-run run s.json --tokens 4096 --sequences 4096 --kv-tokens 20480000 --qk-pairs 20480000 --compute model --model tiny_moe.json --plan plan.json --backend $backend 2>&1 | tail -n 1 | sed 's/attention.*/.../'; done
> moesim-run: s.json: the run needs 168651335104 bytes of memory on 4 ranks together, at most 4294967296: weights 13785088, caches 167805714432, logits 65536000, ...
> moesim-run: s.json: the run needs 42212465872 bytes of memory on 1 ranks together, at most 4294967296: weights 3446272, caches 41951428608, logits 65536000, ...

# --- in bf16 the order of sums changes more: a choice is near a tie within a unit in the last place of a score
$ sed 's/"float32"/"bfloat16"/' $ROOT/tests/golden/tiny_moe.json >half.json; moesim rank --topo switch:2,450GB/s --model half.json --isl 16 --osl 8 --concurrency 4 --top 1 --save halves >/dev/null; $(moesim simulate halves/plan-001.json --schedule s.json | sed -n 's/^to run it: //p') --compute model --model half.json --plan halves/plan-001.json | tail -n 1 | sed 's/: [0-9]*/: N/g'
> choices of experts: N, near a tie (scores within 0.00390625): N
