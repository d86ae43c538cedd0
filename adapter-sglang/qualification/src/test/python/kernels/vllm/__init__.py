"""Not vLLM: the three of its kernels that SGLang's wheel looks for where it has none of its own, as on a CPU."""
