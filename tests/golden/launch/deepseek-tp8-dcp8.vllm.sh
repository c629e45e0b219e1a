# vllm 0.28.0: TP8 PP1 DP1 EP1 x1 DCP8
# GPUs: 8 = 8 tp x 1 dp x 1 pp x 1 replica; nodes of 8 of "HGX H200, 8 GPUs"
# to be set: NODEn_ADDR, the address of node n
#
# pool 0, unified: 8 GPUs = 8 tp x 1 dp x 1 pp x 1 replica; experts 1 ep x 8 moe_tp; caches dealt to 8 of tp
# node 0: pool 0, replica 0, GPUs 0-7 of 8
vllm serve deepseek-v3 --dtype bfloat16 --kv-cache-dtype bfloat16 --gpu-memory-utilization 0.9 --max-model-len 1600 --tensor-parallel-size 8 --decode-context-parallel-size 8 --max-num-seqs 256 --max-num-batched-tokens 8192 --port 8000
#
# nothing was predicted for this plan; this measures it, all lines at once:
vllm bench serve --backend vllm --model deepseek-v3 --host "$NODE0_ADDR" --port 8000 --dataset-name random --random-input-len 1024 --random-output-len 512 --random-range-ratio 0 --ignore-eos --max-concurrency 256 --num-prompts 2560 --percentile-metrics ttft,tpot
