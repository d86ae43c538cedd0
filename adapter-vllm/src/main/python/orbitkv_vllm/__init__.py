"""OrbitKV for vLLM 0.31.0: a KV connector that lets prompts whose prefix was seen before be restored, not computed.

``--kv-transfer-config '{"kv_connector": "OrbitKvConnector", "kv_role": "kv_both"}'`` selects it.
Importing this package imports nothing else: an engine that does not select the connector does not pay for it.
"""
