"""A core for each process that times: the least busy one that no other search on this machine has."""

from __future__ import annotations

import fcntl
import os
import tempfile
from functools import cache
from pathlib import Path

from asmgen.bench.child import ranked


@cache
def pin() -> int:
    """Stay on a core from now on; its number, or -1 where a process cannot be pinned.

    Which cores are taken is known by locks on files, which end with their process. Where all are taken it is the least
    busy one.
    """
    cores = ranked()
    if not cores:
        return -1
    chosen = next((core for core in cores if _locked(core)), cores[0])
    os.sched_setaffinity(0, {chosen})
    return chosen


def _locked(core: int) -> bool:
    """Whether nobody else has the core; then nobody gets it until this process ends."""
    path = Path(tempfile.gettempdir()) / f"asmgen-{os.getuid()}-core-{core}"
    try:
        handle = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    except OSError:
        return True  # nowhere to write: nothing is known
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        return False
    return True
