"""OrbitKV as it is installed by pip: the command, with the Java that it runs on."""
