"""C of the search and of the models, loaded on first use."""

from __future__ import annotations

import ctypes
import tempfile
from functools import cache
from pathlib import Path

from asmgen.compiled import shared

_HERE = Path(__file__).parent


def library() -> ctypes.CDLL | None:
    """The compiled inner loops; None where no C compiler makes them."""
    return loaded("order.c", "race.c")


@cache
def loaded(*names: str) -> ctypes.CDLL | None:
    """What these files of this folder make together; None where no C compiler makes it."""
    made = shared(*(_HERE / name for name in names))
    if made is None:
        return None
    with tempfile.TemporaryDirectory(prefix="asmgen-") as scratch:
        path = Path(scratch) / "search.so"
        path.write_bytes(made)
        return ctypes.CDLL(str(path))
