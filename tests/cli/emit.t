# The lines of saved plans: what is refused says why, and what is printed comes back as the plan.
$ moesim emit $ROOT/tests/golden/launch/deepseek-dp8-ep8.json --model deepseek-v3 --topo hgx-h200 --scenario $ROOT/tests/golden/launch/scenario.json
> # --weights says what to load in place of deepseek-v3
> # vllm 0.28.0: TP1 PP1 DP8 EP8 x1
> # GPUs: 8 = 1 tp x 8 dp x 1 pp x 1 replica; nodes of 8 of "HGX H200, 8 GPUs"
> # to be set: NODEn_ADDR, the address of node n
> #
> # pool 0, unified: 8 GPUs = 1 tp x 8 dp x 1 pp x 1 replica; experts 8 ep x 1 moe_tp
> # node 0: pool 0, replica 0, GPUs 0-7 of 8
> vllm serve deepseek-v3 --dtype bfloat16 --kv-cache-dtype bfloat16 --gpu-memory-utilization 0.9 --max-model-len 1600 --tensor-parallel-size 1 --data-parallel-size 8 --enable-expert-parallel --all2all-backend deepep_low_latency --max-num-seqs 16 --max-num-batched-tokens 8192 --port 8000
> #
> # predicted: TTFT 420 ms, TPOT 16.5 ms, 9880 output tok/s, 1230 per GPU; this confirms or refutes it, all lines at once:
> vllm bench serve --backend vllm --model deepseek-v3 --host "$NODE0_ADDR" --port 8000 --dataset-name random --random-input-len 1024 --random-output-len 512 --random-range-ratio 0 --ignore-eos --max-concurrency 256 --num-prompts 2560 --percentile-metrics ttft,tpot

$ moesim emit $ROOT/tests/golden/launch/qwen30-tp4.json -e sglang -m qwen3-30b-a3b -t hgx-h100 -w Qwen/Qwen3-30B-A3B
> # sglang 0.5.19: TP4 PP1 DP1 EP1 x1
> # GPUs: 4 = 4 tp x 1 dp x 1 pp x 1 replica; nodes of 8 of "HGX H100, 8 GPUs"
> # to be set: NODEn_ADDR, the address of node n
> #
> # pool 0, unified: 4 GPUs = 4 tp x 1 dp x 1 pp x 1 replica; experts 1 ep x 4 moe_tp
> # node 0: pool 0, replica 0, GPUs 0-3 of 8
> CUDA_VISIBLE_DEVICES=0,1,2,3 python3 -m sglang.launch_server --model-path Qwen/Qwen3-30B-A3B --dtype bfloat16 --kv-cache-dtype bfloat16 --tp-size 4 --host 0.0.0.0 --port 30000
> #
> # nothing was predicted for this plan; without a scenario there is no benchmark

$ moesim emit $ROOT/tests/golden/launch/qwen30-tp4.json -e sglang -m qwen3-30b-a3b -t hgx-h100 -w "my model's \$HOME" | grep -c "'my model'\\\\''s \$HOME'"
> 1

# A saved ranking needs no options; its prediction stands above the benchmark.
$ moesim rank --topo hgx-h200 --scenario deepseek-v3-chat --top 1 --save saved >saved.txt; moesim emit saved/plan-001.json --engine sglang >lines.sh; sh -n lines.sh; grep -o 'predicted: TTFT' lines.sh
> predicted: TTFT

$ moesim import-plan lines.sh --model saved/deepseek-v3.json --topo saved/topology.json --scenario saved/scenario.json >saved/back.json; moesim emit saved/back.json --engine sglang >again.sh; moesim import-plan again.sh --model saved/deepseek-v3.json --topo saved/topology.json --scenario saved/scenario.json | cmp - saved/back.json && echo the same plan
> the same plan

$ sed '/"result"/,$d' saved/plan-001.json | sed -n '/"pools"/,$p' | head -n 24 | cmp - <(sed -n '/"pools"/,$p' saved/back.json | head -n 24) && echo the decisions of the ranking
> the decisions of the ranking

# What is needed, and what may be missing.
$ moesim emit $ROOT/tests/golden/launch/qwen30-tp4.json
! moesim: $ROOT/tests/golden/launch/qwen30-tp4.json: the plan names no model, expected --model (a model and a topology are needed; scenario, calibration, load and result may be missing)
? 2

$ moesim emit $ROOT/tests/golden/launch/qwen30-tp4.json --model qwen3-30b-a3b
! moesim: $ROOT/tests/golden/launch/qwen30-tp4.json: the plan names no topology, expected --topo (a model and a topology are needed; scenario, calibration, load and result may be missing)
? 2

$ moesim emit saved/plan-001.json --model qwen3-30b-a3b
! moesim: --model: saved/plan-001.json names "deepseek-v3.json" already
? 2

$ moesim emit $ROOT/tests/golden/launch/qwen30-tp4.json --model qwen3-30b-a3b --topo hgx-h100 --engine-version 9.9
! moesim: the rules of vllm are for 0.8.0 to 0.28.0, not for 9.9
? 2

# Structure first, then what the engine has no word for, then its rules.
$ moesim emit $ROOT/tests/golden/launch/deepseek-nvl72.json --model qwen3-30b-a3b --topo nvl72
! moesim: ep 72 does not divide 128 experts and 32 redundant ones
? 1

$ moesim emit $ROOT/tests/golden/launch/qwen235-tp4-dp2-mixed.json --model qwen3-235b-a22b --topo hgx-h200
! moesim: pools[0]: ep 4 x moe_tp 2: vllm has no experts that are both dealt out and cut, expected ep 8 or 1
? 1

$ moesim emit $ROOT/tests/golden/launch/deepseek-tp8-pp2.json --model deepseek-v3 --topo hgx-h100:2 --engine-version 0.10.2
! moesim: pools[0]: vllm 0.10.2 has no flag for nodes, versions >=0.12 have --nnodes
? 1

$ moesim emit $ROOT/tests/golden/launch/deepseek-tp8.json --model deepseek-v3 --topo nvl72 --engine vllm | tail -n 2
> #
> # predicted: TTFT 420 ms, TPOT 16.5 ms, 9880 output tok/s, 1230 per GPU; without a scenario there is no benchmark

$ moesim emit $ROOT/tests/golden/launch/deepseek-tp8.json --model deepseek-v3 --topo hgx-a100 --engine sglang
! moesim: sglang 0.5.19 refuses pools[0]: A100 SXM 80G has no fp8 arithmetic, and SGLang does not load fp8 weights without it (fp8-device: GPUStack performance lab, GLM-4.5-Air on A100 (SGLang 0.5.3): crash)
? 1

$ moesim emit $ROOT/tests/golden/launch/kimi-k3-tp16.json --model kimi-k3 --topo nvl72 | head -n 2
> # --weights says what to load in place of kimi-k3
> # note on pool 0: kv heads, of which a latent cache counts as one: 1; tp 16 keeps each token 16 times

$ moesim emit $ROOT/tests/golden/plan.json
! moesim: $ROOT/tests/golden/plan.json: result:1:1: missing "assume"
? 2

$ moesim emit $ROOT/tests/golden/plan.json --model kimi-k3
! moesim: --model: $ROOT/tests/golden/plan.json names "kimi-k3.json" already
? 2

$ moesim emit $ROOT/tests/bad/plan-truncated.json --model kimi-k3 --topo nvl72
! moesim: $ROOT/tests/bad/plan-truncated.json:11:2: unexpected end of file, expected a key in double quotes after ','
? 2

# A name in a plan file that would run a command is one word of the line.
$ name="x'; touch injected; '"; cp $ROOT/scenarios/models/qwen3-30b-a3b.json "$name.json"; echo 'vllm serve m -tp 4' | moesim import-plan - --model "./$name.json" >hostile.json; moesim emit hostile.json --topo hgx-h100 >hostile.sh; (echo 'vllm() { echo "$2"; }'; cat hostile.sh) | sh; [ -e injected ] || echo nothing ran
> x'; touch injected; '
> nothing ran

# A plan written by hand may name a shipped model.
$ mkdir hand; $ROOT/tests/cli/plan_by_hand.sh qwen3-30b-a3b 2 1 1 1 >hand/plan.json; moesim emit hand/plan.json -t hgx-h100 | grep -v '^#'
> CUDA_VISIBLE_DEVICES=0,1 vllm serve qwen3-30b-a3b --dtype bfloat16 --kv-cache-dtype bfloat16 --tensor-parallel-size 2 --port 8000
