"""Every message a user can meet, with the script line it comes from."""

from __future__ import annotations

import linecache
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from types import FrameType

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_SCRIPTS = _PACKAGE + "_kernels" + os.sep  # where an installed package keeps the shipped scripts


@dataclass(frozen=True)
class Source:
    """A line of a kernel script."""

    file: str
    line: int

    @property
    def text(self) -> str:
        """The line itself, stripped; empty when the file is gone."""
        return linecache.getline(self.file, self.line).strip()

    @property
    def place(self) -> str:
        """`file:line`, relative to the working directory when the file is below it."""
        path = os.path.relpath(self.file)
        return f"{self.file if path.startswith('..') else path}:{self.line}"


class AsmgenError(Exception):
    """A fault the user can mend: what happened, where in the script, and the way out."""

    def __init__(self, what: str, *, source: Source | None = None, hint: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.source = source
        self.hint = hint

    def __str__(self) -> str:
        lines = [self.what]
        if self.source is not None:
            lines[0] = f"{self.source.place}: {self.what}"
            if self.source.text:
                lines.append(f"    {self.source.text}")
        if self.hint:
            lines.append(f"  try: {self.hint}")
        return "\n".join(lines)


class UsageError(AsmgenError):
    """The command's words are off (exit code 2)."""


@cache
def _script(filename: str) -> str | None:
    """The absolute name of a script's file; None for a file of the package, or no file."""
    file = os.path.abspath(filename)
    ours = file.startswith(_PACKAGE) and not file.startswith(_SCRIPTS)
    return None if ours or filename.startswith("<") else file


_LIBRARY = os.path.dirname(os.path.abspath(os.__file__)) + os.sep


_entered: ContextVar[tuple[FrameType | None, Source | None]] = ContextVar("_entered", default=(None, None))
"""The frame that runs a script at this moment, and the line to name when no line of the script is running."""


def caller() -> Source | None:
    """The innermost line outside the asmgen package: the script line that is being traced."""
    frame: FrameType | None = sys._getframe(1)
    outermost, fallback = _entered.get()
    while frame is not outermost and frame is not None:
        file = _script(frame.f_code.co_filename)
        if file is not None:
            return Source(file, frame.f_lineno)
        frame = frame.f_back
    return fallback


def here(what: str, hint: str) -> AsmgenError:
    """An error at the script line that is being traced."""
    return AsmgenError(what, source=caller(), hint=hint)


@contextmanager
def script_errors(file: str, fallback: Source | None = None) -> Iterator[None]:
    """What goes wrong in a script inside the `with` block becomes an `AsmgenError` with the script's line.

    `fallback` is the line to name when none of the script is running.
    """
    token = _entered.set((sys._getframe(2), fallback))  # 1 is contextlib
    try:
        yield
    except AsmgenError:
        raise
    except SyntaxError as error:
        line = Source(error.filename or file, error.lineno or 1)
        raise AsmgenError(f"this is not Python: {error.msg}", source=line, hint="mend the line") from error
    except Exception as error:
        source: Source | None = fallback
        trace = error.__traceback__
        while trace is not None:
            name = _script(trace.tb_frame.f_code.co_filename)
            if name is not None and not name.startswith(_LIBRARY):
                source = Source(name, trace.tb_lineno)
            trace = trace.tb_next
        said = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        raise AsmgenError(f"the script stops here with {said}", source=source,
                          hint="mend the line; --debug shows the whole way") from error  # fmt: skip
    finally:
        _entered.reset(token)


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known name most like `word`, None when none is."""
    from difflib import get_close_matches

    return next(iter(get_close_matches(word, list(known), 1, 0.5)), None)
