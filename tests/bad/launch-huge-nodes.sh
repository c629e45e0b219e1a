sglang serve --model-path m --tp 1000000 --nnodes 1000000 --node-rank 0 --dist-init-addr a:1
