# sglang 0.5.19: TP8 PP1 DP2 EP16 x1
# GPUs: 16 = 8 tp x 2 dp x 1 pp x 1 replica; nodes of 8 of "hgx-h100:2"
# to be set: NODEn_ADDR, the address of node n; IFNAME, the interface that has it; IB_HCA, the 8 NICs of a node
# mem-fraction-static has no part for activations and graphs: lower it where they do not fit
#
# pool 0, unified: 16 GPUs = 8 tp x 2 dp x 1 pp x 1 replica; experts 16 ep x 1 moe_tp; tp-size 16 = 8 tp x 2 dp
# node 0: pool 0, replica 0, GPUs 0-7 of 8
NCCL_SOCKET_IFNAME="$IFNAME" GLOO_SOCKET_IFNAME="$IFNAME" NCCL_IB_HCA="$IB_HCA" NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME="$IFNAME" NVSHMEM_HCA_LIST="$IB_HCA" python3 -m sglang.launch_server --model-path deepseek-v3 --dtype bfloat16 --kv-cache-dtype bfloat16 --mem-fraction-static 0.9 --context-length 1600 --tp-size 16 --dp-size 2 --enable-dp-attention --ep-size 16 --moe-a2a-backend deepep --deepep-mode auto --enable-dp-lm-head --max-running-requests 256 --chunked-prefill-size 16384 --nnodes 2 --node-rank 0 --dist-init-addr "$NODE0_ADDR:5000" --host 0.0.0.0 --port 30000
# node 1: pool 0, replica 0, GPUs 0-7 of 8
NCCL_SOCKET_IFNAME="$IFNAME" GLOO_SOCKET_IFNAME="$IFNAME" NCCL_IB_HCA="$IB_HCA" NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME="$IFNAME" NVSHMEM_HCA_LIST="$IB_HCA" python3 -m sglang.launch_server --model-path deepseek-v3 --dtype bfloat16 --kv-cache-dtype bfloat16 --mem-fraction-static 0.9 --context-length 1600 --tp-size 16 --dp-size 2 --enable-dp-attention --ep-size 16 --moe-a2a-backend deepep --deepep-mode auto --enable-dp-lm-head --max-running-requests 256 --chunked-prefill-size 16384 --nnodes 2 --node-rank 1 --dist-init-addr "$NODE0_ADDR:5000" --host 0.0.0.0 --port 30000
#
# nothing was predicted for this plan; this measures it, all lines at once:
python3 -m sglang.bench_serving --backend sglang --model deepseek-v3 --host "$NODE0_ADDR" --port 30000 --dataset-name random-ids --random-input-len 1024 --random-output-len 512 --random-range-ratio 1 --max-concurrency 256 --num-prompts 2560
