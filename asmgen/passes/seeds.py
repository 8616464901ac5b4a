"""What won when a routine was compiled by every algorithm, schedule and allocation that are tried, in a file that every
build reads: it compiles that one alone.

`plans/seeds.json` lies beside the scripts; `asmgen build --record` writes it. A script that has changed since is
compiled by all ways again, and so is one that is not in it. Nothing in it can make a routine wrong: it only chooses.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from asmgen.errors import AsmgenError
from asmgen.function import Function
from asmgen.passes.plans import Seed, row_of, seed_of

_SCRIPT = "script"


def record(script: Path) -> Path:
    """The file for a script."""
    return script.parent / "plans" / "seeds.json"


def known(function: Function, target: str, features: str) -> Seed | None:
    """What won for the generic core; None where that is not recorded, or for another text of the script."""
    script = Path(function.file)
    path = record(script)
    rows = _read(path, _stamp(path)).get(function.signature.script, {})
    if rows.get(_SCRIPT) != _hash(script, _stamp(script)):
        return None
    row = rows.get(f"{function.name} {target} {features}")
    try:
        return None if row is None else seed_of(row)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise _bad(path, f"{function.name} {target} {features}: {error}") from None


def text(old: Path, seeds: Mapping[Path, Mapping[tuple[str, str, str], Seed]]) -> str:
    """The file that has these seeds, by script and then by kernel, target and features, and what `old` has for other
    scripts."""
    made = dict(_read(old, _stamp(old)))
    for script, rows in seeds.items():
        made[script.stem] = {
            _SCRIPT: _hash(script, _stamp(script)),
            **{" ".join(key): row_of(rows[key]) for key in sorted(rows)},
        }
    lines = []
    for name in sorted(made):
        rows_of = ",\n".join(f"  {json.dumps(key)}: {json.dumps(row)}" for key, row in made[name].items())
        lines.append(f" {json.dumps(name)}: {{\n{rows_of}\n }}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _stamp(path: Path) -> tuple[int, int]:
    """What changes when a file does, zeros where there is none."""
    try:
        about = path.stat()
    except OSError:
        return 0, 0
    return about.st_mtime_ns, about.st_size


@cache
def _hash(script: Path, stamp: tuple[int, int]) -> str:
    return hashlib.sha256(script.read_bytes()).hexdigest()[:32]


@cache
def _read(path: Path, stamp: tuple[int, int]) -> Mapping[str, Mapping[str, Any]]:
    if stamp == (0, 0):
        return {}
    try:
        made = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise _bad(path, str(error)) from None
    if not isinstance(made, dict) or not all(isinstance(rows, dict) for rows in made.values()):
        raise _bad(path, "it is no table of scripts")
    return made


def _bad(path: Path, why: str) -> AsmgenError:
    hint = "`asmgen build --record` writes it anew; without the file every way is tried"
    return AsmgenError(f"{path} does not say what won: {why}", hint=hint)
