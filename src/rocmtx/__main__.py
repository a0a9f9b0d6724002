"""`python -m rocmtx` is the command `rocmtx`."""

from rocmtx.cli import main

main()
