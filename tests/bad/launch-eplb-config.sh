vllm serve m -dp 8 -ep --enable-eplb --eplb-config '{"num_redundant_experts": -1}'
