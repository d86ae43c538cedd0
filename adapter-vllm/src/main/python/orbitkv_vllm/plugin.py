"""The entry point of ``vllm.general_plugins``, which vLLM calls in each of its processes."""

from __future__ import annotations

CONNECTOR = "OrbitKvConnector"


def register() -> None:
    """Makes the connector known by its name. Nothing of it is imported until an engine selects it."""
    from vllm.distributed.kv_transfer.kv_connector.factory import KVConnectorFactory

    # Called more than once in a process, and a name that is known is an error there.
    if CONNECTOR not in KVConnectorFactory._registry:
        KVConnectorFactory.register_connector(CONNECTOR, "orbitkv_vllm.connector", CONNECTOR)
