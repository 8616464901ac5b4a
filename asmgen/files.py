"""Generated files on disk: written all at once or not at all, and held against what stands there."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from asmgen.errors import AsmgenError


def write(files: Mapping[str, str], out: Path) -> list[tuple[Path, bool]]:
    """Put the files below `out`; each path, and whether its text is new.

    All are written beside their places first and then moved there, so that a fault on the way (no room left, Ctrl-C)
    leaves the old files whole. Raises AsmgenError when the directory cannot be written.
    """
    waiting: list[tuple[Path, Path]] = []
    result = []
    try:
        for name, text in files.items():
            path = out / name
            new = _text(path) != text
            if new:
                path.parent.mkdir(parents=True, exist_ok=True)
                beside = path.with_name(f".{path.name}.{os.getpid()}")
                waiting.append((beside, path))
                beside.write_text(text, encoding="utf-8", newline="\n")
            result.append((path, new))
        while waiting:
            os.replace(*waiting[0])
            waiting.pop(0)
    except OSError as error:
        where = Path(error.filename) if error.filename else out
        raise AsmgenError(
            f"{where.parent if where.name.startswith('.') else where} cannot be written: {error.strerror}",
            hint="the files that were there are as they were; make room or rights, or choose another place with --out",
        ) from error
    finally:
        for beside, _ in waiting:
            beside.unlink(missing_ok=True)
    return result


def _text(path: Path) -> str | None:
    """What stands there; None when nothing does, or nothing that is text."""
    try:
        return path.read_bytes().decode()
    except (OSError, UnicodeDecodeError):
        return None


def differences(
    files: Mapping[str, str], out: Path, places: Sequence[Path] = (), *, also: Sequence[str] = ()
) -> list[str]:
    """The first difference of each file that stands below `out` from its text; then what else is in `places`, but for
    the paths in `also`, which may be there."""
    known = {*files, *also}
    found = [difference for name, text in files.items() if (difference := _difference(out / name, text))]
    there = [path for place in places for path in _below(place)]
    return found + [f"{path} is made by no script" for path in there if path.relative_to(out).as_posix() not in known]


def _below(folder: Path) -> list[Path]:
    """All files in a directory and those in it, sorted; none when it does not exist."""
    return sorted(path for path in folder.rglob("*") if not path.is_dir())


def _difference(path: Path, wanted: str) -> str | None:
    found = _text(path)
    if found == wanted:
        return None
    if found is None:
        return f"{path} is missing" if not path.exists() else f"{path} is no text"
    old, new = found.split("\n"), wanted.split("\n")
    line = next((i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
    there, made = (lines[line].strip() if line < len(lines) else "nothing" for lines in (old, new))
    return f"{path}:{line + 1} is not what the script makes\n    there: {there}\n    made:  {made}"
