sglang serve --model a --tp 4 --dp 2 --enable-dp-attention --moe-a2a-backend deepep --disaggregation-mode prefill
sglang serve --model a --tp 4 --disaggregation-mode decode