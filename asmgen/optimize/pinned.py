"""A core for each process that times: the least busy one that no other search on this machine has."""

from __future__ import annotations

import fcntl
import os
import tempfile
import time
from functools import cache
from pathlib import Path

from asmgen.bench.child import idle

_LOOK = 0.1  # seconds for which it is watched who is busy


@cache
def pin() -> int:
    """Stay on a core from now on; its number, or -1 where a process cannot be pinned.

    Which cores are taken is known by locks on files, which end with their process. Where all are taken it is the least
    busy one.
    """
    if not hasattr(os, "sched_setaffinity"):
        return -1
    allowed = sorted(os.sched_getaffinity(0))
    first = idle()
    time.sleep(_LOOK)
    last = idle()
    ranked = sorted(allowed, key=lambda core: first.get(core, 0) - last.get(core, 0))
    chosen = next((core for core in ranked if _locked(core)), ranked[0])
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
