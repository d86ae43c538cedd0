"""The released tree, pools and wrapper of SGLang, with agents and a Manager as they are used."""
