"""out/<target>/<script>.proof.json: what of a script's routines is proved, by the hash of their bytes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from asmgen.cache import cached
from asmgen.emit import prose
from asmgen.errors import AsmgenError
from asmgen.function import Function
from asmgen.passes import Options, plans_of
from asmgen.prove.answers import Proved
from asmgen.prove.command import Wish, answers, composed, lines, name, routine
from asmgen.prove.proof import BUDGET
from asmgen.prove.routine import Routine

ENDING = ".proof.json"

Jobs = Mapping[str, Sequence[tuple[Function, Options]]]
"""The routines of each file."""

Entries = Mapping[str, Mapping[str, Any]]
"""A file's entries by kernel."""

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


def proofs(jobs: Jobs, budget: float = BUDGET) -> dict[str, str]:
    """The text for each file of these routines, proved side by side. Raises AsmgenError when one of them is not proved,
    naming all."""
    good, refused = _proved(_routines(jobs), {}, budget)
    if refused:
        more = f"\n  and {len(refused) - 1} more: {', '.join(which for which, _ in refused[1:])}"
        raise AsmgenError(
            f"not proved: {refused[0][1]}{more if len(refused) > 1 else ''}",
            hint="nothing was written; without --proved the files are written, asmgen prove says more",
        )
    return {file: recorded(found) for file, found in good.items()}


def renewed(out: Path, jobs: Jobs, budget: float = BUDGET) -> tuple[dict[str, str], list[str]]:
    """The text of those files that stand below `out`, for the routines as they are now; and which of these are not
    proved and have no entry. Entries of the same bytes and contract stay, the other routines are proved."""
    there = {file: each for file, each in jobs.items() if (out / file).exists()}
    good, refused = _proved(_routines(there), {file: _entries(out / file) or {} for file in there}, budget)
    return {file: recorded(found) for file, found in good.items()}, [which for which, _ in refused]


def _routines(jobs: Jobs) -> dict[str, list[Routine]]:
    return {file: [routine(*job) for job in each] for file, each in jobs.items()}


def _proved(
    made: Mapping[str, Sequence[Routine]], known: Mapping[str, Entries], budget: float
) -> tuple[dict[str, list[tuple[Routine, Proved]]], list[tuple[str, str]]]:
    """The routines of each file that are proved, and of the others their names and what there is to say. Those that are
    known to be proved are not proved again; a file's programs call what is in it."""
    kept = {file: {name(one): _kept(one, known.get(file, {})) for one in each} for file, each in made.items()}
    untried = [one for file, each in made.items() for one in each if not kept[file][name(one)]]
    tried = iter(answers(untried, Wish(budget)))
    good: dict[str, list[tuple[Routine, Proved]]] = {}
    refused: list[tuple[str, str]] = []
    for file, each in made.items():
        good[file] = []
        for one, given in composed([(one, kept[file][name(one)] or next(tried)) for one in each]):
            if isinstance(given, Proved):
                good[file].append((one, given))
            else:
                refused.append((f"{name(one)} for {one.target}", next(lines(one, given, explain=False))))
    return good, refused


def _kept(made: Routine, known: Entries) -> Proved | None:
    """The proof that is recorded of these bytes and this contract."""
    wanted, there = entry(made), known.get(name(made), {})
    if {key: there.get(key) for key in wanted} != wanted or "assumed" not in there:
        return None
    return Proved(0.0, tuple(there["assumed"]), ())


def _made(jobs: Sequence[tuple[Function, Options]]) -> dict[str, dict[str, Any]]:
    return {name(one): entry(one) for one in (routine(*job) for job in jobs)}


def _entries(path: Path) -> Entries | None:
    """The entries of a file by kernel; None when it cannot be read."""
    try:
        return {str(each["kernel"]): each for each in json.loads(path.read_text())}
    except (OSError, ValueError, TypeError, KeyError):
        return None


def differences(path: Path, jobs: Sequence[tuple[Function, Options]], *, trust: bool = False) -> list[str]:
    """What is wrong with a file: routines of one script proved for other bytes or another contract, missing or made by
    no script. With `trust` what the script makes is taken from what is kept of earlier builds."""
    of = [(function.name, options, plans_of(function, options)) for function, options in jobs]
    made = cached(("entries", of), partial(_made, jobs), script=jobs[0][0].version, trust=trust)
    known = _entries(path)
    if known is None:
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
