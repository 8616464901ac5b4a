"""out/<target>/<script>.proof.json: what of a script's routines is proved, by the hash of their bytes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from asmgen.emit import prose
from asmgen.errors import AsmgenError
from asmgen.function import Function
from asmgen.passes import Options
from asmgen.prove.answers import Proved
from asmgen.prove.command import Wish, answers, composed, lines, name, routine
from asmgen.prove.proof import BUDGET
from asmgen.prove.routine import Routine

ENDING = ".proof.json"

#: What every routine is proved to do besides what its contract says.
ALWAYS = (
    "writes nothing but its outputs and its own stack",
    "leaves callee-saved registers, stack pointer and return address as they were",
    "computes from nothing that is undefined",
    "may be given one buffer for several arguments",
    "no branch, no address and no number of repetitions depends on data",
)


def entry(made: Routine) -> dict[str, Any]:
    """What is recorded of a routine that is proved: the bytes by their hash, and what is shown of them under which
    assumptions. Nothing in it depends on the machine or on how the proof went."""
    return {
        "kernel": name(made),
        "target": made.target,
        "features": sorted(made.features),
        "sha256": made.hash,
        "bytes": len(made.code),
        "answer": Proved.word,
        "shown": [*prose.contract(made.kernel.signature), *ALWAYS],
    }


def recorded(found: Sequence[tuple[Routine, Proved]]) -> str:
    """The file's text: an object a routine, in order. The same bytes have the same file."""
    entries = [{**entry(made), "assumed": list(given.assumptions)} for made, given in found]
    return json.dumps(entries, indent=2) + "\n"


def proofs(jobs: Mapping[str, Sequence[tuple[Function, Options]]], budget: float = BUDGET) -> dict[str, str]:
    """The text for each file of these routines, proved side by side. Raises AsmgenError when one of them is not proved,
    naming all."""
    made = {file: [routine(*job) for job in each] for file, each in jobs.items()}
    tried = iter(answers([one for each in made.values() for one in each], Wish(budget)))
    given = {file: [next(tried) for _ in each] for file, each in made.items()}
    found = [pair for file, each in made.items() for pair in composed(list(zip(each, given[file], strict=True)))]
    refused = [
        (f"{name(one)} for {one.target}", next(lines(one, given, explain=False)))
        for one, given in found
        if not isinstance(given, Proved)
    ]
    if refused:
        more = f"\n  and {len(refused) - 1} more: {', '.join(which for which, _ in refused[1:])}"
        raise AsmgenError(
            f"not proved: {refused[0][1]}{more if len(refused) > 1 else ''}",
            hint="nothing was written; without --proved the files are written, asmgen prove says more",
        )
    good = iter([(one, given) for one, given in found if isinstance(given, Proved)])
    return {file: recorded(list(islice(good, len(each)))) for file, each in made.items()}


def differences(path: Path, jobs: Sequence[tuple[Function, Options]]) -> list[str]:
    """What is wrong with a file: routines proved for other bytes or another contract, missing or made by no script."""
    made = {name(one): entry(one) for one in (routine(*job) for job in jobs)}
    try:
        known: dict[str, dict[str, Any]] = {str(each["kernel"]): each for each in json.loads(path.read_text())}
    except (OSError, ValueError, TypeError, KeyError):
        return [f"{path} is missing" if not path.exists() else f"{path} cannot be read as proofs"]
    found = []
    for which, wanted in made.items():
        there = known.get(which, {})
        if not there:
            found.append(f"{path}: {which} is missing")
        elif there.get("sha256") != wanted["sha256"]:
            found.append(f"{path}: {which} is proved for other bytes; asmgen build --proved proves these")
        elif {key: there.get(key) for key in wanted} != wanted:
            found.append(f"{path}: {which} is proved for something else; asmgen build --proved proves it anew")
    return found + [f"{path}: {which} is made by no script" for which in known if which not in made]
