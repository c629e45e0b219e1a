# moesim-run under a load: what experts get, how much room it takes, and the bytes that moesim simulate says for it.

# --- a plan of 4 ranks whose tokens travel to experts, 16 tokens of a prompt on each; and what a free run of the model chose
$ cp $ROOT/tests/golden/tiny_moe.json .; moesim rank --topo switch:4,450GB/s --model tiny_moe.json --isl 16 --osl 8 --concurrency 16 --top 40 --save saved >/dev/null; cp saved/*.json .; cp $(grep -l '"ep": 4' $(grep -L '"gather"\|two-batch\|moe_chunks' $(grep -l '"dp": 4' saved/plan-*.json)) | head -n 1) plan.json; grep -h -e '"dp"' -e '"ep"' -e moe_comm plan.json
>       "dp": 4,
>       "ep": 4,
>       "moe_comm": "all-to-all",
$ moesim simulate plan.json --phase prefill --schedule free.json >/dev/null; moesim-run run free.json --tokens 16 --sequences 1 --kv-tokens 16 --qk-pairs 136 --compute model --model tiny_moe.json --plan plan.json --write-load chosen.json | sed -n '/^class/,/combine/p'
> class         runs  bytes between ranks  bytes inside ranks
> moe dispatch    16               399872              124416
> moe combine     16               399872              124416

# --- the same choice as a forced load. The simulator counts every byte on two links, up to the switch and down from it: 2 x (399872 + 399872)
$ moesim simulate plan.json --phase prefill --load chosen.json --schedule s.json --timeline sim.json --form expanded --format json | grep -m 1 '"bytes"'
>         "bytes": 1599488,
$ moesim-run run s.json --tokens 16 --sequences 1 --kv-tokens 16 --qk-pairs 136 --load chosen.json --timeline real.json | sed -n '/^class/,/combine/p'
> class         runs  bytes between ranks  bytes inside ranks
> moe dispatch    16               399872              124416
> moe combine     16               399872              124416
$ moesim compare sim.json real.json | sed -n '/^moe/s/  *[0-9.]* [mun]*s .*/ T/p'
> moe dispatch      nvlink           4 T
> moe combine       nvlink           4 T
$ moesim-run run s.json --tokens 16 --sequences 1 --kv-tokens 16 --qk-pairs 136 --load chosen.json --format json | tail -n +5 >host; moesim-run run s.json --tokens 16 --sequences 1 --kv-tokens 16 --qk-pairs 136 --load chosen.json --format json --backend net | tail -n +5 | cmp - host
$ moesim-run run s.json --tokens 16 --sequences 1 --kv-tokens 16 --qk-pairs 136 --load chosen.json --compute timed:sim.json | sed -n '/^class/,/combine/p'
> class         runs  bytes between ranks  bytes inside ranks
> moe dispatch    16               399872              124416
> moe combine     16               399872              124416
$ moesim-run run s.json --tokens 16 --sequences 1 --kv-tokens 16 --qk-pairs 136 --load chosen.json --compute model --routing forced --model tiny_moe.json --plan plan.json --write-load again.json | sed -n '/^class/,/combine/p'; sed 's/"origin.*/O/' again.json >a; sed 's/"origin.*/O/' chosen.json | cmp - a
> class         runs  bytes between ranks  bytes inside ranks
> moe dispatch    16               399872              124416
> moe combine     16               399872              124416

# --- a law: 64 sampled tokens of 4 sources are 16 of each rank, so that whole tokens are what the shares say: 4 x 388096
$ moesim load --model tiny_moe.json --law zipf:1.2 --tokens 64 --sources 4 --out zipf.json | head -n 2
> load     zipf:1.2, seed 1, 64 tokens, top 4 of 16 (digest 9ac9c63d1dbdb9dc)
> counts   4 layers of 16 experts from 4 sources
$ moesim simulate plan.json --phase prefill --load zipf.json --schedule s.json --format json | grep -m 1 '"bytes"'
>         "bytes": 1552384,
$ moesim-run run s.json --tokens 16 --sequences 1 --kv-tokens 16 --qk-pairs 136 --load zipf.json | sed -n '/^class/,/combine/p'
> class         runs  bytes between ranks  bytes inside ranks
> moe dispatch    16               388096              136192
> moe combine     16               388096              136192

# --- of other numbers whole tokens are a little more or less: 4 x 390656, where the simulator moves parts of tokens
$ moesim load --model tiny_moe.json --law zipf:1.2 --tokens 4096 --out many.json >/dev/null; moesim simulate plan.json --phase prefill --load many.json --schedule s.json --format json | grep -m 1 '"bytes"'
>         "bytes": 1572864,
$ moesim-run run s.json --tokens 16 --sequences 1 --kv-tokens 16 --qk-pairs 136 --load many.json | sed -n '/^class/,/combine/p'
> class         runs  bytes between ranks  bytes inside ranks
> moe dispatch    16               390656              133632
> moe combine     16               390656              133632

# --- all to the 4 experts of rank 0: room for 256 rows of 512 bytes where 66 were scheduled, and no more than there is memory
$ printf '{"moesim": "load", "version": 1, "experts": 16, "tokens": [[1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]]}' >hot.json; for load in '' '--load hot.json'; do moesim-run run free.json --tokens 16 --sequences 1 --kv-tokens 16 --qk-pairs 136 $load | grep -e '^received' -e '^expert_' -e '^combined' | sed 's/  [0-9a-f]*$/  D/'; done
> received       stage 0      4           33792  D
> expert_gates   stage 0      4           33792  D
> expert_active  stage 0      4           16896  D
> expert_out     stage 0      4           33792  D
> combined       stage 0      4           32768  D
> received       stage 0      4          131072  D
> expert_gates   stage 0      4          131072  D
> expert_active  stage 0      4           65536  D
> expert_out     stage 0      4          131072  D
> combined       stage 0      4           32768  D
$ moesim-run run free.json --tokens 16 --sequences 1 --kv-tokens 16 --qk-pairs 136 --load hot.json --compute model --routing forced --model tiny_moe.json --plan plan.json | sed -n '/^class/,/combine/p'
> class         runs  bytes between ranks  bytes inside ranks
> moe dispatch    16               393216              131072
> moe combine     16               393216              131072
$ moesim-run run free.json --tokens 65536 --sequences 1 --kv-tokens 65536 --qk-pairs 1 --load hot.json
! moesim-run: free.json: the run needs 14387537472 bytes of memory on 4 ranks together, at most 4294967296
? 2
$ moesim-run run free.json --load $ROOT/tests/golden/load.json
! moesim-run: free.json: collective "dispatch" of role "stage 0": the load is of 4 experts, expected 16
? 2

# --- where tokens do not travel, ranks choose by what all sources send together: 9 of 256 for expert 1 are 2.25 of the 64 pairs of a rank
$ cp $(grep -l '"ep": 2' $(grep -l '"gather"' saved/plan-*.json) | head -n 1) gather.json; moesim simulate gather.json --phase prefill --load zipf.json --schedule g.json >/dev/null; moesim-run run g.json --tokens 16 --sequences 1 --kv-tokens 16 --qk-pairs 136 --load zipf.json --compute model --routing forced --model tiny_moe.json --plan gather.json --write-load g-load.json | grep '^expert_out' | sed 's/  [0-9a-f]*$/  D/'; grep -m 1 '^    \[' g-load.json; grep -m 4 '^    \[' zipf.json | tr -d '[],' | awk '{ for (e = 1; e <= NF; e++) sum[e] += $e } END { for (e = 1; e <= 16; e++) printf " %d", sum[e]; print "" }'
> expert_out      stage 0      4           44544  D
>     [8, 8, 8, 28, 60, 8, 4, 8, 8, 32, 16, 24, 8, 8, 12, 16],
>  8 9 7 30 58 8 4 10 7 33 17 24 6 8 11 16

# --- a schedule made for an even load has one block for all layers: it takes a load of one row, or of layers that are alike, and no other
$ moesim-run run free.json --tokens 16 --sequences 1 --kv-tokens 16 --qk-pairs 136 --load chosen.json
! moesim-run: free.json: block "layers gqa + moe" of role "stage 0" stands for 4 layers, whose loads differ: make the schedule with moesim simulate --load
? 2

$ moesim load --model tiny_moe.json --law zipf:1.2 --layers 1 --out one.json >/dev/null; moesim-run run free.json --tokens 16 --sequences 1 --kv-tokens 16 --qk-pairs 136 --load one.json >one.txt; sed "s/^    \(\[.*\]\)$/    \1, \1, \1, \1/" one.json >four.json; moesim-run run free.json --tokens 16 --sequences 1 --kv-tokens 16 --qk-pairs 136 --load four.json | sed 2d >four.txt; sed 2d one.txt | cmp - four.txt

# --- the lines that simulate prints, typed as they are: of a law, of a file, and of a plan that was ranked with a load
$ typed() { sed -n 's/^its load: *//p; s/^to run it: \(.*\)/\1 --timeline real.json >ran.txt/p' said >typed.sh; sed 's/ --tokens.*--load/ SHAPE --load/' typed.sh; sh -e typed.sh >/dev/null && moesim compare law.json real.json >/dev/null && echo joined; }; moesim simulate plan.json --load zipf:1.2 --schedule 'a law.json' --timeline law.json >said; typed; moesim simulate plan.json --phase prefill --load zipf.json --schedule law-schedule.json --timeline law.json >said; typed; moesim rank --topo switch:4,450GB/s --model tiny_moe.json --isl 16 --osl 8 --concurrency 16 --load zipf.json --top 1 --save even >/dev/null; moesim simulate even/plan-001.json --schedule law-schedule.json --timeline law.json >said; typed
> moesim load --model ./tiny_moe.json --law zipf:1.2 --seed 1 --expected --out 'a law-load.json'
> moesim-run run 'a law.json' SHAPE --load 'a law-load.json' --timeline real.json >ran.txt
> joined
> moesim-run run law-schedule.json SHAPE --load zipf.json --timeline real.json >ran.txt
> joined
> moesim-run run law-schedule.json SHAPE --load even/load.json --timeline real.json >ran.txt
> joined

# --- a load that the router of a model makes is of its own: the timeline has the digest of what --write-load writes, however often it ran
$ moesim simulate plan.json --phase prefill --timeline even.json >/dev/null; moesim-run run free.json --tokens 16 --sequences 1 --kv-tokens 16 --qk-pairs 136 --compute model --model tiny_moe.json --plan plan.json --timeline real.json --write-load w.json | grep -c '^time of 1 run, '; moesim load w.json | head -n 1 | grep -c $(sed -n 's/.*"load_digest": "\(.*\)",/\1/p' real.json); moesim compare even.json real.json 2>&1 | sed 's/has [0-9a-f]*/has D/g'
> 1
> 1
> moesim: different loads: even.json has D, real.json has D: expected the measured one (moesim-run run --write-load) in moesim simulate --load

$ moesim simulate plan.json --phase prefill --load w.json --schedule w-schedule.json --timeline w-sim.json >/dev/null; moesim-run run w-schedule.json --tokens 16 --sequences 1 --kv-tokens 16 --qk-pairs 136 --compute model --model tiny_moe.json --plan plan.json --timeline real.json --iterations 2 --load w.json >/dev/null; moesim compare w-sim.json real-002.json | grep -c '^schedule'
> 1
