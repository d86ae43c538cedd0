"""Has the released SGLang read what was planned: its parser and its variables.

Takes plans as JSON on its standard input, and prints how many it has read.
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from sglang.srt.environ import envs
from sglang.srt.server_args import ServerArgs

from orbitkv_sglang.settings import Settings

# What rules say of the release.
_DEFAULTS = {
    "SGLANG_DISAGGREGATION_DEFERRED_DECODE_KV_RELEASE": True,
    "SGLANG_DISAGG_PREFILL_EARLY_SEND_CACHED_PREFIX": True,
    "SGLANG_DISAGGREGATION_BOOTSTRAP_TIMEOUT": 300,
    "SGLANG_DISAGGREGATION_WAITING_TIMEOUT": 300,
    "SGLANG_DISAGGREGATION_DEFERRED_DECODE_KV_RELEASE_TIMEOUT": 30.0,
}


def read(plan: dict[str, Any]) -> None:
    """Raises what the engine would."""
    python, _, module, *words = plan["command"]
    assert (python, module) == ("python3", "sglang.launch_server"), plan["command"]
    parser = argparse.ArgumentParser(exit_on_error=False)
    ServerArgs.add_cli_args(parser)
    arguments = parser.parse_args(words)
    Settings.parse(arguments.hicache_storage_backend_extra_config)
    for name, value in plan["environment"].items():
        variable = getattr(envs, name)
        variable.parse(value)


def main() -> None:
    plans = json.load(sys.stdin)
    for plan in plans:
        read(plan)
    defaults = {name: getattr(envs, name).default for name in _DEFAULTS}
    assert defaults == _DEFAULTS, defaults
    print(f"{len(plans)} plans read")


if __name__ == "__main__":
    main()
