"""The C of the search, loaded on first use."""

from __future__ import annotations

import ctypes
import tempfile
from functools import cache
from pathlib import Path

from asmgen.compiled import shared

_HERE = Path(__file__).parent


@cache
def library() -> ctypes.CDLL | None:
    """The compiled inner loops; None where no C compiler makes them."""
    made = shared(_HERE / "order.c", _HERE / "race.c")
    if made is None:
        return None
    with tempfile.TemporaryDirectory(prefix="asmgen-") as scratch:
        path = Path(scratch) / "search.so"
        path.write_bytes(made)
        return ctypes.CDLL(str(path))
