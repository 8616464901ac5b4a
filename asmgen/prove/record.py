"""out/<target>/<script>.proof.json: what of a script's routines is proved, by the hash of their bytes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from asmgen.errors import AsmgenError
from asmgen.function import Function
from asmgen.passes import Options
from asmgen.prove.answers import Answer, Proved
from asmgen.prove.command import Wish, answers, describe, lines, name, routine
from asmgen.prove.proof import BUDGET
from asmgen.prove.routine import Routine

ENDING = ".proof.json"


def recorded(found: Sequence[tuple[Routine, Answer]]) -> str:
    """The file's text: an object a routine, in order. No times: the same bytes have the same file."""
    entries = []
    for made, given in found:
        entry = describe(made, given)
        del entry["seconds"]
        entries.append(entry)
    return json.dumps(entries, indent=2) + "\n"


def proofs(jobs: Mapping[str, Sequence[tuple[Function, Options]]], budget: float = BUDGET) -> dict[str, str]:
    """The text for each file of these routines. Raises AsmgenError when one of them is not proved, naming all."""
    texts: dict[str, str] = {}
    refused: list[tuple[str, str]] = []
    for file, each in jobs.items():
        found = list(answers([routine(*job) for job in each], Wish(budget)))
        texts[file] = recorded(found)
        refused += [
            (f"{name(one)} on {file.removesuffix(ENDING)}", next(lines(one, given, explain=False)))
            for one, given in found
            if not isinstance(given, Proved)
        ]
    if refused:
        more = f"\n  and {len(refused) - 1} more: {', '.join(which for which, _ in refused[1:])}"
        raise AsmgenError(
            f"not proved: {refused[0][1]}{more if len(refused) > 1 else ''}",
            hint="nothing was written; without --proved the files are written, asmgen prove says more",
        )
    return texts


def differences(path: Path, jobs: Sequence[tuple[Function, Options]]) -> list[str]:
    """What is wrong with a file that is there: routines proved for other bytes, missing or made by no script."""
    made = [routine(*job) for job in jobs]
    hashes = {name(one): one.hash for one in made}
    try:
        entries: Any = json.loads(path.read_text())
        known = {str(entry["kernel"]): (str(entry["sha256"]), str(entry["answer"])) for entry in entries}
    except (OSError, ValueError, TypeError, KeyError):
        return [f"{path} cannot be read as proofs"]
    stale = [each for each, (sha, _) in known.items() if hashes.get(each, sha) != sha]
    found = [f"{path}: {each} is proved for other bytes; asmgen build --proved proves these" for each in stale]
    found += [f"{path}: {each} is {answer}" for each, (_, answer) in known.items() if answer != "proved"]
    found += [f"{path}: {each} is missing" for each in hashes if each not in known]
    found += [f"{path}: {each} is made by no script" for each in known if each not in hashes]
    return found
