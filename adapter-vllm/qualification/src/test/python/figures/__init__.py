"""What OrbitKV costs and saves a released engine on a CPU, in figures."""
