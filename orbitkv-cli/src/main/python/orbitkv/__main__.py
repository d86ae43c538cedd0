"""``python -m orbitkv``."""

from orbitkv.command import main

main()
