"""One engine, told what to do line by line: python -m gpu.serving ARGUMENTS, a JSON object of the engine's own.

Reads JSON from its input, a command a line, and answers each with a line behind ``MARK``.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

MARK = "answer: "


def main(arguments: dict[str, Any]) -> None:
    """Starts the engine, and does as it is told until its input ends."""
    import sglang

    began = time.perf_counter()
    engine = sglang.Engine(**arguments)
    try:
        _say({"seconds": time.perf_counter() - began})
        for line in sys.stdin:
            _say(_do(engine, json.loads(line)))
    finally:
        engine.shutdown()


def _do(engine: Any, command: dict[str, Any]) -> dict[str, Any]:
    if command["do"] == "flush":
        # It waits for saves under way.
        return {"success": bool(engine.flush_cache().success)}
    assert command["do"] == "generate", command
    prompts = command["prompts"]
    sampling = {"temperature": 0, "max_new_tokens": command["tokens"], "ignore_eos": True}
    began = time.perf_counter()
    said = engine.generate(input_ids=prompts, sampling_params=[sampling] * len(prompts))
    taken = time.perf_counter() - began
    return {
        "seconds": taken,
        "tokens": [each["output_ids"] for each in said],
        "cached": [each["meta_info"]["cached_tokens"] for each in said],
    }


def _say(answer: dict[str, Any]) -> None:
    print(MARK + json.dumps(answer), flush=True)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
