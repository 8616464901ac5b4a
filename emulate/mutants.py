"""Routines with one seeded fault each: what a test or a proof that is worth anything refuses.

Nothing is run or judged here, so that emulation and proof can be held against the same faults; `emulate.mutation` runs
them, and `python -m emulate.mutants --help` says how. Every mutant assembles.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from asmgen.routine import Code, Item
from emulate.faults import FAULTS
from emulate.subject import Subject


@dataclass(frozen=True)
class Mutant:
    """A routine with one fault: its kind, the first item that is changed, what was done, and the items."""

    fault: str
    place: int
    change: str
    items: tuple[Item, ...]

    @property
    def description(self) -> str:
        """The whole in one line."""
        return f"{self.fault} at {self.place}: {self.change}"


def mutants(code: Code, rng: random.Random) -> Iterator[Mutant]:
    """Every mutant of the routine that `rng` hits upon, kinds of fault in turn, none twice."""
    subject = Subject(code)
    pools = {fault: [Mutant(fault, *made) for made in make(subject, rng)] for fault, make in FAULTS.items()}
    for pool in pools.values():
        rng.shuffle(pool)
    seen: set[tuple[int, str]] = set()
    while any(pools.values()):
        for pool in pools.values():
            while pool:
                mutant = pool.pop()
                if (mutant.place, mutant.change) not in seen:
                    seen.add((mutant.place, mutant.change))
                    yield mutant
                    break


if __name__ == "__main__":
    from emulate.mutation import main

    main()
