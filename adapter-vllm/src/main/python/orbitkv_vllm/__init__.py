"""OrbitKV for vLLM 0.31.0: a KV connector that lets prompts whose prefix was seen before be restored, not computed.

``vllm serve MODEL --kv-transfer-config '{"kv_connector": "OrbitKvConnector", "kv_role": "kv_both"}'`` is how it is used.
Importing this package imports nothing else: an engine that does not select the connector does not pay for it.
"""
