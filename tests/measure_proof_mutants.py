"""Faults in finished code against the prover, at length:

    ./run python tests/measure_proof_mutants.py --each 20 --state mutants.jsonl [--processes 1] [SELECTOR...]

Every shipped kernel's routine (programs aside), both targets and every feature set, gets its seeded faults, five of
each routine after the other until `--each` are done. A mutant is emulated on a thousand edge-biased inputs and given to
the prover. Then

- one that differs from the meaning and is proved is a fault of the prover: it is printed, and the command fails;
- one that differs and is not proved is refuted: its inputs are a counterexample;
- one that is proved is held to be the same as the routine by another argument, term for term (`emulate.alike`) or by a
  solver on its words (`emulate.decided`), or else runs on `--vectors` edge-biased inputs;
- one that is neither is tried again, emulated on more inputs, those that are solved for among them, and proved with
  more time. What is left "could not be proved": either that solver says that it is right all the same, or nobody knows.

Printed are the counts by kind of fault and by target, and every mutant that is not refuted. Whatever is done stands in
the file of `--state`, a line a mutant, and is not done again, even by another run, while the bytes are the same.
"""

from __future__ import annotations

import hashlib
import json
import random
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path

import click
from rich.table import Table

from asmgen.kernel import Kernel
from asmgen.prove import NotProved, Proved, prove
from asmgen.prove import Routine as Bytes
from asmgen.prove.command import code_routine
from asmgen.prove.counterexample import counterexample
from asmgen.scripts import find
from asmgen.table import console
from asmgen.work import each
from emulate.alike import alike
from emulate.decided import OPEN, SAME, WRONG, decided
from emulate.mutants import Mutant, mutants
from emulate.mutation import Routine, judged, variants

SEED = 20260401
ROUND = 5  #: mutants of a routine before it is the next one's turn
GLANCE = 1024  #: vectors that each mutant gets
LOOK = 100_000  #: vectors for one that is neither proved nor refuted
BUDGET = 0.5  #: seconds of the processor a mutant
PATIENCE = 10.0  #: the same for one that may be right: as long as `asmgen prove` takes at most

#: What may come of a mutant: the last of them must not.
ANSWERS = (
    "refuted", "same term for term", "same by the solver", "same on vectors", "right, not proved", "not proved",
    "wrong and proved",
)  # fmt: skip


@dataclass(frozen=True)
class Tally:
    """What came of a mutant; `detail` says how it differs, or why it is not proved."""

    key: str
    name: str
    target: str
    fault: str
    change: str
    answer: str
    seconds: float
    detail: str = ""


def tried(routine: Routine, mutant: Mutant, made: Bytes, key: str, vectors: int) -> Tally:
    """One mutant through the emulator, the prover, and what else it takes."""
    _, wrong = judged(routine, mutant, GLANCE, SEED)
    found = prove(made, budget=BUDGET)
    seconds, said = found.seconds, OPEN
    if isinstance(found, NotProved) and wrong is None:
        refuted = counterexample(made, found, seconds=1.0, vectors=GLANCE)
        wrong = refuted.reason if refuted else judged(routine, mutant, LOOK, SEED + 1)[1]
        if wrong is None:
            found = prove(made, budget=PATIENCE)
        if wrong is None and not isinstance(found, Proved):
            said = SAME if alike(routine.code, mutant.items) else decided(routine, mutant)
            wrong = "the solver has an input" if said == WRONG else None
    answer, detail = "refuted", wrong or ""
    if isinstance(found, Proved):
        answer, wrong = second(routine, mutant, vectors, wrong)
        detail = wrong or ""
    elif wrong is None:
        answer, detail = "right, not proved" if said == SAME else "not proved", found.reason
    change = f"at {mutant.place}: {mutant.change}"
    return Tally(key, routine.name, routine.code.target, mutant.fault, change, answer, round(seconds, 3), detail)


def second(routine: Routine, mutant: Mutant, vectors: int, wrong: str | None) -> tuple[str, str | None]:
    """Another argument that a mutant which is proved is right; what is wrong with it, if that is known."""
    if wrong is None and alike(routine.code, mutant.items):
        return "same term for term", None
    said = decided(routine, mutant) if wrong is None else WRONG
    if wrong is None and said == SAME:
        return "same by the solver", None
    wrong = wrong or ("the solver has an input" if said == WRONG else judged(routine, mutant, vectors, SEED + 2)[1])
    return ("wrong and proved" if wrong else "same on vectors"), wrong


def begun(routine: Routine, number: int, count: int) -> Iterator[tuple[Mutant, Bytes, str]]:
    """Mutants of a routine, from one number on: what is to be proved, and the name under which it is kept."""
    code, *others = routine.codes
    for mutant in islice(mutants(code, random.Random(f"{SEED} {routine.name}")), number, number + count):
        made = code_routine(routine.kernel, replace(code, items=mutant.items), others)
        kept = f"{routine.name} {mutant.description} ".encode() + made.code
        yield mutant, made, hashlib.sha256(kept).hexdigest()[:16]


def by_kind(tallies: Sequence[Tally]) -> Table:
    """A line for each kind of fault and each target: what came of its mutants."""
    made = Table(box=None, header_style="bold", pad_edge=False)
    for title in ("", "mutants", *ANSWERS):
        made.add_column(title, justify="left" if not title else "right", no_wrap=True)
    groups: dict[str, list[Tally]] = {}
    for tally in tallies:
        groups.setdefault(tally.fault, []).append(tally)
    for target in ("amd64", "arm64"):
        groups[target] = [tally for tally in tallies if tally.target == target]
    for name, group in {**groups, "all": list(tallies)}.items():
        counts = Counter(tally.answer for tally in group)
        made.add_row(name, f"{len(group):,}", *(f"{counts[answer]:,}" for answer in ANSWERS))
    return made


@click.command(help=__doc__)
@click.argument("selectors", nargs=-1)
@click.option("--each", "count", default=20, show_default=True, help="Mutants of a routine.")
@click.option("--vectors", default=1_000_000, show_default=True, help="Edge-biased inputs for one that is proved.")
@click.option("--state", type=click.Path(dir_okay=False, path_type=Path), help="Where all that is done is kept.")
@click.option("--processes", type=int, help="Processes side by side, by default one a core.")
def main(selectors: tuple[str, ...], count: int, vectors: int, state: Path | None, processes: int | None) -> None:
    routines = variants([kernel for kernel in find(selectors) if isinstance(kernel, Kernel)])
    lines = state.read_text().splitlines() if state is not None and state.exists() else []
    done = {tally.key: tally for tally in (Tally(**json.loads(line)) for line in lines)}

    def one(job: tuple[Routine, int]) -> list[Tally]:
        routine, number = job
        return [
            done[key] if key in done else tried(routine, mutant, made, key, vectors)
            for mutant, made, key in begun(routine, number, min(ROUND, count - number))
        ]

    tallies: list[Tally] = []
    for made in each(one, [(routine, number) for number in range(0, count, ROUND) for routine in routines], processes):
        tallies += made
        if state is not None:
            with state.open("a") as file:
                file.writelines(json.dumps(asdict(tally)) + "\n" for tally in made if tally.key not in done)
    out = console()
    out.print(by_kind(tallies))
    for answer in ANSWERS[1:]:
        for tally in tallies:
            if tally.answer == answer:
                line = f"{answer}: {tally.name}: {tally.fault} {tally.change}: {tally.detail}".rstrip(": ")
                out.print(line, highlight=False, markup=False, soft_wrap=True)
    slow = sum(tally.seconds for tally in tallies)
    wrong = sum(tally.answer == ANSWERS[-1] for tally in tallies)
    out.print(f"{len(tallies):,} mutants, {wrong} wrong ones proved, {slow:.0f} s in the prover at first, seed {SEED}")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
