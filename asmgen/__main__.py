"""`python -m asmgen`."""

from asmgen.cli import main

main(prog_name="asmgen")
