# Files and names that nobody writes by mistake: one line each, whatever they hold, and nothing hangs.

$ moesim topo ""
! moesim: "": no such file here or in the shipped data
? 2

$ moesim model ""
! moesim: "": no such file here or in the shipped data
? 2

$ moesim simulate ""
! moesim: "": no such file or folder
? 2

$ moesim rank --topo nvl72.json --save ""
! moesim: "": cannot be made: no such file or folder
? 2

$ moesim topo /dev/zero
! moesim: /dev/zero: is not a regular file
? 2

$ mkfifo pipe; moesim model ./pipe
! moesim: ./pipe: is not a regular file
? 2

$ mkfifo other; moesim-run run other
! moesim-run: other: is not a regular file
? 2

$ truncate -s 100M large.json; moesim simulate large.json
! moesim: large.json: file over the limit of 64 MiB
? 2

# --- the reason at the end of a message stays, however long the name is
$ moesim simulate $(printf '%5000s' '' | tr ' ' x) 2>&1 | grep -c '^moesim: x.*\.\.\..*x: the name is too long$'
> 1

# --- nothing that a file or an argument holds reaches the terminal as a control
$ printf '{"moesim": "topology", "version": 1, "name": "a\\u001b[31m\\nb"}' >name.json; moesim topo name.json
! moesim: name.json:1:46: name: expected a text on one line, found a control after 1 bytes
? 2

$ moesim topo $'a\nmoesim: b\342\200\250c\342\200\256d'
! moesim: a?moesim: b???c???d: no such file here or in the shipped data
? 2

$ printf '{"moesim": "topo\0logy"}' >nul.json; moesim topo nul.json
! moesim: nul.json:1:17: control character 0x00 inside a string, expected \u0000
? 2

$ printf '\357\273\277{}' >mark.json; moesim topo mark.json
! moesim: mark.json:1:1: byte order mark, expected plain UTF-8 without one
? 2

$ printf '{"moesim": "topology", "\\u006doesim": 1}' >escaped.json; moesim topo escaped.json
! moesim: escaped.json:1:24: duplicate key "moesim"
? 2

$ printf '{"moesim": "scenario", "version": 1e400}' >infinite.json; moesim rank --topo nvl72.json --scenario infinite.json
! moesim: infinite.json:1:35: number 1e400 is too large, expected at most 1.8e308
? 2

# --- assumptions
$ moesim model qwen3-30b-a3b.json --assume num_experts=64,num_experts=32
! moesim: --assume: "num_experts" is given twice
? 2

$ moesim model qwen3-30b-a3b.json --assume hidden_size=1e308
! moesim: --assume hidden_size=1e308: expected a whole number, found "1e308"
? 2

# --- a saved plan whose neighbours are gone or are not those that it was made for
$ moesim rank --topo hgx-h100 --model qwen3-30b-a3b --concurrency 16 --isl 64 --osl 8 --top 1 --save saved | grep -c '^best'
> 1

$ sed '/"model"/d' saved/plan-001.json >saved/p.json; moesim simulate saved/p.json
! moesim: saved/p.json: missing "model": the plan does not say what it was made for
? 2

$ sed 's/"calibration.json"/"..\/gone.json"/' saved/plan-001.json >saved/p.json; moesim simulate saved/p.json
! moesim: saved/../gone.json: no such file or folder
? 2

$ sed 's/"scenario.json", "digest": "[0-9a-f]*"/"scenario.json", "digest": "0000000000000000"/' saved/plan-001.json >saved/p.json; moesim explain saved/p.json 2>&1 | sed 's/digest [0-9a-f]*/digest D/'
> moesim: saved/scenario.json: digest D is not the 0000000000000000 that the plan was made for

$ sed 's/"cp": 1/"cp": 2/' saved/plan-001.json >saved/p.json; moesim simulate saved/p.json
! moesim: saved/p.json:9:5: pools[0]: ep 8 x moe_tp 1 is 8 ranks, expected tp 8 x dp 1 x cp 2 = 16
? 2

$ sed '/"result"/,/^  }/d; s/"transfers": \[\],/"transfers": []/' saved/plan-001.json >saved/p.json; moesim explain saved/p.json
! moesim: saved/p.json: the plan was saved without a prediction
? 2

# --- standard output is full, or closed
$ moesim topo nvl72.json >/dev/full
! moesim: cannot write to stdout: No space left on device
? 2

$ moesim help >&-
! moesim: cannot write to stdout: Bad file descriptor
? 2

$ moesim-run run $ROOT/tests/golden/schedule_ring.json >/dev/full
! moesim-run: cannot write to stdout: No space left on device
? 2
