"""C files of this package as shared objects, made on first use and kept."""

from __future__ import annotations

import tempfile
from pathlib import Path

from asmgen import tools
from asmgen.cache import cached

_COMPILERS = ("cc", "gcc", "clang", *(f"{name}-{version}" for version in range(30, 8, -1) for name in ("gcc", "clang")))


def shared(*sources: Path) -> bytes | None:
    """The files, headers among them, compiled by the first C compiler found; None without one, or where it fails."""
    path = tools.find(_COMPILERS)
    if path is None:
        return None
    files = [str(source) for source in sources if source.suffix != ".h"]
    texts = [source.read_text() for source in sources]

    def make() -> bytes | None:
        with tempfile.TemporaryDirectory(prefix="asmgen-") as scratch:
            made = Path(scratch) / "made.so"
            command = (path, "-O2", "-ffp-contract=off", "-shared", "-fPIC", *files, "-o", str(made), "-lm")
            return made.read_bytes() if tools.run(command).status == 0 and made.is_file() else None

    return cached(("compiled", path, *texts), make)
