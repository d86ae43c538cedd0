"""Imported once by the process that engines are copied from: the released engine, and nothing of OrbitKV."""

import vllm  # noqa: F401
import vllm.entrypoints.llm  # noqa: F401
import vllm.model_executor.models.qwen3  # noqa: F401
import vllm.v1.engine.llm_engine  # noqa: F401
