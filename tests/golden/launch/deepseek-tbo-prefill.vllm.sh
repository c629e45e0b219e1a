# vllm 0.28.0: TP1 PP1 DP16 EP16 x1 tbo-prefill
# GPUs: 16 = 1 tp x 16 dp x 1 pp x 1 replica; nodes of 8 of "hgx-h100:2"
# to be set: NODEn_ADDR, the address of node n; IFNAME, the interface that has it; IB_HCA, the 8 NICs of a node
#
# pool 0, unified: 16 GPUs = 1 tp x 16 dp x 1 pp x 1 replica; experts 16 ep x 1 moe_tp
# node 0: pool 0, replica 0, GPUs 0-7 of 8
NCCL_SOCKET_IFNAME="$IFNAME" GLOO_SOCKET_IFNAME="$IFNAME" NCCL_IB_HCA="$IB_HCA" NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME="$IFNAME" NVSHMEM_HCA_LIST="$IB_HCA" VLLM_HOST_IP="$NODE0_ADDR" vllm serve deepseek-v3 --dtype bfloat16 --kv-cache-dtype bfloat16 --gpu-memory-utilization 0.9 --max-model-len 1600 --tensor-parallel-size 1 --data-parallel-size 16 --enable-expert-parallel --all2all-backend deepep_low_latency --enable-dbo --dbo-decode-token-threshold 1000000000 --max-num-seqs 16 --max-num-batched-tokens 8192 --data-parallel-size-local 8 --data-parallel-address "$NODE0_ADDR" --data-parallel-rpc-port 13345 --port 8000
# node 1: pool 0, replica 0, GPUs 0-7 of 8
NCCL_SOCKET_IFNAME="$IFNAME" GLOO_SOCKET_IFNAME="$IFNAME" NCCL_IB_HCA="$IB_HCA" NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME="$IFNAME" NVSHMEM_HCA_LIST="$IB_HCA" VLLM_HOST_IP="$NODE1_ADDR" vllm serve deepseek-v3 --dtype bfloat16 --kv-cache-dtype bfloat16 --gpu-memory-utilization 0.9 --max-model-len 1600 --tensor-parallel-size 1 --data-parallel-size 16 --enable-expert-parallel --all2all-backend deepep_low_latency --enable-dbo --dbo-decode-token-threshold 1000000000 --max-num-seqs 16 --max-num-batched-tokens 8192 --data-parallel-size-local 8 --data-parallel-start-rank 8 --data-parallel-address "$NODE0_ADDR" --data-parallel-rpc-port 13345 --headless
#
# nothing was predicted for this plan; this measures it, all lines at once:
vllm bench serve --backend vllm --model deepseek-v3 --host "$NODE0_ADDR" --port 8000 --dataset-name random --random-input-len 1024 --random-output-len 512 --random-range-ratio 0 --ignore-eos --max-concurrency 256 --num-prompts 2560 --percentile-metrics ttft,tpot
