# sglang 0.5.19: TP16 PP1 DP1 EP1 x1
# GPUs: 16 = 16 tp x 1 dp x 1 pp x 1 replica; nodes of 4 of "GB200 NVL72"
# to be set: NODEn_ADDR, the address of node n; IFNAME, the interface that has it
# mem-fraction-static has no part for activations and graphs: lower it where they do not fit
#
# pool 0, unified: 16 GPUs = 16 tp x 1 dp x 1 pp x 1 replica; experts 1 ep x 16 moe_tp
# node 0: pool 0, replica 0, GPUs 0-3 of 4
NCCL_SOCKET_IFNAME="$IFNAME" GLOO_SOCKET_IFNAME="$IFNAME" NCCL_MNNVL_ENABLE=1 NCCL_CUMEM_ENABLE=1 python3 -m sglang.launch_server --model-path kimi-k3 --dtype bfloat16 --kv-cache-dtype bfloat16 --mem-fraction-static 0.9 --context-length 1600 --tp-size 16 --max-running-requests 256 --chunked-prefill-size 8192 --nnodes 4 --node-rank 0 --dist-init-addr "$NODE0_ADDR:5000" --host 0.0.0.0 --port 30000
# node 1: pool 0, replica 0, GPUs 0-3 of 4
NCCL_SOCKET_IFNAME="$IFNAME" GLOO_SOCKET_IFNAME="$IFNAME" NCCL_MNNVL_ENABLE=1 NCCL_CUMEM_ENABLE=1 python3 -m sglang.launch_server --model-path kimi-k3 --dtype bfloat16 --kv-cache-dtype bfloat16 --mem-fraction-static 0.9 --context-length 1600 --tp-size 16 --max-running-requests 256 --chunked-prefill-size 8192 --nnodes 4 --node-rank 1 --dist-init-addr "$NODE0_ADDR:5000" --host 0.0.0.0 --port 30000
# node 2: pool 0, replica 0, GPUs 0-3 of 4
NCCL_SOCKET_IFNAME="$IFNAME" GLOO_SOCKET_IFNAME="$IFNAME" NCCL_MNNVL_ENABLE=1 NCCL_CUMEM_ENABLE=1 python3 -m sglang.launch_server --model-path kimi-k3 --dtype bfloat16 --kv-cache-dtype bfloat16 --mem-fraction-static 0.9 --context-length 1600 --tp-size 16 --max-running-requests 256 --chunked-prefill-size 8192 --nnodes 4 --node-rank 2 --dist-init-addr "$NODE0_ADDR:5000" --host 0.0.0.0 --port 30000
# node 3: pool 0, replica 0, GPUs 0-3 of 4
NCCL_SOCKET_IFNAME="$IFNAME" GLOO_SOCKET_IFNAME="$IFNAME" NCCL_MNNVL_ENABLE=1 NCCL_CUMEM_ENABLE=1 python3 -m sglang.launch_server --model-path kimi-k3 --dtype bfloat16 --kv-cache-dtype bfloat16 --mem-fraction-static 0.9 --context-length 1600 --tp-size 16 --max-running-requests 256 --chunked-prefill-size 8192 --nnodes 4 --node-rank 3 --dist-init-addr "$NODE0_ADDR:5000" --host 0.0.0.0 --port 30000
#
# nothing was predicted for this plan; this measures it, all lines at once:
python3 -m sglang.bench_serving --backend sglang --model kimi-k3 --host "$NODE0_ADDR" --port 30000 --dataset-name random-ids --random-input-len 1024 --random-output-len 512 --random-range-ratio 1 --max-concurrency 256 --num-prompts 2560
