# sglang 0.5.19: TP2 PP1 DP1 EP8 x1 PCP4
# GPUs: 8 = 2 tp x 4 cp x 1 dp x 1 pp x 1 replica; nodes of 8 of "HGX H200, 8 GPUs"
# to be set: NODEn_ADDR, the address of node n
# mem-fraction-static has no part for activations and graphs: lower it where they do not fit
#
# pool 0, unified: 8 GPUs = 2 tp x 4 cp x 1 dp x 1 pp x 1 replica; experts 8 ep x 1 moe_tp; tp-size 8 = 2 tp x 4 cp x 1 dp
# node 0: pool 0, replica 0, GPUs 0-7 of 8
python3 -m sglang.launch_server --model-path deepseek-v3 --dtype bfloat16 --kv-cache-dtype bfloat16 --mem-fraction-static 0.9 --context-length 1600 --tp-size 8 --attn-cp-size 4 --enable-prefill-cp --cp-strategy zigzag --ep-size 8 --moe-a2a-backend deepep --deepep-mode auto --max-running-requests 256 --chunked-prefill-size 8192 --host 0.0.0.0 --port 30000
#
# nothing was predicted for this plan; this measures it, all lines at once:
python3 -m sglang.bench_serving --backend sglang --model deepseek-v3 --host "$NODE0_ADDR" --port 30000 --dataset-name random-ids --random-input-len 1024 --random-output-len 512 --random-range-ratio 1 --max-concurrency 256 --num-prompts 2560
