# explain: of one plan what the step hangs on, of two plans why they differ.

$ moesim rank --topo hgx-h100:2 --model qwen3-30b-a3b.json --isl 2048 --osl 256 --concurrency 64 --save one --format csv >/dev/null; moesim rank --topo hgx-h200 --model qwen3-30b-a3b.json --isl 4096 --osl 256 --concurrency 64 --save two --format csv >/dev/null; ls one two | grep -c plan-001
> 2

# --- one plan: the objective with its parts, every collective against its link, the fullest link
$ moesim explain one/plan-001.json --phase prefill >text; sed -n '/^time = /,/^overlap ratio/p' text | sed -E 's/[0-9][0-9.]* (ps|ns|us|ms|s)/T/g; s/[0-9]\.[0-9]+/N/'
> time = compute + communication - overlapped + waiting: T = T + T - T + T
> overlap ratio = overlapped / communication: N

$ grep '^communication ' text | tr -s ' '; grep '^combine ' text | head -n 1 | sed -E 's/[0-9][0-9.]*/N/g' | tr -s ' '
> communication times bytes fullest link effective nominal transfer bound exposed overlap
> combine N N GB ib N MB N GB/s N GB/s N ms N ms N ms N %

$ sed -n '/^fullest:/,/^$/p' text | sed -E 's/[0-9]+(\.[0-9]+)? /N /g'
> fullest: unit.node[0].nic[0] -> unit.leaf[0] (ib, N GB/s) is N % full, N MB in a pass:
> dispatch N %, combine N %
>

# time = compute + communication - overlapped + waiting, and the critical path adds up to the step, both to the picosecond
$ moesim explain one/plan-001.json --quick --format csv >table; awk -F, '$1 == "critical path" { path += $4 } $1 == "result" && $2 == "tpot" { step = $4 } $1 == "objective" { part[$2] = $4 } END { print path - step, part["compute"] + part["communication"] - part["overlapped"] + part["waiting"] - part["time"] }' table
> 0 0

# --- sensitivity: sorted, what has no influence is counted, left out with --quick
$ moesim explain one/plan-001.json >text; awk '/^sensitivity / { on = 1; next } /^without influence/ { on = 0; print "of", $NF } on { for (i = 1; i <= NF; i++) if ($i ~ /^[+-][0-9]/) { print $i < 0 ? -$i : +$i; break } }' text | awk '$1 == "of" { print; next } NR > 1 && $1 > last { print "not sorted" } { last = $1 }'
> of 31

$ moesim explain one/plan-001.json --quick | grep -c '^sensitivity'
> 0
? 1

# every number has a source: constants, links, device, model
$ grep -cE '^(constant|link|device|sizes from the model config) ' text; sed -n '/^link /,$p' text | sed -n '/^ib /{n;s/^ *//p;}'; grep -oE '^sizes from the model config [a-z/]*qwen3-30b-a3b.json' text
> 4
> NVIDIA DGX SuperPOD reference architecture, H100: rail-optimised, NIC r of all 32 nodes of a
> NVIDIA DGX SuperPOD reference architecture, H100: 4 units, 32 leaves, 16 spines, 1024 cables
> sizes from the model config one/qwen3-30b-a3b.json

# --- two plans of one folder: what differs, sentences, classes by difference, what turns the order
$ moesim explain one/plan-001.json one/plan-004.json >text; sed -n '/^differs/p; /^TPOT:/p; /^B loses/,/; A/p' text | sed -E 's/[0-9]+(\.[0-9]+)? (ms|us|kB|%)/N \2/g' | head -n 6
> differs    the plans alone: machine, model, workload and constants are the same
> TPOT: A N ms, B N ms; B is slower by N us (+N %); tok/s/GPU of B -N %
> B loses N us in tp collectives: its 8 tp groups of 2 stay in one scale-up domain, 48 x
> attention_reduce of N kB by direct, N us each, and 51 others of N us in all; A: none

$ awk '/^class /,/^TPOT /' text | awk 'NR == 1 || /^TPOT/ { $1 = $1; print $1, NF }'; grep -E '^(nearest flip|without influence)' text | sed -E 's/x[0-9.]+/xN/'
> class 6
> TPOT 7
> nearest flip: B passes A by tok/s/GPU with xN of memory bandwidth efficiency
> without influence: 14 of 31

$ moesim explain one/plan-001.json one/plan-004.json --quick --format csv >table; awk -F, '$1 == "term" && $3 == "difference_ps" && $2 == "step" { step = $4 } $1 == "term" && $3 == "difference_ps" && $2 != "step" { sum += $4; size = $4 < 0 ? -$4 : $4; if (rows++ && size > last) print "not sorted"; last = size } END { print rows, sum - step }' table
> 18 0

# backwards all signs turn, and the same constants flip the order at the same factors
$ moesim explain one/plan-004.json one/plan-001.json --format csv >back; moesim explain one/plan-001.json one/plan-004.json --format csv >table; grep ^flip table >flips; grep ^flip back | cmp - flips; awk -F, '$3 == "difference_ps" { sum[$2] += $4 } END { for (name in sum) if (sum[name] != 0) print name }' table back

$ moesim explain one/plan-001.json one/plan-001.json | sed -n '/^TPOT:/p; /^the plans tie/p' | sed -E 's/[0-9]+\.[0-9]+ ms/T/g'
> TPOT: A T, B T; they are equal; tok/s/GPU of B +0.0 %
> the plans tie by tok/s/GPU

# two batches in prefill alone: the decode steps are one, and what differs is the other phase
$ sed '/"prefill_overlap": "two-batch"/d' one/plan-001.json >one/shared.json; moesim explain one/plan-001.json one/shared.json --quick | sed -nE '/^TPOT:/s/[0-9]+\.[0-9]+/N/gp'
> TPOT: A N ms, B N ms; they are equal; tok/s/GPU of B -N %; the prefills differ, see --phase prefill

# --- plans of different folders: machine and workload differ, and are named first
$ moesim explain one/plan-001.json two/plan-001.json --quick | sed -n '/^differs/,/^$/p'
> differs    machine: A has hgx-h100:2, B has HGX H200, 8 GPUs
>            workload: A has ISL 2048, OSL 256, concurrency 64, B has ISL 4096, OSL 256, concurrency 64
>

$ moesim explain one/plan-001.json one/plan-004.json --quick --format json | grep -E '^  "[a-z_]*"' | sed 's/:.*//'
>   "step"
>   "a"
>   "b"
>   "terms"
>   "difference_ps"

# faults apply to both, and slow both
$ moesim explain one/plan-001.json one/plan-004.json --quick --degrade 'unit.node[0].nic[0]:50%' >slow; grep '^faults' slow; moesim explain one/plan-001.json one/plan-004.json --quick --degrade 'unit.node[0].nic[0]:50%' --format csv >slow; grep ',step,' slow | paste -d, - - - >a; grep ',step,' table | paste -d, - - - | paste -d, a - | awk -F, '{ print ($4 > $16), ($8 > $20) }'
> faults     of A: unit.node[0].nic[0]:50 %
> faults     of B: unit.node[0].nic[0]:50 %
> 1 1

# --- bad use
$ moesim explain one/plan-001.json missing.json
! moesim: missing.json: no such file or folder
? 2

$ moesim explain one/plan-001.json one/plan-002.json one/plan-003.json
! moesim: explain: unexpected operand "one/plan-003.json", expected PLAN [PLAN]
? 2

$ moesim explain one/plan-001.json --degrade nonsense --format json
! moesim: --degrade "nonsense": expected PART:LEFT or FROM>TO:LEFT, such as tray[0].nic[1]:down
? 2
