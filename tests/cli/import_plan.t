# Lines that start an engine, read back.
$ echo 'vllm serve Qwen/Qwen3-30B-A3B --tensor-parallel-size 4 --enable-expert-parallel' | moesim import-plan -
> {
>   "moesim": "plan",
>   "version": 1,
>   "pools": [
>     {
>       "kind": "unified",
>       "tp": 4,
>       "pp": 1,
>       "dp": 1,
>       "ep": 4,
>       "moe_tp": 1,
>       "cp": 1,
>       "replicas": 1,
>       "first_gpu": 0,
>       "micro_batches": 1,
>       "redundant_experts": 0,
>       "placement": "linear",
>       "moe_comm": "none",
>       "all_reduce": "auto",
>       "all_to_all": "auto",
>       "all_gather": "auto",
>       "reduce_scatter": "auto",
>       "kv_format": "bf16",
>       "activation_format": "bf16",
>       "dispatch_format": "bf16"
>     }
>   ],
>   "transfers": []
> }

$ moesim import-plan $ROOT/tests/golden/launch/deepseek-pd.vllm.sh --model deepseek-v3 --topo hgx-h100:4 >pd.json; grep -E 'kind|"tp"|"dp"|first_gpu|overlap|redundant|from|model|topology' pd.json | sed 's/, "digest.*//'
>   "model": {"file": "deepseek-v3.json"
>       "kind": "prefill",
>       "tp": 1,
>       "dp": 16,
>       "first_gpu": 0,
>       "redundant_experts": 0,
>       "prefill_overlap": "two-batch",
>       "kind": "decode",
>       "tp": 1,
>       "dp": 16,
>       "first_gpu": 16,
>       "redundant_experts": 32,
>     {"from": 0, "to": 1}

$ for f in $ROOT/tests/golden/launch/*.sh; do moesim import-plan $f >/dev/null || echo "$f"; done

# With the model, what comes back is the plan that was written.
$ cd $ROOT/tests/golden/launch && moesim import-plan qwen30-tp2-x4.sglang.sh | cmp - qwen30-tp2-x4.json && moesim import-plan two-unified.vllm.sh | cmp - two-unified.json && echo the same plans
> the same plans

# What is wrong has a line, and nothing is printed.
$ moesim import-plan $ROOT/tests/bad/launch-unknown-flag.sh
! moesim: $ROOT/tests/bad/launch-unknown-flag.sh:1: "--frobnicate" is no flag of vllm that is known
? 2

$ moesim import-plan $ROOT/tests/bad/launch-contradiction.sh
! moesim: $ROOT/tests/bad/launch-contradiction.sh:2: --enable-expert-parallel is not given here and true in line 1 of the same server
? 2

$ moesim import-plan $ROOT/tests/bad/launch-substitution.sh
! moesim: $ROOT/tests/bad/launch-substitution.sh:1: $(...) cannot be read, expected its value
? 2

$ moesim import-plan $ROOT/tests/bad/launch-huge-nodes.sh
! moesim: $ROOT/tests/bad/launch-huge-nodes.sh:1: the server has 1000000 nodes, expected a line for each
? 2

$ moesim import-plan $ROOT/tests/bad/launch-missing-node.sh
! moesim: $ROOT/tests/bad/launch-missing-node.sh:1: node 1 of 2 has no line
? 2

$ moesim import-plan $ROOT/tests/bad/launch-unclosed.sh
! moesim: $ROOT/tests/bad/launch-unclosed.sh:1: a single quote is not closed
? 2

$ moesim import-plan $ROOT/tests/bad/launch-eplb-config.sh
! moesim: $ROOT/tests/bad/launch-eplb-config.sh:1: eplb-config:1:27: num_redundant_experts: expected a whole number of at least 0, found -1
? 2

$ moesim import-plan $ROOT/tests/golden/launch/deepseek-pd.vllm.sh --topo hgx-h100:2
! moesim: hgx-h100:2: pools[1] ends at GPU 32 of 16
? 2

$ moesim import-plan missing.sh
! moesim: missing.sh: no such file or folder
? 2

$ moesim import-plan - </dev/null
! moesim: -: no line starts an engine
? 2
