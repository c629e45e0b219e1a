# sglang 0.5.19: TP4 PP1 DP1 EP1 x1 + TP2 PP1 DP1 EP1 x2
# GPUs: 8 = 4 tp x 1 dp x 1 pp x 1 replica + 2 tp x 1 dp x 1 pp x 2 replicas; nodes of 8 of "HGX H100, 8 GPUs"
# to be set: NODEn_ADDR, the address of node n
# mem-fraction-static has no part for activations and graphs: lower it where they do not fit
#
# pool 0, unified: 4 GPUs = 4 tp x 1 dp x 1 pp x 1 replica; experts 1 ep x 4 moe_tp
# node 0: pool 0, replica 0, GPUs 0-3 of 8
CUDA_VISIBLE_DEVICES=0,1,2,3 python3 -m sglang.launch_server --model-path qwen3-30b-a3b --dtype bfloat16 --kv-cache-dtype bfloat16 --mem-fraction-static 0.9 --context-length 1600 --tp-size 4 --max-running-requests 86 --chunked-prefill-size 8192 --host 0.0.0.0 --port 30000
#
# pool 1, unified: 4 GPUs = 2 tp x 1 dp x 1 pp x 2 replicas; experts 1 ep x 2 moe_tp
# node 0: pool 1, replica 0, GPUs 4-5 of 8
CUDA_VISIBLE_DEVICES=4,5 python3 -m sglang.launch_server --model-path qwen3-30b-a3b --dtype bfloat16 --kv-cache-dtype bfloat16 --mem-fraction-static 0.9 --context-length 1600 --tp-size 2 --max-running-requests 86 --chunked-prefill-size 8192 --host 0.0.0.0 --port 30400
# node 0: pool 1, replica 1, GPUs 6-7 of 8
CUDA_VISIBLE_DEVICES=6,7 python3 -m sglang.launch_server --model-path qwen3-30b-a3b --dtype bfloat16 --kv-cache-dtype bfloat16 --mem-fraction-static 0.9 --context-length 1600 --tp-size 2 --max-running-requests 86 --chunked-prefill-size 8192 --host 0.0.0.0 --port 30600
#
# nothing was predicted for this plan; this measures it, all lines at once:
python3 -m sglang.bench_serving --backend sglang --model qwen3-30b-a3b --host "$NODE0_ADDR" --port 30000 --dataset-name random-ids --random-input-len 1024 --random-output-len 512 --random-range-ratio 1 --max-concurrency 86 --num-prompts 860
python3 -m sglang.bench_serving --backend sglang --model qwen3-30b-a3b --host "$NODE0_ADDR" --port 30400 --dataset-name random-ids --random-input-len 1024 --random-output-len 512 --random-range-ratio 1 --max-concurrency 86 --num-prompts 860
python3 -m sglang.bench_serving --backend sglang --model qwen3-30b-a3b --host "$NODE0_ADDR" --port 30600 --dataset-name random-ids --random-input-len 1024 --random-output-len 512 --random-range-ratio 1 --max-concurrency 86 --num-prompts 860
