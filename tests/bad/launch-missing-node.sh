sglang serve --model-path m --tp 16 --nnodes 2 --node-rank 0 --dist-init-addr a:1
sglang serve --model-path m --tp 16 --nnodes 2 --node-rank 0 --dist-init-addr b:1
