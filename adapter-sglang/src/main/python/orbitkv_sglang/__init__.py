"""OrbitKV for SGLang 0.5.22: an external linker that lets prefixes that were seen before be restored, not computed.

``--radix-cache-backend orbitkv --enable-unified-cache-external-linker`` selects it. Importing this package imports
nothing else: an engine that does not select it does not pay for it.
"""
