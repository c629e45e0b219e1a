# sglang 0.5.19: TP4 PP4 DP1 EP1 x1
# GPUs: 16 = 4 tp x 1 dp x 4 pp x 1 replica; nodes of 8 of "hgx-h100:2"
# to be set: NODEn_ADDR, the address of node n; IFNAME, the interface that has it; IB_HCA, the 8 NICs of a node
# mem-fraction-static has no part for activations and graphs: lower it where they do not fit
#
# pool 0, unified: 16 GPUs = 4 tp x 1 dp x 4 pp x 1 replica; experts 1 ep x 4 moe_tp
# node 0: pool 0, replica 0, GPUs 0-7 of 8
NCCL_SOCKET_IFNAME="$IFNAME" GLOO_SOCKET_IFNAME="$IFNAME" NCCL_IB_HCA="$IB_HCA" python3 -m sglang.launch_server --model-path deepseek-v3 --dtype bfloat16 --kv-cache-dtype bfloat16 --mem-fraction-static 0.9 --context-length 1600 --tp-size 4 --pp-size 4 --pp-async-batch-depth 2 --max-running-requests 256 --pp-max-micro-batch-size 43 --chunked-prefill-size 8192 --nnodes 2 --node-rank 0 --dist-init-addr "$NODE0_ADDR:5000" --host 0.0.0.0 --port 30000
# node 1: pool 0, replica 0, GPUs 0-7 of 8
NCCL_SOCKET_IFNAME="$IFNAME" GLOO_SOCKET_IFNAME="$IFNAME" NCCL_IB_HCA="$IB_HCA" python3 -m sglang.launch_server --model-path deepseek-v3 --dtype bfloat16 --kv-cache-dtype bfloat16 --mem-fraction-static 0.9 --context-length 1600 --tp-size 4 --pp-size 4 --pp-async-batch-depth 2 --max-running-requests 256 --pp-max-micro-batch-size 43 --chunked-prefill-size 8192 --nnodes 2 --node-rank 1 --dist-init-addr "$NODE0_ADDR:5000" --host 0.0.0.0 --port 30000
#
# nothing was predicted for this plan; this measures it, all lines at once:
python3 -m sglang.bench_serving --backend sglang --model deepseek-v3 --host "$NODE0_ADDR" --port 30000 --dataset-name random-ids --random-input-len 1024 --random-output-len 512 --random-range-ratio 1 --max-concurrency 256 --num-prompts 2560
