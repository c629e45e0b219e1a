# vllm 0.28.0: TP4 PP1 DP1 EP1 x1 + TP2 PP1 DP1 EP1 x2
# GPUs: 8 = 4 tp x 1 dp x 1 pp x 1 replica + 2 tp x 1 dp x 1 pp x 2 replicas; nodes of 8 of "HGX H100, 8 GPUs"
# to be set: NODEn_ADDR, the address of node n
#
# pool 0, unified: 4 GPUs = 4 tp x 1 dp x 1 pp x 1 replica; experts 1 ep x 4 moe_tp
# node 0: pool 0, replica 0, GPUs 0-3 of 8
CUDA_VISIBLE_DEVICES=0,1,2,3 vllm serve qwen3-30b-a3b --dtype bfloat16 --kv-cache-dtype bfloat16 --gpu-memory-utilization 0.9 --max-model-len 1600 --tensor-parallel-size 4 --max-num-seqs 86 --max-num-batched-tokens 8192 --port 8000
#
# pool 1, unified: 4 GPUs = 2 tp x 1 dp x 1 pp x 2 replicas; experts 1 ep x 2 moe_tp
# node 0: pool 1, replica 0, GPUs 4-5 of 8
CUDA_VISIBLE_DEVICES=4,5 vllm serve qwen3-30b-a3b --dtype bfloat16 --kv-cache-dtype bfloat16 --gpu-memory-utilization 0.9 --max-model-len 1600 --tensor-parallel-size 2 --max-num-seqs 86 --max-num-batched-tokens 8192 --port 8004
# node 0: pool 1, replica 1, GPUs 6-7 of 8
CUDA_VISIBLE_DEVICES=6,7 vllm serve qwen3-30b-a3b --dtype bfloat16 --kv-cache-dtype bfloat16 --gpu-memory-utilization 0.9 --max-model-len 1600 --tensor-parallel-size 2 --max-num-seqs 86 --max-num-batched-tokens 8192 --port 8006
#
# nothing was predicted for this plan; this measures it, all lines at once:
vllm bench serve --backend vllm --model qwen3-30b-a3b --host "$NODE0_ADDR" --port 8000 --dataset-name random --random-input-len 1024 --random-output-len 512 --random-range-ratio 0 --ignore-eos --max-concurrency 86 --num-prompts 860 --percentile-metrics ttft,tpot
vllm bench serve --backend vllm --model qwen3-30b-a3b --host "$NODE0_ADDR" --port 8004 --dataset-name random --random-input-len 1024 --random-output-len 512 --random-range-ratio 0 --ignore-eos --max-concurrency 86 --num-prompts 860 --percentile-metrics ttft,tpot
vllm bench serve --backend vllm --model qwen3-30b-a3b --host "$NODE0_ADDR" --port 8006 --dataset-name random --random-input-len 1024 --random-output-len 512 --random-range-ratio 0 --ignore-eos --max-concurrency 86 --num-prompts 860 --percentile-metrics ttft,tpot
