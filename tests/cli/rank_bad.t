# Bad input that reaches rank: one precise line on stderr, nothing on stdout, exit status 2.

# --- the command line
$ moesim
! moesim: missing command, see "moesim help"
? 2

$ moesim rnak --topo nvl72.json
! moesim: unknown command "rnak", did you mean "rank"?
? 2

$ moesim rank
! moesim: rank: --topo is missing: a file, a shipped name such as nvl72.json, or a machine such as hgx-h100:4
? 2

$ moesim rank --topology nvl72.json
! moesim: rank: unknown option --topology, see "moesim help rank"
? 2

$ moesim rank --topo nvl72.json --topo nvl72.json
! moesim: --topo: given twice
? 2

$ moesim rank --topo switch:2,450GB/s --model qwen3-30b-a3b.json --isl 64 --osl 16 -c 4 --seed 3
! moesim: --seed: expected --samples with it, whose tokens it names
? 2

$ moesim rank --topo nvl72.json nvl72.json
! moesim: rank: unexpected operand "nvl72.json", expected none
? 2

$ moesim rank --topo nvl72.json --format xml
! moesim: --format: expected table, json or csv, found "xml"
? 2

$ moesim rank --topo nvl72.json --top 0
! moesim: --top: expected at least 1, found 0
? 2

$ moesim rank --topo nvl72.json --isl
! moesim: --isl: missing TOKENS
? 2

# --- numbers
$ moesim rank --topo nvl72.json --concurrency 0
! moesim: --concurrency: expected 1 to 1073741824, found 0
? 2

$ moesim rank --topo nvl72.json --concurrency -4
! moesim: --concurrency: expected a count such as "4096" or "8k", found "-4"
? 2

$ moesim rank --topo nvl72.json --isl 0
! moesim: --isl: expected 1 to 1073741824, found 0
? 2

$ moesim rank --topo nvl72.json --isl 1.5
! moesim: --isl: expected a whole count, found "1.5"
? 2

$ moesim rank --topo nvl72.json --isl 99999999999999999999
! moesim: --isl: expected at most 18446744073 G, found "99999999999999999999"
? 2

$ moesim rank --topo nvl72.json --isl 2M
! moesim: --isl: isl 2000000 + osl 1024 is 2001024 tokens, more than the model's context of 1048576
? 2

$ moesim rank --topo nvl72.json --max-ttft 2
! moesim: --max-ttft: expected a time such as "50ms", found "2": no unit
? 2

$ moesim rank --topo nvl72.json --max-tpot 0ms
! moesim: --max-tpot: expected a time above 0, found "0ms"
? 2

$ moesim rank --topo nvl72.json --max-tpot "-50 ms"
! moesim: --max-tpot: expected a time such as "50ms", found "-50 ms"
? 2

$ moesim rank --topo nvl72.json --price 0
! moesim: --price: expected dollars per GPU-hour above 0 and up to 1000000, found 0
? 2

$ moesim rank --topo nvl72.json --price inf
! moesim: --price: expected a number such as "2.5", found "inf"
? 2

$ moesim rank --topo nvl72.json --memory-fraction 1.5
! moesim: --memory-fraction: expected 0.001 to 1 in steps of 0.001, found 1.5
? 2

$ moesim rank --topo nvl72.json --kv-format fp3
! moesim: --kv-format: expected bf16, fp8 or any, found "fp3"
? 2

# --- the machine
$ moesim rank --topo nvl73.json
! moesim: nvl73.json: no such file here or in the shipped data, did you mean "nvl72"?
? 2

$ mkdir folder; moesim rank --topo ./folder
! moesim: ./folder: is a directory, expected a file
? 2

$ : >empty.json; moesim rank --topo empty.json
! moesim: empty.json:1:1: empty file, expected a JSON value
? 2

$ head -c 300 $ROOT/topologies/nvl72.json >cut.json; moesim rank --topo cut.json
! moesim: cut.json:6:174: unexpected end of file inside a string
? 2

$ printf '{"moesim": "topology", "name": "\303\050"}' >utf8.json; moesim rank --topo utf8.json
! moesim: utf8.json:1:33: byte 0xc3 is not UTF-8
? 2

$ printf '%10000s' '' | tr ' ' '[' >deep.json; moesim rank --topo deep.json
! moesim: deep.json:1:65: nesting deeper than 64 levels
? 2

$ printf '{"moesim": "topology", "moesim": "topology"}' >twice.json; moesim rank --topo twice.json
! moesim: twice.json:1:24: duplicate key "moesim"
? 2

$ sed 's/"GB200"/"GB2000"/' $ROOT/topologies/nvl72.json >gpu.json; moesim rank --topo gpu.json
! moesim: gpu.json:10:42: templates.tray.parts.gpu.device: unknown device "GB2000", did you mean "GB200"?
? 2

$ sed 's/"nvswitch\[\*\]"/"nvswitsh[*]"/' $ROOT/topologies/nvl72.json >node.json; moesim rank --topo node.json
! moesim: node.json:32:42: templates.rack.links[0].to: no part "nvswitsh" in template "rack", did you mean "nvswitch"?
? 2

$ sed '/nvswitch\[\*\]/s/"bandwidth": "[^"]*"/"bandwidth": "-50 GB\/s"/' $ROOT/topologies/nvl72.json >negative.json; moesim rank --topo negative.json
! moesim: negative.json:32:89: templates.rack.links[0].bandwidth: expected a rate such as "400 Gbit/s", found "-50 GB/s"
? 2

$ sed '/nvswitch\[\*\]/s/"bandwidth": "[^"]*"/"bandwidth": "50"/' $ROOT/topologies/nvl72.json >unitless.json; moesim rank --topo unitless.json
! moesim: unitless.json:32:89: templates.rack.links[0].bandwidth: expected a rate such as "400 Gbit/s", found "50": no unit
? 2

$ moesim rank --topo ring:4
! moesim: "ring:4", column 7: expected a rate, such as ",450GB/s"
? 2

$ moesim rank --topo ring:0,450GB/s
! moesim: "ring:0,450GB/s", column 6: expected a count of 1 to 1000000
? 2

$ moesim rank --topo switch:8,450
! moesim: "switch:8,450", column 10: expected a rate such as "450 GB/s", latency=TIME or device=NAME, found "450"
? 2

$ printf '{"moesim": "topology", "version": 1, "name": "two", "source": "a test", "templates": {"m": {"parts": {"gpu": {"kind": "gpu", "device": "GB200", "count": 2}}, "links": []}}, "machine": "m"}' >apart.json; moesim rank --topo apart.json
! moesim: apart.json: gpu[0] has no link
? 2

# --- the model
$ moesim rank --topo nvl72.json --model kimi-k4.json
! moesim: kimi-k4.json: no such file here or in the shipped data, did you mean "kimi-k2"?
? 2

$ moesim rank --topo nvl72.json --model ./folder
! moesim: ./folder: is a directory without a config.json
? 2

# a name that nobody knows is read by its fields; one field that nobody knows is named
$ sed 's/"model_type": "deepseek_v3"/"model_type": "shallowseek", "depth_gate": 4/' $ROOT/scenarios/models/deepseek-v3.json >family.json; moesim rank --topo nvl72.json --model family.json
! moesim: family.json:2:46: depth_gate: unknown field of deepseek_v3, which may change the cost; go on without it by --assume depth_gate=ignored (model_type "shallowseek" is not known; read as deepseek_v3, the nearest family)
? 2

$ head -c 200 $ROOT/scenarios/models/deepseek-v3.json >config.json; moesim rank --topo nvl72.json --model ./config.json
! moesim: ./config.json:8:28: unexpected end of file, expected false
? 2

$ moesim rank --topo nvl72.json --assume nonsense
! moesim: --assume: expected FIELD=VALUE, found "nonsense"
? 2

# --- the workload and the constants
$ moesim rank --topo nvl72.json --scenario chatt.json
! moesim: chatt.json: no such file here or in the shipped data, did you mean "chat"?
? 2

$ printf '{"moesim": "scenario", "version": 2}' >newer.json; moesim rank --topo nvl72.json --scenario newer.json
! moesim: newer.json:1:35: version: scenario format 2 is newer than this program, which reads up to 1
? 2

$ moesim rank --topo nvl72.json --calibration nothing.json
! moesim: nothing.json: no such file here or in the shipped data
? 2

$ cp $ROOT/scenarios/chat.json wrong.json; moesim rank --topo nvl72.json --calibration wrong.json
! moesim: wrong.json:2:13: moesim: expected "calibration", found "scenario"
? 2

# --- saving: refused before anything is simulated
$ mkdir full; touch full/something; moesim rank --topo nvl72.json --save full
! moesim: full: the folder is not empty, expected a new or an empty one; --force replaces what moesim saved there
? 2

$ moesim rank --topo nvl72.json --save empty.json
! moesim: empty.json: is a file, expected a folder
? 2

# --- programs of their own
$ moesim help frobnicate
! moesim: unknown command "frobnicate", see "moesim help"
? 2

$ moesim simulate
! moesim: simulate: expected a saved plan, or --topo with --collective or --transfers
? 2

$ moesim simulate nothing.json
! moesim: nothing.json: no such file or folder
? 2

$ moesim explain ./folder
! moesim: ./folder: is a directory, expected a file
? 2

# --- a folder of saved plans appears whole or not at all
$ moesim rank --topo switch:4,450GB/s --model qwen3-30b-a3b.json --concurrency 16 --save whole >/dev/full; status=$?; ls -d whole* 2>/dev/null; exit $status
! moesim: cannot write to stdout: No space left on device
? 2

# --- a machine beyond what can be searched is told at once, with the number and the limit
$ moesim rank --topo switch:65536,450GB/s
! moesim: a scale-up domain of 65536 GPUs: plans are searched on domains of at most 4096, choose fewer GPUs with --gpus
? 2

$ printf 'SwitchName=a Nodes=n[1-400]\nSwitchName=b Nodes=m[1-200]\nSwitchName=top Switches=a,b\n' >topology.conf; moesim rank --topo topology.conf
! moesim: 4800 GPUs of an irregular machine, where each pair has a route of its own: plans are searched on at most 4096, choose fewer with --gpus
? 2

# --- one line, though no plan is feasible either
$ moesim rank --topo hgx-h100 --model deepseek-v3 --pareto --svg /nonexistent/x.svg >/dev/null
! moesim: /nonexistent/x.svg: cannot be written: no such file or folder
? 2

# --- names that are near a known one
$ moesim rank --topo hgx-h101:4 --model deepseek-v3
! moesim: hgx-h101:4: no such file here or in the shipped data, and no machine, did you mean "hgx-h100:4"?
? 2
$ moesim rank --topo nvl72 --model deepseek-v3 --calibration defalt
! moesim: defalt: no such file here or in the shipped data, did you mean "default"?
? 2
$ moesim rank --topo nvl72 --model deepseek-v3 --device H101
! moesim: --device: unknown device "H101", did you mean "H100 SXM"?
? 2
$ moesim model mixtral-8x7b --assume model_type=mixtrel
! moesim: --assume model_type="mixtrel": no such family, did you mean "mixtral"?
? 2
