# node 1: pool 0, replica 0, GPUs 0-1 of 8
NCCL_X=1 CUDA_VISIBLE_DEVICES=0,1 vllm serve m -tp 2 --seed 1 -ep &
# node 1: pool 0, replica 1, GPUs 2-3 of 8
vllm serve m -tp 2 -ep; vllm bench run
