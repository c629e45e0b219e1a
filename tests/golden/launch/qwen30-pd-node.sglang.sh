# sglang 0.5.19: TP2 PP1 DP1 EP1 x2 + TP4 PP1 DP1 EP1 x1
# GPUs: 8 = 2 tp x 1 dp x 1 pp x 2 replicas + 4 tp x 1 dp x 1 pp x 1 replica; nodes of 8 of "HGX H100, 8 GPUs"
# to be set: NODEn_ADDR, the address of node n; IB_HCA, the 8 NICs of a node
# mem-fraction-static has no part for activations and graphs: lower it where they do not fit
#
# pool 0, prefill: 4 GPUs = 2 tp x 1 dp x 1 pp x 2 replicas; experts 1 ep x 2 moe_tp
# node 0: pool 0, replica 0, GPUs 0-1 of 8
CUDA_VISIBLE_DEVICES=0,1 python3 -m sglang.launch_server --model-path qwen3-30b-a3b --dtype bfloat16 --kv-cache-dtype bfloat16 --mem-fraction-static 0.9 --context-length 1600 --tp-size 2 --disaggregation-mode prefill --disaggregation-transfer-backend mooncake --disaggregation-ib-device "$IB_HCA" --disaggregation-bootstrap-port 8998 --chunked-prefill-size 8192 --host 0.0.0.0 --port 30000
# node 0: pool 0, replica 1, GPUs 2-3 of 8
CUDA_VISIBLE_DEVICES=2,3 python3 -m sglang.launch_server --model-path qwen3-30b-a3b --dtype bfloat16 --kv-cache-dtype bfloat16 --mem-fraction-static 0.9 --context-length 1600 --tp-size 2 --disaggregation-mode prefill --disaggregation-transfer-backend mooncake --disaggregation-ib-device "$IB_HCA" --disaggregation-bootstrap-port 9000 --chunked-prefill-size 8192 --host 0.0.0.0 --port 30200
#
# pool 1, decode: 4 GPUs = 4 tp x 1 dp x 1 pp x 1 replica; experts 1 ep x 4 moe_tp
# node 0: pool 1, replica 0, GPUs 4-7 of 8
CUDA_VISIBLE_DEVICES=4,5,6,7 python3 -m sglang.launch_server --model-path qwen3-30b-a3b --dtype bfloat16 --kv-cache-dtype bfloat16 --mem-fraction-static 0.9 --context-length 1600 --tp-size 4 --disaggregation-mode decode --disaggregation-transfer-backend mooncake --disaggregation-ib-device "$IB_HCA" --max-running-requests 256 --chunked-prefill-size 8192 --host 0.0.0.0 --port 30400
#
# the router, at ROUTER_ADDR
python3 -m sglang_router.launch_router --pd-disaggregation --prefill "http://$NODE0_ADDR:30000" 8998 --prefill "http://$NODE0_ADDR:30200" 9000 --decode "http://$NODE0_ADDR:30400" --host 0.0.0.0 --port 8080
#
# nothing was predicted for this plan; this measures it, all lines at once:
python3 -m sglang.bench_serving --backend sglang --model qwen3-30b-a3b --host "$ROUTER_ADDR" --port 8080 --dataset-name random-ids --random-input-len 1024 --random-output-len 512 --random-range-ratio 1 --max-concurrency 256 --num-prompts 2560
