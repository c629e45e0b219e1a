# A plan that an engine refuses: each broken rule with numbers and source, and the nearest legal plans.
$ moesim check qwen3-235b-a22b-fp8 --tp 8 --engine vllm --engine-version 0.11.0
> model      qwen3-235b-a22b-fp8
> plan       TP8 PP1 DP1 EP1 x1 on 8 GPUs
> engine     vllm 0.11.0
> machine    not given
> verdict    illegal
> broken     weight-blocks: moe_tp 8 cuts model.layers.{L}.mlp.experts.{E}.gate_proj.weight of 1536 into 192, no multiple of its block of 128; cut less, or deal experts out whole
>            source: vllm-project/vllm#25292, #54178, #48173, #28910
> note       kv-replicated: kv heads, of which a latent cache counts as one: 4; tp 8 keeps each token 2 times
>            source: PaddlePaddle/FastDeploy#2799; vLLM docs, context parallel deployment
> undecided  machine needs --topo
>            launcher needs --topo
>            fp8-weight-only needs --topo
> nearest    TP8 PP1 DP1 EP8 x1 on 8 GPUs: ep 1 -> 8, moe_tp 8 -> 1
>            TP4 PP1 DP1 EP1 x1 on 4 GPUs: tp 8 -> 4, moe_tp 8 -> 4
? 1

# The same experts dealt out whole, on a machine that decides every rule.
$ moesim check qwen3-235b-a22b-fp8 --tp 8 --ep 8 --engine sglang --topo hgx-h200
> model      qwen3-235b-a22b-fp8
> plan       TP8 PP1 DP1 EP8 x1 on 8 GPUs
> engine     sglang 0.5.19
> machine    HGX H200, 8 GPUs
> verdict    legal
> note       kv-replicated: kv heads, of which a latent cache counts as one: 4; tp 8 keeps each token 2 times
>            source: the same replication as in vLLM; SGLang server_args.py @001067ff

# An option of the engine.
$ moesim check deepseek-v3 --tp 8 --ep 8 --topo hgx-h200 --set decode-context-parallel-size=3
> model      deepseek-v3
> plan       TP8 PP1 DP1 EP8 x1 on 8 GPUs
> engine     vllm 0.28.0
> machine    HGX H200, 8 GPUs
> verdict    illegal
> broken     dcp-divides: decode-context-parallel-size 3 does not divide tp 8
>            source: vLLM config/parallel.py @00193b82; vLLM docs, context parallel deployment
> note       kv-replicated: kv heads, of which a latent cache counts as one: 1; tp 8 keeps each token 3 times
>            source: PaddlePaddle/FastDeploy#2799; vLLM docs, context parallel deployment
> nearest    TP8 PP1 DP1 EP8 x1 on 8 GPUs: --decode-context-parallel-size 3 -> 2
? 1
$ moesim check deepseek-v3 --tp 8 --ep 8 --set expert-parallel-size=8
> model      deepseek-v3
> plan       TP8 PP1 DP1 EP8 x1 on 8 GPUs
> engine     vllm 0.28.0
> machine    not given
> verdict    illegal
> broken     expert-parallel-size: vllm 0.28.0 has no option --expert-parallel-size; expert parallelism is a switch, --enable-expert-parallel: EP = tensor-parallel-size x data-parallel-size
>            source: vLLM docs, expert parallel deployment
> note       kv-replicated: kv heads, of which a latent cache counts as one: 1; tp 8 keeps each token 8 times
>            source: PaddlePaddle/FastDeploy#2799; vLLM docs, context parallel deployment
> undecided  machine needs --topo
>            launcher needs --topo
>            fp8-weight-only needs --topo
> nearest    TP8 PP1 DP1 EP8 x1 on 8 GPUs: without --expert-parallel-size
? 1

# GPUs without fp8 arithmetic: one engine widens the weights, the other refuses them.
$ moesim check deepseek-v3 --tp 8 --ep 8 --topo hgx-a100
> model      deepseek-v3
> plan       TP8 PP1 DP1 EP8 x1 on 8 GPUs
> engine     vllm 0.28.0
> machine    DGX A100, 8 GPUs with host memory and storage
> verdict    legal
> note       fp8-weight-only: A100 SXM 80G has no fp8 arithmetic: weights stay fp8 and are widened for each product (weight-only)
>            source: GPUStack performance lab, GLM-4.5-Air on A100; vLLM docs, fp8 on Ampere by Marlin
> note       kv-replicated: kv heads, of which a latent cache counts as one: 1; tp 8 keeps each token 8 times
>            source: PaddlePaddle/FastDeploy#2799; vLLM docs, context parallel deployment
$ moesim check deepseek-v3 --tp 8 --ep 8 --topo hgx-a100 --engine sglang
> model      deepseek-v3
> plan       TP8 PP1 DP1 EP8 x1 on 8 GPUs
> engine     sglang 0.5.19
> machine    DGX A100, 8 GPUs with host memory and storage
> verdict    illegal
> broken     fp8-device: A100 SXM 80G has no fp8 arithmetic, and SGLang does not load fp8 weights without it
>            source: GPUStack performance lab, GLM-4.5-Air on A100 (SGLang 0.5.3): crash
> note       kv-replicated: kv heads, of which a latent cache counts as one: 1; tp 8 keeps each token 8 times
>            source: the same replication as in vLLM; SGLang server_args.py @001067ff
> nearest    no legal plan near it
? 1

# What no engine can do.
$ moesim check mixtral-8x7b --tp 12
> model      mixtral-8x7b
> plan       TP12 PP1 DP1 EP1 x1 on 12 GPUs
> engine     vllm 0.28.0
> machine    not given
> verdict    illegal
> broken     structure: tp 12 does not divide 32 query heads
> note       kv-replicated: kv heads, of which a latent cache counts as one: 8; tp 12 keeps each token 2 times
>            source: PaddlePaddle/FastDeploy#2799; vLLM docs, context parallel deployment
> undecided  machine needs --topo
>            launcher needs --topo
> nearest    TP16 PP1 DP1 EP1 x1 on 16 GPUs: tp 12 -> 16, moe_tp 12 -> 16
>            TP8 PP1 DP1 EP1 x1 on 8 GPUs: tp 12 -> 8, moe_tp 12 -> 8
>            TP2 PP2 DP3 EP6 x1 on 12 GPUs: tp 12 -> 2, pp 1 -> 2, dp 1 -> 3, ep 1 -> 6, moe_tp 12 -> 1
? 1

# A saved plan: model and machine are those beside it, and numbers are not given twice.
$ moesim rank --topo hgx-h200 --model mixtral-8x7b --isl 1000 --osl 100 --concurrency 64 --top 1 --save saved >log 2>&1; ls saved
> calibration.json
> mixtral-8x7b.json
> plan-001.json
> report.csv
> report.html
> report.json
> reproduce.sh
> saved.json
> scenario.json
> topology.json
$ moesim check saved/plan-001.json --engine sglang
> model      mixtral-8x7b
> plan       TP1 PP1 DP8 EP8 x1 tbo-prefill on 8 GPUs
> engine     sglang 0.5.19
> machine    HGX H200, 8 GPUs
> verdict    legal
$ moesim check saved/plan-001.json --tp 4
! moesim: --tp: the plan in saved/plan-001.json says it already
? 2

# For programs.
$ moesim check mixtral-8x7b --tp 4 --ep 2 -f json
> {
>   "moesim": "check",
>   "version": 1,
>   "model": "mixtral-8x7b",
>   "plan": "TP4 PP1 DP1 EP2 x1",
>   "gpus": 4,
>   "engine": "vllm",
>   "engine_version": "0.28.0",
>   "machine": "",
>   "legal": false,
>   "pools": [
>     {
>       "legal": false,
>       "structure": "",
>       "broken": [
>         {
>           "rule": "ep-switch",
>           "text": "ep 2 x moe_tp 2: vllm cuts experts by tp x dp = 4 or deals them out over all 4, never both",
>           "source": "fused_moe/config.py @002d6073; ai-dynamo/aiconfigurator#705, #647"
>         }
>       ],
>       "notes": [],
>       "undecided": [
>         "machine needs --topo",
>         "launcher needs --topo"
>       ],
>       "nearest": [
>         {
>           "change": "ep 2 -> 1, moe_tp 2 -> 4",
>           "tp": 4,
>           "pp": 1,
>           "dp": 1,
>           "ep": 1,
>           "moe_tp": 4,
>           "gpus": 4,
>           "options": {}
>         },
>         {
>           "change": "ep 2 -> 4, moe_tp 2 -> 1",
>           "tp": 4,
>           "pp": 1,
>           "dp": 1,
>           "ep": 4,
>           "moe_tp": 1,
>           "gpus": 4,
>           "options": {}
>         }
>       ]
>     }
>   ]
> }
? 1

# Bad input: one line, status 2.
$ moesim check mixtral-8x7b --tp 8 --set attention-bakend=auto
! moesim: no rule of vllm knows an option "attention-bakend", did you mean "attention-backend"?
? 2
$ moesim check mixtral-8x7b --tp 8 --set attention-backend=fast
! moesim: option attention-backend: expected auto, FLASH_ATTN, FLASHINFER, TRITON_ATTN, FLASHMLA, CUTLASS_MLA, FLASHINFER_MLA, FLASH_ATTN_MLA, TRITON_MLA, FLASHMLA_SPARSE or FLASHINFER_MLA_SPARSE, found "fast"
? 2
$ moesim check mixtral-8x7b --tp 8 --set attention-backend
! moesim: --set: expected OPTION=VALUE, found "attention-backend"
? 2
$ moesim check mixtral-8x7b --tp 8 --engine-version 0.31
! moesim: the rules of vllm are for 0.8.0 to 0.28.0, not for 0.31
? 2
$ moesim check mixtral-8x7b --tp 8 --engine-version latest
! moesim: expected a version such as 0.11.0 or 0.4.6.post1, found "latest"
? 2
$ moesim check mixtral-8x7b --tp 3 --ep 2
! moesim: --ep: expected a divisor of tp x dp = 3, found 2
? 2
$ moesim check mixtral-8x7b --tp 0
! moesim: --tp: expected 1 to 1000000, found 0
? 2
$ moesim check mixtral-8x7b --tp 1000000 --dp 2
! moesim: tp 1000000 x dp 2 x pp 1 exceed 1000000 GPUs
? 2
$ moesim check mixtral-8x7c
! moesim: mixtral-8x7c: no such file here or in the shipped data, did you mean "mixtral-8x7b"?
? 2
$ moesim check "$ROOT/tests/bad/plan-large-tp.json"
! moesim: $ROOT/tests/bad/plan-large-tp.json:10:13: pools[0].tp: expected a whole number of at most 4294967295, found 4294967296
? 2
$ moesim check mixtral-8x7b --engine "$ROOT/tests/bad/engine-newer.json"
! moesim: $ROOT/tests/bad/engine-newer.json:1:33: version: engine format 2 is newer than this program, which reads up to 1
? 2
$ moesim check mixtral-8x7b --engine "$ROOT/tests/bad/engine-unknown-name.json"
! moesim: $ROOT/tests/bad/engine-unknown-name.json:3:58: rules[0].require: column 1: unknown name "head", did you mean "heads"?
? 2
$ moesim check mixtral-8x7b --engine "$ROOT/tests/bad/engine-syntax.json"
! moesim: $ROOT/tests/bad/engine-syntax.json:3:58: rules[0].require: column 1: '(' without ')'
? 2
$ moesim check mixtral-8x7b --engine "$ROOT/tests/bad/engine-type.json"
! moesim: $ROOT/tests/bad/engine-type.json:3:58: rules[0].require: column 7: and takes booleans, found an integer and a boolean
? 2
$ moesim check mixtral-8x7b --engine "$ROOT/tests/bad/engine-range.json"
! moesim: $ROOT/tests/bad/engine-range.json:3:42: rules[0].versions: expected a range such as ">=0.9,<0.12" or "*", found "0.9"
? 2
$ moesim check mixtral-8x7b --engine "$ROOT/tests/bad/engine-message.json"
! moesim: $ROOT/tests/bad/engine-message.json:3:77: rules[0].message: column 4: '{' without '}'
? 2
$ moesim check mixtral-8x7b --engine "$ROOT/tests/bad/engine-no-source.json"
! moesim: $ROOT/tests/bad/engine-no-source.json:3:12: rules[0]: missing "source"
? 2
$ moesim check mixtral-8x7b --engine "$ROOT/tests/bad/engine-unknown-key.json"
! moesim: $ROOT/tests/bad/engine-unknown-key.json:3:47: rules[0]: unknown key "requires", did you mean "require"?
? 2
$ moesim check mixtral-8x7b --engine "$ROOT/tests/bad/engine-divides-by-zero.json"
! moesim: $ROOT/tests/bad/engine-divides-by-zero.json: rule "heads": division of 32 by zero
? 2
$ moesim check mixtral-8x7b --engine "$ROOT/tests/bad/engine-deep.json"
! moesim: $ROOT/tests/bad/engine-deep.json:2:57: rules[0].require: column 33: the condition is too deep
? 2

# the format of the cache is nearer than other degrees
$ moesim check deepseek-v4-flash --tp 8 | grep -A 2 -e '^verdict' -e '^nearest'
> verdict    illegal
> broken     compressed-cache: a cache of compressed entries is kept in fp8, found bf16
>            source: ai-dynamo/aiconfigurator#1395
> --
> nearest    TP8 PP1 DP1 EP1 x1 on 8 GPUs: kv-format bf16 -> fp8

# a plan written by hand may name a shipped model, wherever it lies
$ mkdir plans; $ROOT/tests/cli/plan_by_hand.sh mixtral-8x7b 3 1 1 1 >plans/three.json; moesim check plans/three.json
> model      mixtral-8x7b
> plan       TP3 PP1 DP1 EP1 x1 on 3 GPUs
> engine     vllm 0.28.0
> machine    not given
> verdict    illegal
> broken     structure: tp 3 does not divide 32 query heads
> undecided  machine needs --topo
>            launcher needs --topo
> nearest    TP4 PP1 DP1 EP1 x1 on 4 GPUs: tp 3 -> 4, moe_tp 3 -> 4
>            TP2 PP1 DP1 EP1 x1 on 2 GPUs: tp 3 -> 2, moe_tp 3 -> 2
>            TP1 PP1 DP3 EP3 x1 on 3 GPUs: tp 3 -> 1, dp 1 -> 3, ep 1 -> 3, moe_tp 3 -> 1
? 1

# a cache that is dealt out: in a release that has it, before it, and on an engine whose backend cannot
$ $ROOT/tests/cli/plan_by_hand.sh deepseek-v3 8 1 1 1 '"dcp": 8' >dealt.json; moesim check dealt.json --topo hgx-h200 | sed -n '/^plan/p;/^verdict/p'
> plan       TP8 PP1 DP1 EP1 x1 DCP8 on 8 GPUs
> verdict    legal
$ moesim check dealt.json --topo hgx-h200 --engine-version 0.9.1 | sed -n '/^verdict/,/^undecided/p'
> verdict    illegal
> broken     dcp-introduced: dcp 8: decode context parallelism is not in this release
>            source: vllm-project/vllm#23734
> nearest    TP8 PP1 DP1 EP1 x1 on 8 GPUs: without dcp 8
$ moesim check dealt.json --topo hgx-h200 --engine sglang | sed -n '/^verdict/,$p'
> verdict    illegal
> broken     dcp-backend: dcp-size 8 needs an attention-backend of trtllm_mla and attention that is not sparse, found auto
>            source: sgl-project/sglang#33926, #33325, #31821
> nearest    TP8 PP1 DP1 EP1 x1 on 8 GPUs: without dcp 8
$ moesim check dealt.json --topo hgx-h200 --engine sglang --set attention-backend=trtllm_mla | sed -n '/^verdict/p'
> verdict    legal
# ranks that share prompts, with and without requests of their own
$ $ROOT/tests/cli/plan_by_hand.sh qwen3-235b-a22b 4 1 2 8 >two.json; sed 's/"dp": 2/"dp": 1/; s/"cp": 1/"cp": 2/' two.json >shared.json; moesim check shared.json --topo hgx-h200 | sed -n '/^plan/p;/^verdict/p'
> plan       TP4 PP1 DP1 EP8 x1 PCP2 on 8 GPUs
> verdict    legal
$ sed 's/"tp": 4/"tp": 2/; s/"cp": 1/"cp": 2/' two.json >both.json; moesim check both.json --topo hgx-h200 | sed -n '/^verdict/,/^ *source/p'
> verdict    illegal
> broken     pcp-dp: prefill context parallelism of 2 does not go with dp 2
>            source: vLLM config/parallel.py @00193b82
