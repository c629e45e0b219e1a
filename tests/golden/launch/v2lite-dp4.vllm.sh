# vllm 0.28.0: TP1 PP1 DP4 EP4 x1
# GPUs: 4 = 1 tp x 4 dp x 1 pp x 1 replica; nodes of 8 of "HGX H100, 8 GPUs"
# to be set: NODEn_ADDR, the address of node n
#
# pool 0, unified: 4 GPUs = 1 tp x 4 dp x 1 pp x 1 replica; experts 4 ep x 1 moe_tp
# node 0: pool 0, replica 0, GPUs 0-3 of 8
CUDA_VISIBLE_DEVICES=0,1,2,3 vllm serve deepseek-v2-lite --dtype bfloat16 --kv-cache-dtype bfloat16 --gpu-memory-utilization 0.9 --max-model-len 1600 --tensor-parallel-size 1 --data-parallel-size 4 --enable-expert-parallel --all2all-backend deepep_low_latency --max-num-seqs 64 --max-num-batched-tokens 8192 --port 8000
#
# nothing was predicted for this plan; this measures it, all lines at once:
vllm bench serve --backend vllm --model deepseek-v2-lite --host "$NODE0_ADDR" --port 8000 --dataset-name random --random-input-len 1024 --random-output-len 512 --random-range-ratio 0 --ignore-eos --max-concurrency 256 --num-prompts 2560 --percentile-metrics ttft,tpot
