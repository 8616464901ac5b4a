"""Candidates that a search looks at in a second, of CPU time: `python -m asmgen.optimize.rates [KERNEL…]`."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence

from rich.table import Table

from asmgen.bench.timer import can_run
from asmgen.errors import AsmgenError
from asmgen.kernel import Kernel
from asmgen.optimize.anneal import Annealer
from asmgen.optimize.judges import CompiledRace
from asmgen.optimize.model import modelled
from asmgen.optimize.tasks import Goal, arrangement_of, judge_of, start_of
from asmgen.passes.plans import GENERIC, Seed
from asmgen.scripts import find, selector
from asmgen.table import console

#: Kernels unless others are named, and seconds of each walk.
_USUAL, _SECONDS = ("curve25519_5x51.mul", "curve25519_4x64.mul"), 3.0


def rate(goal: Goal, seconds: float = _SECONDS) -> float:
    """Of a walk from the default schedule, in a process that others leave its core to or not: what was waited for
    others is not counted."""
    before = arrangement_of(goal, Seed())
    judge, _ = judge_of(goal, Seed())
    walk = Annealer(before, [range(len(line)) for line in before.lines], judge, 1)
    began = time.process_time()
    walk.run(seconds, lambda orders: True)
    spent = time.process_time() - began
    compiled = judge.compiled()
    if isinstance(compiled, CompiledRace):
        spent -= compiled.state.waited
    return walk.steps.judged / max(spent, 1e-9)


def main(selectors: Sequence[str]) -> int:
    """Print a row for each kernel: timed on this CPU, modelled on each arm64 core and for the generic plan."""
    grid = Table(box=None, pad_edge=False, header_style="bold")
    cores = (*modelled(), GENERIC)
    for head in ("kernel", "this CPU", *cores):
        grid.add_column(head, justify="left" if head == "kernel" else "right", no_wrap=True)
    try:
        for function in find(selectors or _USUAL):
            if isinstance(function, Kernel):
                grid.add_row(selector(function), _native(selector(function)), *(
                    f"{rate(Goal(selector(function), 'arm64', name)):,.0f}" for name in cores
                ))  # fmt: skip
    except AsmgenError as error:
        print(error, file=sys.stderr)
        return 1
    out = console()
    out.print(grid)
    out.print("Candidates judged in a second of CPU time, latency and throughput of each, by one process.", style="dim")
    return 0


def _native(name: str) -> str:
    goal = Goal(name, "amd64", GENERIC)
    return "-" if can_run("amd64", start_of(goal).features) else f"{rate(goal):,.0f}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
