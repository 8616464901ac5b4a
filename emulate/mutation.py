"""Runs seeded faults through the check that `asmgen test` makes: each must be caught, or change nothing.

A routine that runs away is stopped as in any test, see `emulate.machine`: it counts as caught.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import click
from rich.table import Table

from asmgen.errors import AsmgenError
from asmgen.function import Function
from asmgen.link import link, routines
from asmgen.passes import FEATURES, Options
from asmgen.routine import Code
from asmgen.scripts import find, selector
from asmgen.table import console
from asmgen.work import each
from emulate.compare import check
from emulate.machine import Machine
from emulate.mutants import Mutant, mutants


@dataclass(frozen=True)
class Routine:
    """A kernel's finished code for one target and feature set, then that of the routines which it calls."""

    kernel: Function
    codes: tuple[Code, ...]
    features: str = "default"

    @property
    def code(self) -> Code:
        """The one that gets the faults."""
        return self.codes[0]

    @property
    def name(self) -> str:
        """The kernel as commands take it, the target, and a feature set other than the default."""
        variant = "" if self.features == "default" else f" {self.features}"
        return f"{selector(self.kernel)} {self.code.target}{variant}"


@dataclass(frozen=True)
class Verdict:
    """What came of one mutant: `reason` says why it was caught, after `vectors` of them; None when it survives."""

    routine: Routine
    mutant: Mutant
    vectors: int
    reason: str | None


def variants(kernels: Sequence[Function]) -> list[Routine]:
    """Each kernel for every target and feature set."""
    every = [Options(target, features) for target, known in FEATURES.items() for features in known]
    return [
        Routine(kernel, tuple(routines(kernel, options)), options.features) for kernel in kernels for options in every
    ]


def machine_of(routine: Routine, mutant: Mutant) -> Machine:
    """The emulator with a mutant of the routine."""
    code, *others = routine.codes
    image = link([replace(code, items=mutant.items), *others])
    features = frozenset[str]().union(*(each.features for each in routine.codes))
    return Machine(code.target, image.code, 0, code.signature, features, stack=code.stack)


def judged(routine: Routine, mutant: Mutant, vectors: int, seed: int) -> tuple[int, str | None]:
    """Test one mutant: vectors done, and why it was caught."""
    result = check(routine.kernel, machine_of(routine, mutant), vectors, seed)
    return result.vectors, None if result.failure is None else result.failure.reason


def campaign(made: Sequence[Routine], count: int | None, seed: int, vectors: int) -> Iterator[Verdict]:
    """`count` mutants of each routine, all for None, over the machine's cores; in the same order every time."""
    jobs = [
        (routine, mutant)
        for routine in made
        for mutant in islice(mutants(routine.code, random.Random(f"{seed} {routine.name}")), count)
    ]
    found = each(lambda job: judged(*job, vectors, seed), jobs)
    for (routine, mutant), (done, reason) in zip(jobs, found, strict=True):
        yield Verdict(routine, mutant, done, reason)


def table(verdicts: Sequence[Verdict], key: str) -> Table:
    """A line for each `routine` or `fault`: mutants, caught, and vectors that the last one took."""
    made = Table(box=None, header_style="bold", pad_edge=False)
    made.add_column(key, no_wrap=True)
    for title in ("mutants", "caught", "survive", "vectors at most"):
        made.add_column(title, justify="right", no_wrap=True)
    groups: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        name = verdict.routine.name if key == "routine" else verdict.mutant.fault
        groups.setdefault(name, []).append(verdict)
    for name, group in {**groups, "all": list(verdicts)}.items():
        caught = [verdict.vectors for verdict in group if verdict.reason is not None]
        left = len(group) - len(caught)
        made.add_row(name, f"{len(group):,}", f"{len(caught):,}", f"{left:,}", f"{max(caught, default=0):,}")
    return made


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("selectors", metavar="[KERNEL]...", nargs=-1)
@click.option("--count", type=click.IntRange(0), default=20, show_default=True, help="Mutants a routine; 0 for all.")
@click.option("--seed", type=int, default=1, show_default=True, help="Same seed, same mutants and inputs.")
@click.option("--vectors", type=click.IntRange(1), default=10_000, show_default=True, help="Inputs a mutant.")
def main(selectors: tuple[str, ...], count: int, seed: int, vectors: int) -> None:
    """Seed faults in the routines of kernels and test each: what survives is listed, and the exit code is 1.

    A mutant that survives either does the same as the routine for all inputs, or the test's inputs are too weak.
    """
    try:
        verdicts = list(campaign(variants(find(selectors)), count or None, seed, vectors))
    except AsmgenError as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(1)
    out = console()
    for key in ("routine", "fault"):
        out.print(table(verdicts, key))
        out.print()
    left = [verdict for verdict in verdicts if verdict.reason is None]
    for verdict in left:
        line = f"{verdict.routine.name} survives: {verdict.mutant.description}"
        out.print(line, highlight=False, markup=False, soft_wrap=True)
    sys.exit(1 if left else 0)
