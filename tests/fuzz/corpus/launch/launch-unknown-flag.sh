vllm serve m --frobnicate 3
