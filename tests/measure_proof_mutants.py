"""Faults in finished code against the prover, at length:

    ./run python tests/measure_proof_mutants.py [--each 25] [--seconds 3600] [--vectors 20000] [SELECTOR...]

Every shipped kernel's routine (programs aside), both targets and every feature set, gets its seeded faults, one of each
routine after the other until `--each` are done or the time is over. Those that the prover accepts are run on as many
edge-biased vectors: one that differs from the routine is a fault of the prover, and the command fails. Printed are the
counts by target, and every accepted mutant.
"""

from __future__ import annotations

import random
import sys
import time
from collections import Counter
from dataclasses import dataclass, replace
from itertools import islice

import click

from asmgen.kernel import Kernel
from asmgen.prove import Proved, prove
from asmgen.prove.command import code_routine
from asmgen.scripts import find
from asmgen.work import each
from emulate.mutants import Mutant, mutants
from emulate.mutation import Routine, judged, variants

SEED = 20260401
BUDGET = 0.5  #: seconds of the processor a mutant


@dataclass(frozen=True)
class Tally:
    """What came of a routine's mutant; `wrong` says how an accepted one differs."""

    name: str
    target: str
    mutant: str = ""
    accepted: bool = False
    wrong: str | None = None


def tried(routine: Routine, mutant: Mutant, vectors: int) -> Tally:
    """One mutant through the prover and, where it is accepted, through the emulator."""
    code, *others = routine.codes
    made = code_routine(routine.kernel, replace(code, items=mutant.items), others)
    tally = Tally(routine.name, code.target, mutant.description)
    if not isinstance(prove(made, budget=BUDGET), Proved):
        return tally
    _, reason = judged(routine, mutant, vectors, SEED)
    return replace(tally, accepted=True, wrong=reason)


@click.command(help=__doc__)
@click.argument("selectors", nargs=-1)
@click.option("--each", "count", default=25, help="Mutants of a routine.")
@click.option("--seconds", default=3600.0, help="Seconds after which no more are begun.")
@click.option("--vectors", default=20_000, help="Edge-biased inputs for each that is accepted.")
def main(selectors: tuple[str, ...], count: int, seconds: float, vectors: int) -> None:
    end = time.monotonic() + seconds
    routines = variants([kernel for kernel in find(selectors) if isinstance(kernel, Kernel)])

    def one(job: tuple[Routine, int]) -> list[Tally]:
        routine, number = job
        chosen = islice(mutants(routine.code, random.Random(f"{SEED} {routine.name}")), number, number + 1)
        return [tried(routine, mutant, vectors) for mutant in chosen if time.monotonic() < end]

    tallies: list[Tally] = []
    for number in range(count):
        if time.monotonic() < end:
            tallies += [tally for made in each(one, [(routine, number) for routine in routines]) for tally in made]
    for target, all_of_it in sorted(Counter(tally.target for tally in tallies).items()):
        accepted = [tally for tally in tallies if tally.target == target and tally.accepted]
        print(f"{target}: {all_of_it} mutants, {all_of_it - len(accepted)} refused, {len(accepted)} accepted")
    for tally in tallies:
        if tally.accepted:
            print(f"{tally.name}: {tally.mutant}: {tally.wrong or f'the same on {vectors} edge vectors'}")
    wrong = [tally for tally in tallies if tally.wrong]
    print(f"{len(tallies)} mutants, {len(wrong)} wrong ones accepted, seed {SEED}")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
