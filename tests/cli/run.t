# moesim-run on a ring of four ranks: 3 passes of receive, add, send; 4 bytes a message.

$ moesim-run run $ROOT/tests/golden/schedule_ring.json --seed 3
> schedule ring of four (digest ae5de5d8fd08c169) on 4 ranks of the host back end
> shape 1 tokens, 1 sequences, 1 kv tokens, 1 qk pairs; load digest b00b4c35ced2f50b; seed 3
>
> buffer  role     ranks  bytes per rank  digest
> token   stage 0      1               4  7e13a158b0c2bd7e
> number  stage 0      1               4  7f59e258b1d7ee91
> token   stage 1      1               4  80d60158b31a754e
> number  stage 1      1               4  7f59e158b1d7ecde
> token   stage 2      1               4  8083f158b2d44ff6
> number  stage 2      1               4  810c8b58b348ef3c
> token   stage 3      1               4  809fa158b2ec42be
> number  stage 3      1               4  810c8b58b348ef3c
>
> class              runs  bytes between ranks  bytes inside ranks
> pipeline transfer    24                   48                   0
> other                12                    0                  48

$ moesim-run $ROOT/tests/golden/schedule_experts.json --format json
> {
>   "moesim": "run",
>   "version": 1,
>   "backend": "host",
>   "schedule": "experts",
>   "schedule_digest": "eb86ee2df24bdd93",
>   "load_digest": "b00b4c35ced2f50b",
>   "ranks": 8,
>   "tokens": 1,
>   "sequences": 1,
>   "kv_tokens": 1,
>   "qk_pairs": 1,
>   "seed": 1,
>   "buffers": [
>     {"name": "tokens", "role": "13 experts", "ranks": 4, "rank_B": 96, "digest": "4bcc904fc19a615d"},
>     {"name": "received", "role": "13 experts", "ranks": 4, "rank_B": 100, "digest": "519ebe560dfeb21d"},
>     {"name": "results", "role": "13 experts", "ranks": 4, "rank_B": 96, "digest": "4bcc904fc19a615d"},
>     {"name": "tokens", "role": "12 experts", "ranks": 4, "rank_B": 96, "digest": "876d4796d3603850"},
>     {"name": "received", "role": "12 experts", "ranks": 4, "rank_B": 96, "digest": "d864865c9f745490"},
>     {"name": "results", "role": "12 experts", "ranks": 4, "rank_B": 96, "digest": "876d4796d3603850"}
>   ],
>   "classes": [
>     {"class": "moe dispatch", "runs": 8, "between_ranks_B": 672, "inside_ranks_B": 96},
>     {"class": "moe combine", "runs": 8, "between_ranks_B": 672, "inside_ranks_B": 96}
>   ],
>   "skipped": []
> }

# Three runs after one warm-up: the same bytes each time, a timeline of each of the three; it says what made it.
$ moesim-run run $ROOT/tests/golden/schedule_ring.json --seed 3 --iterations 3 --warm-up 1 --timeline real.json >again.txt; moesim-run run $ROOT/tests/golden/schedule_ring.json --seed 3 >once.txt; grep -v '^time of 3 runs, from its start to its last end: least [0-9.]* [mu]s, median [0-9.]* [mu]s$' again.txt | sed '$d' | diff once.txt - && ls real*.json && grep -c '"complete": true' real-002.json && grep -o '"machine": .*\|"versions": "moesim-run [^ ,]*' real-002.json
> real-001.json
> real-002.json
> real-003.json
> 1
> "machine": "this machine, 4 ranks in shared memory",
> "versions": "moesim-run 0.1.0

# A timeline of another shape is refused as a stand-in.
$ moesim-run run $ROOT/tests/golden/schedule_ring.json --compute timed:real-001.json --tokens 2 2>&1 | sed 's/shape [0-9a-f]*/shape D/;s/expected [0-9a-f]*/expected D/'
> moesim-run: real-001.json: a timeline of shape D, expected D

$ moesim-run help
> usage: moesim-run COMMAND [OPTION]... [OPERAND]...
>
> run schedules of moesim for real
>
> commands:
>   run         run a schedule on real bytes
>   bench       measure messages, collectives and kernels
>   detect      write the topology of this machine
>   help        list the commands, or explain one
>   version     print the version
>   man         print the manual page (mdoc)
>   completion  print the completion script for bash and zsh
>
> "moesim-run help COMMAND" shows the options of a command

$ moesim-run help run
> usage: moesim-run run [OPTION]... SCHEDULE
>
> run a schedule on real bytes
>
> Checks the schedule, fills every buffer of every rank with seeded bytes, runs
> all copies, sends, receives and collectives on them, and prints a digest of each
> buffer and the bytes moved. Each stream of each rank is a thread. Operations
> that compute are skipped and listed, or stood in by a sleep as long as a
> timeline predicts; both are marked in the timeline that is written. On several
> hosts (--backend net --hosts 10.0.0.1:2,10.0.0.2:2) either an agent starts the
> program there, with the same files at the same paths (--agent ssh), or people do
> (--by-hand 7000, within ten time-outs): the first host is then this one, and for
> each other one the line to type there is printed.
>
> options:
>       --tokens N                new tokens of one attention-DP rank (default 1)
>       --sequences N             sequences that they belong to (default 1)
>       --kv-tokens N             cached tokens that attention reads, over all sequences (default 1)
>       --qk-pairs N              pairs of a new token and a token that it attends to (default 1)
>       --load FILE               tokens by expert; every expert gets the same without it
>       --backend host|net|mpi    what the ranks are, and how bytes move; under mpirun, moesim-run-mpi takes mpi (default host)
>       --compute UNIT            what runs where the schedule computes: skip, timed:FILE of a predicted timeline, or model (default skip)
>       --model MODEL             model: the config.json whose seeded weights compute
>       --plan FILE               model: the plan that the schedule is of
>       --assume FIELD=VALUE,...  model: take these values for fields of its config
>       --routing free|forced     model: experts are chosen by the router, or so that each gets what the load gives it (default free)
>       --texts N                 model: texts over all ranks; what ranks have beyond is padding, in neither logits nor load (0: no padding) (default 0)
>       --logits FILE             model: write the logits behind every pass, as CSV
>       --write-load FILE         model: write which experts the tokens went to, for "moesim simulate --load"
>       --timeline FILE           write the time of every operation on every rank, for "moesim compare"
>       --iterations N            runs of the schedule; FILE becomes FILE-001, ... (default 1)
>       --warm-up N               runs before them, of which no timeline is written (default 0)
>       --timeout TIME            how long a rank waits for a silent one (default 30 s)
>       --hosts LIST              net: NAME:RANKS of each host, by commas; all ranks on this host without it
>       --interface NAME          net: the network interface of every host; without it, names of hosts are addresses
>       --agent COMMAND           net: starts a program on a host, given its name and the program's words, as ssh does
>       --by-hand PORT            net: hosts other than the first are started by people, told here what to type there
>       --join                    net: what an agent is given, to be one host of a run
>       --join-at WHERE           net: what people type, to be one host of a run
>       --seed N                  of the bytes that fill every buffer before the run (default 1)
>   -f, --format table|json       how to print the result (default table)

$ moesim-run --version
> moesim-run 0.1.0

$ moesim-run man | head -n 3
> .Dd November 29, 2026
> .Dt MOESIM-RUN 1
> .Os

# Bad use and bad input: status 2 and one line.

$ moesim-run run $ROOT/tests/golden/schedule_ring.json --tokens 0
! moesim-run: --tokens: expected at least 1, found 0
? 2

$ cp $ROOT/tests/golden/schedule_ring.json s.json; moesim-run run s.json --timeline ./s.json
! moesim-run: --timeline: ./s.json is SCHEDULE too, expected a file of its own
? 2

$ cp s.json s-002.json; moesim-run run s-002.json --iterations 2 --timeline s.json
! moesim-run: --timeline: s-002.json is SCHEDULE too, expected a file of its own
? 2

$ moesim-run run s.json --compute model --logits y --timeline y
! moesim-run: --logits: y is --timeline too, expected a file of its own
? 2

$ cmp s.json $ROOT/tests/golden/schedule_ring.json && moesim-run run s.json --iterations 3 --timeline t.json --format json | tail -n 2 | sed 's/_s": [^,}]*/_s": T/g'
>   "time": {"iterations": 3, "least_s": T, "median_s": T}
> }

$ moesim-run run
! moesim-run: run: missing operand, expected SCHEDULE
? 2

$ moesim-run rum
! moesim-run: unknown command "rum", did you mean "run"?
? 2

$ moesim-run run missing.json
! moesim-run: missing.json: no such file or folder
? 2

$ moesim-run run $ROOT/tests/golden
! moesim-run: $ROOT/tests/golden: is a directory, expected a file
? 2

$ moesim-run run $ROOT/tests/golden/schedule_ring.json --seed x
! moesim-run: --seed: expected a count such as "4096" or "8k", found "x"
? 2

$ moesim-run run $ROOT/tests/golden/load.json
! moesim-run: $ROOT/tests/golden/load.json:2:13: moesim: expected "schedule", found "load"
? 2

$ moesim-run run $ROOT/tests/golden/schedule_experts.json --load $ROOT/tests/golden/load.json
! moesim-run: $ROOT/tests/golden/schedule_experts.json: collective "dispatch" of role "13 experts": the load is of 4 experts, expected 100
? 2

$ head -c 300 $ROOT/tests/golden/schedule_ring.json > cut.json; moesim-run run cut.json
! moesim-run: cut.json:16:15: unexpected end of file, expected a value after ':'
? 2

$ sed 's/"lag": 2, //' $ROOT/tests/golden/schedule_ring.json > stuck.json; moesim-run run stuck.json
! moesim-run: stuck.json: deadlock: recv "receive" of role "stage 0" waits for send "send" of role "stage 3" behind recv "receive", which waits for send "send" of role "stage 2" behind recv "receive", which waits for send "send" of role "stage 1" behind recv "receive", which waits for send "send" of role "stage 0" behind recv "receive"
? 2

$ moesim-run run $ROOT/tests/golden/schedule_ring.json --compute magic
! moesim-run: --compute: expected skip, timed:FILE or model, found "magic"
? 2

$ moesim-run run $ROOT/tests/golden/schedule_ring.json --iterations 0
! moesim-run: --iterations: expected 1 to 10000, found 0
? 2

$ moesim-run run $ROOT/tests/golden/schedule_ring.json --hosts 10.0.0.1:4; moesim-run run $ROOT/tests/golden/schedule_ring.json --backend net --logits l.csv
! moesim-run: --hosts: expected --backend net with it
! moesim-run: --logits: expected --compute model with it
? 2

$ moesim-run run $ROOT/tests/golden/schedule_ring.json --timeout 2h
! moesim-run: --timeout: expected a time up to an hour, found 2h
? 2

$ moesim-run run $ROOT/tests/golden/schedule_ring.json --backend cuda
! moesim-run: --backend: expected host, net or mpi, found "cuda"
? 2

$ moesim-run run $ROOT/tests/golden/schedule_ring.json --compute timed:cut.json
! moesim-run: cut.json:16:15: unexpected end of file, expected a value after ':'
? 2
