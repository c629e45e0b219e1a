vllm serve m -dp 4 -dpl 2 -dpa a -ep
vllm serve m -dp 4 -dpl 2 -dpa a -dpr 2 --headless
