# vllm 0.28.0: TP2 PP1 DP1 EP1 x2 + TP4 PP1 DP1 EP1 x1
# GPUs: 8 = 2 tp x 1 dp x 1 pp x 2 replicas + 4 tp x 1 dp x 1 pp x 1 replica; nodes of 8 of "HGX H100, 8 GPUs"
# to be set: NODEn_ADDR, the address of node n
#
# pool 0, prefill: 4 GPUs = 2 tp x 1 dp x 1 pp x 2 replicas; experts 1 ep x 2 moe_tp
# node 0: pool 0, replica 0, GPUs 0-1 of 8
CUDA_VISIBLE_DEVICES=0,1 UCX_NET_DEVICES=all VLLM_NIXL_SIDE_CHANNEL_HOST="$NODE0_ADDR" VLLM_NIXL_SIDE_CHANNEL_PORT=5600 vllm serve qwen3-30b-a3b --dtype bfloat16 --kv-cache-dtype bfloat16 --gpu-memory-utilization 0.9 --max-model-len 1600 --tensor-parallel-size 2 --kv-transfer-config '{"kv_connector":"NixlConnector","kv_role":"kv_producer"}' --max-num-batched-tokens 8192 --port 8000
# node 0: pool 0, replica 1, GPUs 2-3 of 8
CUDA_VISIBLE_DEVICES=2,3 UCX_NET_DEVICES=all VLLM_NIXL_SIDE_CHANNEL_HOST="$NODE0_ADDR" VLLM_NIXL_SIDE_CHANNEL_PORT=5800 vllm serve qwen3-30b-a3b --dtype bfloat16 --kv-cache-dtype bfloat16 --gpu-memory-utilization 0.9 --max-model-len 1600 --tensor-parallel-size 2 --kv-transfer-config '{"kv_connector":"NixlConnector","kv_role":"kv_producer"}' --max-num-batched-tokens 8192 --port 8002
#
# pool 1, decode: 4 GPUs = 4 tp x 1 dp x 1 pp x 1 replica; experts 1 ep x 4 moe_tp
# node 0: pool 1, replica 0, GPUs 4-7 of 8
CUDA_VISIBLE_DEVICES=4,5,6,7 UCX_NET_DEVICES=all VLLM_NIXL_SIDE_CHANNEL_HOST="$NODE0_ADDR" VLLM_NIXL_SIDE_CHANNEL_PORT=6000 vllm serve qwen3-30b-a3b --dtype bfloat16 --kv-cache-dtype bfloat16 --gpu-memory-utilization 0.9 --max-model-len 1600 --tensor-parallel-size 4 --kv-transfer-config '{"kv_connector":"NixlConnector","kv_role":"kv_consumer"}' --max-num-seqs 256 --max-num-batched-tokens 8192 --port 8004
#
# the router, at ROUTER_ADDR
vllm-router --vllm-pd-disaggregation --prefill "http://$NODE0_ADDR:8000" --prefill "http://$NODE0_ADDR:8002" --decode "http://$NODE0_ADDR:8004" --host 0.0.0.0 --port 8080
#
# nothing was predicted for this plan; this measures it, all lines at once:
vllm bench serve --backend vllm --model qwen3-30b-a3b --host "$ROUTER_ADDR" --port 8080 --dataset-name random --random-input-len 1024 --random-output-len 512 --random-range-ratio 0 --ignore-eos --max-concurrency 256 --num-prompts 2560 --percentile-metrics ttft,tpot
