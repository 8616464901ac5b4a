"""C of this package as a shared object, made on first use and kept: inner loops that Python is too slow for."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from asmgen import tools
from asmgen.cache import cached

_COMPILERS = ("cc", "gcc", "clang", *(f"{name}-{version}" for version in range(30, 8, -1) for name in ("gcc", "clang")))


def shared(*files: Path, flags: Sequence[str] = ()) -> bytes | None:
    """The shared object of these files; None without a C compiler, or where it does not do it."""
    path = tools.find(_COMPILERS)
    if path is None:
        return None

    def make() -> bytes | None:
        with tempfile.TemporaryDirectory(prefix="asmgen-") as scratch:
            made = Path(scratch) / "made.so"
            command = (path, "-O2", *flags, "-shared", "-fPIC", *map(str, files), "-o", str(made), "-lm")
            return made.read_bytes() if tools.run(command).status == 0 and made.is_file() else None

    return cached(("compiled", path, tuple(flags), [file.read_text() for file in files]), make)
