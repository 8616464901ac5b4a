"""Finds kernel scripts, the shipped ones and anybody's, and reads the kernels in them."""

from __future__ import annotations

import linecache
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from asmgen.cache import script_version
from asmgen.errors import AsmgenError, Source, UsageError, nearest, script_errors
from asmgen.function import Function

_PACKAGE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Script:
    """A script that was run: its kernels by name, in the order in which they are written."""

    name: str
    path: Path
    kernels: dict[str, Function]


def directory() -> Path:
    """Where the shipped scripts are: inside an installed package, beside it in a checkout."""
    installed = _PACKAGE / "_kernels"
    return installed if installed.is_dir() else _PACKAGE.parent / "kernels"


def shipped() -> list[str]:
    """The names of the shipped scripts, sorted."""
    return sorted(path.stem for path in directory().glob("*.py") if not path.stem.startswith("_"))


def find(selectors: Sequence[str] = ()) -> list[Function]:
    """The kernels that the selectors name, each once, in their order; all shipped ones when there are none.

    A selector is a shipped script (`curve25519_5x51`), one of its kernels (`curve25519_5x51.mul`), a path
    (`fields/my.py`), or a kernel in a path (`fields/my.py:mul`).
    """
    scripts: dict[Path, Script] = {}
    found: dict[Function, None] = {}
    for selector in selectors or shipped():
        path, name = _parsed(selector)
        if path not in scripts:
            scripts[path] = load(path)
        script = scripts[path]
        if name and name not in script.kernels:
            raise UsageError(f"{script.name} has no kernel {name}", hint=_hint(name, list(script.kernels)))
        found.update(dict.fromkeys([script.kernels[name]] if name else script.kernels.values()))
    return list(found)


def selector(function: Function) -> str:
    """What names one kernel on the command line, from the working directory."""
    path = Path(function.file)
    if path.parent == directory().resolve():
        return f"{path.stem}.{function.name}"
    near = os.path.relpath(path)
    return f"{path if near.startswith('..') else near}:{function.name}"


def load(name_or_path: str | Path) -> Script:
    """Run a script, shipped or at a path, and collect its kernels.

    A fault in the script is an `AsmgenError` with its line; so is a script without kernels.
    """
    path = name_or_path if isinstance(name_or_path, Path) else _parsed(name_or_path)[0]
    path = path.resolve()
    if not path.stem.isidentifier():
        raise UsageError(f"{path.name} cannot name routines: their symbols begin with the script's name",
                         hint="rename it to letters, digits and underscores, such as my_field.py")  # fmt: skip
    module = _executed(path)
    kernels = {
        kernel.name: kernel
        for kernel in vars(module).values()
        if isinstance(kernel, Function) and kernel.file == str(path)
    }
    if not kernels:
        raise AsmgenError("this script has no kernel", source=Source(str(path), 1),
                          hint="put @kernel above the functions that are to become routines")  # fmt: skip
    version = script_version(path)
    for kernel in kernels.values():
        kernel.version = version
    return Script(path.stem, path, kernels)


def _parsed(selector: str) -> tuple[Path, str]:
    """The script's path and the kernel's name, empty for all."""
    place, _, name = selector.partition(":")
    if place.endswith(".py") or os.sep in place:
        path = Path(place)
        if not path.is_file():
            raise UsageError(f"there is no script {place}", hint="give the path of a .py file, or one of: "
                             + ", ".join(shipped()))  # fmt: skip
        return path.resolve(), name
    script, _, kernel = place.partition(".")
    known = shipped()
    if script not in known:
        raise UsageError(f"there is no script {script}", hint=_hint(script, known))
    return (directory() / f"{script}.py").resolve(), kernel or name


def _hint(word: str, known: Sequence[str]) -> str:
    close = nearest(word, known)
    return f"did you mean {close}?" if close else f"one of: {', '.join(known)}"


def _executed(path: Path) -> ModuleType:
    """The script as a module of a name of its own; scripts beside it can be imported."""
    try:
        text = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}", hint="give the path of a readable file") from error
    linecache.checkcache(str(path))
    module = ModuleType(f"asmgen_script_{path.stem}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module
    with script_errors(str(path)), _importing(str(path.parent)):
        exec(compile(text, str(path), "exec", dont_inherit=True), vars(module))
    return module


@contextmanager
def _importing(folder: str) -> Iterator[None]:
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        sys.path.remove(folder)
