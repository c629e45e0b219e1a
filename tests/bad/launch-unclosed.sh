vllm serve 'm --tensor-parallel-size 4
