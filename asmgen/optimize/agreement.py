"""How our models agree with llvm-mca 19, as a table: `python -m asmgen.optimize.agreement [KERNEL…]`."""

from __future__ import annotations

import random
import statistics
import sys
import time
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.table import Table

from asmgen.diff import mca
from asmgen.errors import AsmgenError, UsageError
from asmgen.kernel import Kernel
from asmgen.optimize.model import modelled, prepare, taking_time, whole_call
from asmgen.passes import Options, compile_kernel
from asmgen.scripts import find
from asmgen.table import console
from asmgen.targets.cores import core
from asmgen.targets.row import Instruction

#: LLVM's models differ from one version to the next; ours are those of this one.
VERSION = 19
#: Calls in a row, orders of a routine, and the places by which they move its instructions.
CALLS, ORDERS, _REACH = 16, 8, 8
#: Instructions of a call beyond which a routine is left out.
_LONGEST = 1500


@dataclass(frozen=True)
class Agreement:
    """On one core: relative errors of many calls and of one alone; of other orders the errors and, for each routine,
    the correlation of ranks; orders a second for each routine, in C."""

    core: str
    many: Sequence[float]
    alone: Sequence[float]
    orders: Sequence[float]
    ranks: Sequence[float]
    rates: Sequence[float]


def missing() -> str:
    """Why nothing can be compared here; empty where it can."""
    path, said = mca.found()
    if path is None:
        return said
    version = mca.version(path)
    return "" if version == VERSION else f"our models are those of LLVM {VERSION}, and {path} is of LLVM {version}"


def agreement(name: str, routines: Sequence[Sequence[Instruction]], orders: int = ORDERS, seed: int = 1) -> Agreement:
    """What both say of routines as they are executed, and of these in other orders, on one core."""
    rng, chosen = random.Random(seed), core(name, "arm64")
    prepared = [prepare(routine, chosen) for routine in routines]
    kept = [list(taking_time(routine)) for routine in routines]
    many, alone = (
        [abs(ours.cycles(calls) / theirs - 1) for ours, theirs in zip(prepared, _mca(name, kept, calls), strict=True)]
        for calls in (CALLS, 1)
    )
    others: list[float] = []
    ranks, rates = [], []
    for lines, numbers in zip(kept, prepared, strict=True):
        made = [array("i", shaken(len(lines), rng)) for _ in range(orders)]
        began = time.perf_counter()
        ours = numbers.scores(made, CALLS)
        rates.append(orders / (time.perf_counter() - began))
        theirs = _mca(name, [[lines[at] for at in order] for order in made], CALLS)
        others += [abs(one / other - 1) for one, other in zip(ours, theirs, strict=True)]
        ranks.append(correlation(ours, theirs))
    return Agreement(name, many, alone, others, ranks, rates)


def shaken(count: int, rng: random.Random) -> list[int]:
    """Another order of so many instructions, each some places away; what it computes is another question."""
    places = [at + _REACH * rng.random() for at in range(count)]
    return sorted(range(count), key=places.__getitem__)


def _mca(name: str, routines: Sequence[Sequence[Instruction]], calls: int) -> list[float]:
    texts = ["\n".join(line.row.text(line.operands) for line in lines) for lines in routines]
    found = mca.cycles("arm64", name, texts, calls)
    return [each for each in found if each is not None]


def correlation(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """Of ranks (Spearman's); 1 where both see no difference between any."""

    def ranks(numbers: Sequence[float]) -> list[float]:
        ordered = sorted(numbers)
        return [ordered.index(each) + (ordered.count(each) - 1) / 2 for each in numbers]

    try:
        return statistics.correlation(ranks(ours), ranks(theirs))
    except statistics.StatisticsError:
        return float(len(set(ours)) == len(set(theirs)) == 1)


def table(found: Sequence[Agreement]) -> Table:
    """A line a core."""
    grid = Table(box=None, pad_edge=False, header_style="bold")
    errors = ("many calls", "worst", "one alone", "worst", "other orders", "worst")
    for head in ("core", "routines", *errors, "ranks", "a second"):
        grid.add_column(head, justify="left" if head == "core" else "right", no_wrap=True)
    for each in found:
        figures = [
            f"{100 * figure:.2f} %"
            for part in (each.many, each.alone, each.orders)
            for figure in (statistics.fmean(part), max(part))
        ]
        grid.add_row(each.core, str(len(each.many)), *figures, f"{min(each.ranks):.3f}",
                     f"{statistics.median(each.rates):,.0f}")  # fmt: skip
    return grid


def _routines(selectors: Sequence[str]) -> Iterator[list[Instruction]]:
    for function in find(selectors):
        if isinstance(function, Kernel):
            lines = whole_call(compile_kernel(function, Options("arm64")))
            if len(lines) < _LONGEST:
                yield lines


def main(selectors: Sequence[str]) -> int:
    """Print the table for these kernels, or all that are shipped."""
    try:
        if said := missing():
            raise UsageError(said)
        routines = list(_routines(selectors))
        console().print(table([agreement(name, routines) for name in modelled()]))
    except AsmgenError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
