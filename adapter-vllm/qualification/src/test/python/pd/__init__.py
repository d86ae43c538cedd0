"""Prefill, decode and a router on one machine, started as ``orbitkv pd plan`` says."""
