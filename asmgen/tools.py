"""Programs of other people, such as compilers: finding and running them within bounds of time, memory and output."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from asmgen.errors import AsmgenError

_MEMORY_KIB = 8 << 20
_OUTPUT_BYTES = 1 << 16
_FILE_BLOCKS = 1 << 20  # of 512 bytes or 1 KiB, by the shell

#: Limits are set by the shell, which then becomes the program: what a system does not know of them is left out.
_BOUNDED = 'ulimit -v "$1" 2>/dev/null; ulimit -t "$2" 2>/dev/null; ulimit -f "$3" 2>/dev/null; shift 3; exec "$@"'


@dataclass(frozen=True)
class Finished:
    """How a program ended: its exit status (negative: a signal) and the start of what it printed on both streams."""

    status: int
    output: str

    @property
    def first_error(self) -> str:
        """The line that says most: the first with "error" in it, else the last one."""
        lines = [line.strip() for line in self.output.splitlines() if line.strip()]
        return next((line for line in lines if "error" in line.lower()), lines[-1] if lines else f"exit {self.status}")


def find(names: Sequence[str]) -> str | None:
    """The path of the first of these programs that is on PATH."""
    return next((path for path in map(shutil.which, names) if path), None)


def run(
    command: Sequence[str], directory: Path | None = None, *, seconds: int = 60, stdin: Path | None = None
) -> Finished:
    """Run a program, in a directory, with at most this much time (all its children included) and 8 GiB of memory each.

    Output beyond 64 KiB is dropped. Raises `AsmgenError` when time runs out.
    """
    bounded = ["sh", "-c", _BOUNDED, "sh", str(_MEMORY_KIB), str(seconds), str(_FILE_BLOCKS), *command]
    environment = {**os.environ, "LC_ALL": "C"}
    with tempfile.TemporaryFile() as output, (stdin or Path(os.devnull)).open("rb") as source:
        process = subprocess.Popen(
            bounded,
            cwd=directory,
            stdin=source,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=environment,
            start_new_session=True,  # a group of its own, so that its children end with it
        )
        try:
            status = process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            raise AsmgenError(f"{command[0]} was still running after {seconds} s: {' '.join(command)}") from None
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        output.seek(0)
        return Finished(status, output.read(_OUTPUT_BYTES).decode(errors="replace"))
