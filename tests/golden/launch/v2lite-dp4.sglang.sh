# sglang 0.5.19: TP1 PP1 DP4 EP4 x1
# GPUs: 4 = 1 tp x 4 dp x 1 pp x 1 replica; nodes of 8 of "HGX H100, 8 GPUs"
# to be set: NODEn_ADDR, the address of node n
# mem-fraction-static has no part for activations and graphs: lower it where they do not fit
#
# pool 0, unified: 4 GPUs = 1 tp x 4 dp x 1 pp x 1 replica; experts 4 ep x 1 moe_tp; tp-size 4 = 1 tp x 4 dp
# node 0: pool 0, replica 0, GPUs 0-3 of 8
CUDA_VISIBLE_DEVICES=0,1,2,3 SGLANG_DEEPEP_BF16_DISPATCH=1 python3 -m sglang.launch_server --model-path deepseek-v2-lite --dtype bfloat16 --kv-cache-dtype bfloat16 --mem-fraction-static 0.9 --context-length 1600 --tp-size 4 --dp-size 4 --enable-dp-attention --ep-size 4 --moe-a2a-backend deepep --deepep-mode auto --enable-dp-lm-head --moe-dense-tp-size 1 --max-running-requests 256 --chunked-prefill-size 32768 --host 0.0.0.0 --port 30000
#
# nothing was predicted for this plan; this measures it, all lines at once:
python3 -m sglang.bench_serving --backend sglang --model deepseek-v2-lite --host "$NODE0_ADDR" --port 30000 --dataset-name random-ids --random-input-len 1024 --random-output-len 512 --random-range-ratio 1 --max-concurrency 256 --num-prompts 2560
