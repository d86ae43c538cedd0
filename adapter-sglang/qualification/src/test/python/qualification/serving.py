"""A whole engine on a CPU, in a process of its own: python -m qualification.serving SETTINGS MODEL PROMPTS.

Generates for each prompt, flushes the engine's own cache, and generates again. Prints a line of JSON: for each answer
its tokens, and how many of the prompt's were cached.
"""

from __future__ import annotations

import json
import sys
from typing import Any

MARK = "answers: "


def main(settings: str, model: str, prompts: list[list[int]]) -> None:
    """Runs the engine."""
    import sglang

    engine = sglang.Engine(
        model_path=model, device="cpu", skip_tokenizer_init=True, attention_backend="torch_native", page_size=16,
        max_total_tokens=2048, disable_cuda_graph=True, log_level="error", dtype="float32", max_running_requests=4,
        chunked_prefill_size=512, sampling_backend="pytorch", grammar_backend="none", skip_server_warmup=True,
        radix_cache_backend="orbitkv", enable_unified_cache_external_linker=True,
        hicache_storage_backend_extra_config=settings,
    )
    answers = []
    try:
        _await_cache(engine, prompts[0])
        for _ in range(2):
            answers += [_answer(engine, prompt) for prompt in prompts]
            # It waits for saves under way.
            assert engine.flush_cache().success
    finally:
        engine.shutdown()
    print(MARK + json.dumps(answers), flush=True)


def _await_cache(engine: Any, prompt: list[int]) -> None:
    """The agent takes a moment to be there; what is computed before that is not saved."""
    import time

    probe = [token + 1 for token in prompt]
    end = time.monotonic() + 120
    while _answer(engine, probe)["cached"] == 0:
        assert time.monotonic() < end, "the agent is not there"
        assert engine.flush_cache().success


def _answer(engine: Any, prompt: list[int]) -> dict[str, Any]:
    said = engine.generate(
        input_ids=prompt, sampling_params={"temperature": 0, "max_new_tokens": 8, "ignore_eos": True}
    )
    return {"tokens": said["output_ids"], "cached": said["meta_info"]["cached_tokens"]}


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], json.loads(sys.argv[3]))
