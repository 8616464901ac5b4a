"""Finished routines kept between runs, found by the hash of all that they are made from.

The key covers every file of asmgen and emulate, the script and the scripts beside it as they were when it was run, and
the options, so that nothing stale can be found. What is read back is unpickled with this package's own classes only.
`ASMGEN_CACHE` names another directory, or is `off`.
"""

from __future__ import annotations

import hashlib
import io
import os
import pickle
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from asmgen.targets.row import Row

Value = TypeVar("Value")

_SOURCES = [Path(__file__).resolve().parents[1] / package for package in ("asmgen", "emulate")]
_VERSIONS = 4  # of this package, whose routines are kept: those used last
_PLAIN = {("builtins", "frozenset"), ("builtins", "set")}


def cached(
    key: Sequence[object], make: Callable[[], Value], *, script: str | None = None, trust: bool = True
) -> Value:
    """make(), or what it gave before for the same key (by `repr`), script and version of this package.

    `script` is the `version` of the function that the value is made from, if it is made from one; with an empty one
    nothing is kept. Without `trust` it is made in any case, and kept for others.
    """
    place = _place(key, script)
    if place is not None and trust:
        with suppress(OSError, ValueError, LookupError, AttributeError, TypeError, EOFError, pickle.UnpicklingError):
            found: Value = _Reader(io.BytesIO(place.read_bytes())).load()
            return found
    made = make()
    keep(key, made, script=script)
    return made


def keep(key: Sequence[object], made: object, *, script: str | None = None) -> None:
    """For the next time; where it cannot be written nothing is lost but time."""
    place = _place(key, script)
    if place is not None:
        with suppress(OSError, pickle.PicklingError):
            _write(place, made)


def kept() -> bool:
    """Whether what is made here is there for other processes."""
    return _folder() is not None


def script_version(path: Path) -> str:
    """What tells a script from others and from itself at other times, those beside it and recorded chains included: any
    may import any."""
    return _hash([*sorted(path.parent.glob("*.py")), *sorted(path.parent.glob("plans/*.json"))], str(path))


def _place(key: Sequence[object], script: str | None) -> Path | None:
    folder = None if script == "" else _folder()
    if folder is None:
        return None
    name = hashlib.sha256(f"{script}\n{key!r}".encode()).hexdigest()
    return folder / name[:2] / name[2:34]


@cache
def _folder() -> Path | None:
    """Where this version's routines are; None when they are not kept."""
    named = os.environ.get("ASMGEN_CACHE", "")
    if named == "off":
        return None
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    root = Path(named or os.path.join(home, "asmgen"))
    folder = root / _version()[:32]
    try:
        if folder.is_dir():
            os.utime(folder)
        else:
            folder.mkdir(mode=0o700, parents=True)
            for old in sorted(root.iterdir(), key=lambda path: path.stat().st_mtime)[:-_VERSIONS]:
                shutil.rmtree(old, ignore_errors=True)
        if folder.stat().st_uid != os.getuid():
            return None  # somebody else could have written what is there
    except OSError:
        return None
    return folder


def _version() -> str:
    """The hash of what makes routines and their listings."""
    return _hash([path for source in _SOURCES for path in sorted(source.rglob("*.py"))], sys.version)


def _hash(paths: list[Path], more: str = "") -> str:
    found = hashlib.sha256(more.encode())
    for path in paths:
        found.update(f"{path.name} {path.stat().st_size}\n".encode())
        found.update(path.read_bytes())
    return found.hexdigest()


def _write(place: Path, value: object) -> None:
    """The value in a file that appears whole."""
    buffer = io.BytesIO()
    _Writer(buffer).dump(value)
    place.parent.mkdir(mode=0o700, exist_ok=True)
    handle, beside = tempfile.mkstemp(dir=place.parent)
    try:
        with open(handle, "wb") as file:
            file.write(buffer.getvalue())
        os.replace(beside, place)
    except BaseException:
        os.unlink(beside)
        raise


def _rows(target: str) -> Any:
    return import_module(f"asmgen.targets.{target}").ROWS


class _Writer(pickle.Pickler):
    """Writes rows by their names: a row holds functions."""

    def __init__(self, file: io.BytesIO) -> None:
        from asmgen.targets.row import Row

        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self.row = Row

    def persistent_id(self, value: object) -> tuple[str, str] | None:
        if not isinstance(value, self.row):
            return None
        for target in ("amd64", "arm64"):
            if _rows(target).get(value.name) is value:
                return target, value.name
        raise pickle.PicklingError(f"{value.name} is no row of a target")


class _Reader(pickle.Unpickler):
    """Reads what `_Writer` wrote, and makes nothing but values of this package's classes."""

    def persistent_load(self, name: tuple[str, str]) -> Row:
        target, row = name
        found: Row = _rows(target)[row]
        return found

    def find_class(self, module: str, name: str) -> Any:
        if module.split(".")[0] == "asmgen" or (module, name) in _PLAIN:
            found = super().find_class(module, name)
            if isinstance(found, type) and found.__module__ == module:
                return found
        raise pickle.UnpicklingError(f"{module}.{name} is no class of this package")
