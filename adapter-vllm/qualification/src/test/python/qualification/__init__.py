"""The released engine, served for real: scenarios whose tokens are compared with those of a run without OrbitKV."""
