#!/bin/bash
# plan_by_hand.sh MODEL TP PP DP EP [MEMBER]: prints a plan of one pool for a shipped model, with one
# more member of the pool such as '"stage_cut": "vllm"'.
set -eu
digest=$(moesim model "$1" --format json | sed -n 's/.*"digest": "\([0-9a-f]*\)".*/\1/p')
comm=none
[ "$4" -eq 1 ] || comm=all-to-all
cat <<END
{
  "moesim": "plan",
  "version": 1,
  "model": {"file": "$1.json", "digest": "$digest"},
  "pools": [
    {
      "kind": "unified",
      "tp": $2, "pp": $3, "dp": $4, "ep": $5, "moe_tp": $(($2 * $4 / $5)), "cp": 1,
      "replicas": 1, "first_gpu": 0, "micro_batches": $3, "redundant_experts": 0,
      "placement": "linear", "moe_comm": "$comm",
      "all_reduce": "auto", "all_to_all": "auto", "all_gather": "auto", "reduce_scatter": "auto",
      "kv_format": "bf16", "activation_format": "bf16", "dispatch_format": "bf16"${6:+, $6}
    }
  ],
  "transfers": []
}
END
