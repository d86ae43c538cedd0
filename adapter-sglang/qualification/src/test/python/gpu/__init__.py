"""The released engine on a GPU with and without OrbitKV: answers, times, and the bytes of its pools."""
