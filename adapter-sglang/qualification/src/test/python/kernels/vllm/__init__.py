"""Not vLLM: the two of its kernels that SGLang's wheel looks for where it has none of its own, as on a CPU."""
