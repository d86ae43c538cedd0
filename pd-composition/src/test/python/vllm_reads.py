"""Has the released vLLM read what was planned: its parser, its connector factory, its variables.

Takes plans as JSON on its standard input, and prints how many it has read.
"""

from __future__ import annotations

import inspect
import json
import sys
from typing import Any

from vllm import envs
from vllm.config.kv_transfer import KVTransferConfig
from vllm.distributed.kv_transfer.kv_connector.factory import KVConnectorFactory
from vllm.distributed.kv_transfer.kv_connector.v1.nixl import base_scheduler, base_worker
from vllm.entrypoints.launchers.cli_args import make_arg_parser
from vllm.utils.argparse_utils import FlexibleArgumentParser

from orbitkv_vllm import plugin
from orbitkv_vllm.settings import Settings


def read(plan: dict[str, Any]) -> None:
    """Raises what the engine would."""
    program, command, *words = plan["command"]
    assert (program, command) == ("vllm", "serve"), plan["command"]
    arguments = make_arg_parser(FlexibleArgumentParser()).parse_args(words)
    transfer = arguments.kv_transfer_config
    assert isinstance(transfer, KVTransferConfig), transfer
    assert transfer.kv_load_failure_policy == "recompute"
    children = transfer.kv_connector_extra_config.get("connectors")
    for child in [vars(transfer)] if children is None else children:
        known = {name: child[name] for name in child if name != "engine_id"}
        config = KVTransferConfig(**known, engine_id="an engine")
        assert config.kv_connector is not None
        # By the name, as MultiConnector does for its children's counts.
        KVConnectorFactory.get_connector_class_by_name(config.kv_connector)
        extra = config.kv_connector_extra_config
        if config.kv_connector == plugin.CONNECTOR:
            Settings.parse(extra)
        else:
            source = inspect.getsource(base_scheduler) + inspect.getsource(base_worker)
            missing = [name for name in extra if f'"{name}"' not in source]
            assert not missing, missing
    unknown = [name for name in plan["environment"] if name not in envs.environment_variables]
    assert not unknown, unknown


def main() -> None:
    plugin.register()
    plans = json.load(sys.stdin)
    for plan in plans:
        read(plan)
    print(f"{len(plans)} plans read")


if __name__ == "__main__":
    main()
