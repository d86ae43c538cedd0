"""The released engine on a GPU, with OrbitKV and without: what it answers, and how long it takes."""
