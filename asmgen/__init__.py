"""From one exact-integer description of a field operation to verified assembly: what a kernel script imports."""

from __future__ import annotations

from typing import Any

from asmgen.contracts import Bit, Bytes, Count, Range, Small, Table
from asmgen.control import choose, repeat
from asmgen.elements import keep, select
from asmgen.errors import AsmgenError
from asmgen.field import Field
from asmgen.kernel import kernel
from asmgen.program import power, program

__all__ = [
    "AsmgenError", "Bit", "Bytes", "Count", "Field", "Range", "Small", "Table", "amd64", "arm64", "choose", "keep",
    "kernel", "power", "program", "repeat", "select",
]  # fmt: skip

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """The instructions of a target, read in only by scripts that write some: `from asmgen import amd64`."""
    if name in ("amd64", "arm64"):
        from importlib import import_module

        return import_module(f"asmgen.targets.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
