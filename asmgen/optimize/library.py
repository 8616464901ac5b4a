"""C of the search and of the models, loaded on first use."""

from __future__ import annotations

import ctypes
import tempfile
from functools import cache
from pathlib import Path

from asmgen.compiled import shared

_HERE = Path(__file__).parent
_FILES = ("judge.h", "order.h", "model.h", "race.h", "order.c", "walk.c", "model.c", "in_order.c", "out_of_order.c",
          "modelled.c", "race.c", "raced.c")  # fmt: skip


@cache
def library() -> ctypes.CDLL | None:
    """The compiled inner loops; None where no C compiler makes them."""
    made = shared(*(_HERE / name for name in _FILES))
    if made is None:
        return None
    with tempfile.TemporaryDirectory(prefix="asmgen-") as scratch:
        path = Path(scratch) / "search.so"
        path.write_bytes(made)
        found = ctypes.CDLL(str(path))
    at, number, real = ctypes.c_void_p, ctypes.c_int32, ctypes.c_double
    for name, answer, arguments in (
        ("totals", None, [at, at, number, at, number, number, at, number, number, number, at]),
        ("modeled", at, [at, at, number, at, number, number]),
        ("forgotten", None, [at]),
        ("modelled_begin", real, [at, at, at]),
        ("walk", ctypes.c_int, [at]),
        ("raced_begin", None, [at, real]),
        ("raced_piece", None, [at, number, number, at, at, number]),
        ("raced_code", number, [at, at, at]),
        ("race", real, [at, at, ctypes.c_uint64, at, real]),
        ("alone", real, [at]),
    ):
        function = getattr(found, name)
        function.restype, function.argtypes = answer, arguments
    return found
