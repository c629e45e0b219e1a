# vllm 0.28.0: TP16 PP1 DP1 EP1 x1
# GPUs: 16 = 16 tp x 1 dp x 1 pp x 1 replica; nodes of 4 of "GB200 NVL72"
# to be set: NODEn_ADDR, the address of node n; IFNAME, the interface that has it
#
# pool 0, unified: 16 GPUs = 16 tp x 1 dp x 1 pp x 1 replica; experts 1 ep x 16 moe_tp
# node 0: pool 0, replica 0, GPUs 0-3 of 4
NCCL_SOCKET_IFNAME="$IFNAME" GLOO_SOCKET_IFNAME="$IFNAME" NCCL_MNNVL_ENABLE=1 NCCL_CUMEM_ENABLE=1 VLLM_HOST_IP="$NODE0_ADDR" vllm serve kimi-k3 --dtype bfloat16 --kv-cache-dtype bfloat16 --gpu-memory-utilization 0.9 --max-model-len 1600 --tensor-parallel-size 16 --max-num-seqs 256 --max-num-batched-tokens 8192 --nnodes 4 --node-rank 0 --master-addr "$NODE0_ADDR" --master-port 29501 --port 8000
# node 1: pool 0, replica 0, GPUs 0-3 of 4
NCCL_SOCKET_IFNAME="$IFNAME" GLOO_SOCKET_IFNAME="$IFNAME" NCCL_MNNVL_ENABLE=1 NCCL_CUMEM_ENABLE=1 VLLM_HOST_IP="$NODE1_ADDR" vllm serve kimi-k3 --dtype bfloat16 --kv-cache-dtype bfloat16 --gpu-memory-utilization 0.9 --max-model-len 1600 --tensor-parallel-size 16 --max-num-seqs 256 --max-num-batched-tokens 8192 --nnodes 4 --node-rank 1 --master-addr "$NODE0_ADDR" --master-port 29501 --headless
# node 2: pool 0, replica 0, GPUs 0-3 of 4
NCCL_SOCKET_IFNAME="$IFNAME" GLOO_SOCKET_IFNAME="$IFNAME" NCCL_MNNVL_ENABLE=1 NCCL_CUMEM_ENABLE=1 VLLM_HOST_IP="$NODE2_ADDR" vllm serve kimi-k3 --dtype bfloat16 --kv-cache-dtype bfloat16 --gpu-memory-utilization 0.9 --max-model-len 1600 --tensor-parallel-size 16 --max-num-seqs 256 --max-num-batched-tokens 8192 --nnodes 4 --node-rank 2 --master-addr "$NODE0_ADDR" --master-port 29501 --headless
# node 3: pool 0, replica 0, GPUs 0-3 of 4
NCCL_SOCKET_IFNAME="$IFNAME" GLOO_SOCKET_IFNAME="$IFNAME" NCCL_MNNVL_ENABLE=1 NCCL_CUMEM_ENABLE=1 VLLM_HOST_IP="$NODE3_ADDR" vllm serve kimi-k3 --dtype bfloat16 --kv-cache-dtype bfloat16 --gpu-memory-utilization 0.9 --max-model-len 1600 --tensor-parallel-size 16 --max-num-seqs 256 --max-num-batched-tokens 8192 --nnodes 4 --node-rank 3 --master-addr "$NODE0_ADDR" --master-port 29501 --headless
#
# nothing was predicted for this plan; this measures it, all lines at once:
vllm bench serve --backend vllm --model kimi-k3 --host "$NODE0_ADDR" --port 8000 --dataset-name random --random-input-len 1024 --random-output-len 512 --random-range-ratio 0 --ignore-eos --max-concurrency 256 --num-prompts 2560 --percentile-metrics ttft,tpot
