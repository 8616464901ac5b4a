"""What can be counted of a routine: instructions by class, bytes, its deepest dependence chain, live registers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from asmgen.diff.lines import STACK_POINTER, Line
from asmgen.diff.steps import CLASSES, Run, Step
from asmgen.targets.conventions import convention
from asmgen.targets.cores import core

#: Columns of tables: name, and the classes that are counted in it.
COLUMNS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("products", ("products",)),
    ("with carry", ("with carry",)),
    ("other ALU", ("other",)),
    ("loads", ("loads",)),
    ("stores", ("stores",)),
    ("moves", ("moves", "constants")),
    ("spills", ("spills", "reloads")),
    ("frame", ("frame", "marks")),
    ("branches", ("branches",)),
)

#: Cycles of what no row describes, by class; a load's come on top where an operand is in memory.
_LATENCY = {"products": 4, "loads": 4, "reloads": 4, "constants": 0}
_LOAD = 4


@dataclass(frozen=True)
class Figures:
    """Of one routine. `instructions`, `classes` and `size` (bytes) are of the instructions that are ever reached,
    `executed` of one call; `chain` is in cycles of the generic core, `links` the instructions on it; `live` the most
    registers that hold something needed. `cycles` are modelled, by core, `measured` are of this machine's CPU: both of
    each of many independent calls."""

    instructions: int
    classes: Mapping[str, int]
    size: int
    executed: int
    chain: int
    links: int
    live: int
    cycles: Mapping[str, float] = field(default_factory=dict)
    measured: float | None = None

    @property
    def cost(self) -> int:
        """What routines are held against each other by where no cycles are modelled."""
        return self.executed or self.instructions

    def column(self, name: str) -> int:
        """The number in a column of the tables."""
        return sum(self.classes.get(each, 0) for each in dict(COLUMNS)[name])


def kinds(runs: Sequence[Run]) -> dict[int, str]:
    """The class of each line that is reached, by offset: the one that it has most often."""
    counted: dict[int, Counter[str]] = {}
    for run in runs:
        for step in run.steps:
            counted.setdefault(step.line.offset, Counter())[step.kind] += 1
    return {at: min(found, key=lambda kind: (-found[kind], kind)) for at, found in sorted(counted.items())}


def figures(target: str, runs: Sequence[Run]) -> Figures:
    """Count a routine, of which the first run is the usual one."""
    found = kinds(runs)
    lines = {step.line.offset: step.line for run in runs for step in run.steps}
    depths = chain(target, runs[0])
    pressure = live(target, runs[0].steps)
    last = max(depths, default=(0, 0))
    return Figures(
        instructions=len(found),
        classes={kind: count for kind in CLASSES if (count := sum(each == kind for each in found.values()))},
        size=sum(line.size for line in lines.values()),
        executed=len(runs[0].steps),
        chain=last[0],
        links=last[1],
        live=max(pressure, default=0),
    )


def standing(lines: Sequence[Line]) -> Figures:
    """Count lines as they stand, executed or not."""
    counted = Counter(line.kind for line in lines)
    classes = {kind: counted[kind] for kind in CLASSES if counted[kind]}
    return Figures(len(lines), classes, sum(line.size for line in lines), 0, 0, 0, 0)


def chain(target: str, run: Run) -> list[tuple[int, int]]:
    """For each step when its result is there, in cycles if nothing but dependences counts, and how many instructions
    led to it."""
    latencies = core("generic", target).latency
    ready: dict[object, tuple[int, int]] = {}
    zero = (0, 0)
    found = []
    for index, step in enumerate(run.steps):
        line = step.line
        accesses = run.walk.accesses.get(index, [])
        needs: list[object] = [
            *_flags(line.flags_read),
            *(name for name in line.reads if name != STACK_POINTER[target]),
        ]
        start = max((ready.get(name, zero) for name in needs), default=zero) if step.kind != "constants" else zero
        reads = [ready.get(("memory", a.address & ~7), zero) for a in accesses if not a.write]
        if reads and step.kind not in ("loads", "reloads", "frame"):
            reads = [(cycle + _LOAD, links + 1) for cycle, links in reads]
        start = max([start, *reads])
        cost = _LATENCY.get(step.kind, 1)
        if line.row is not None and step.kind not in ("frame", "constants"):
            cost = latencies.get(line.row.cost, cost)
        if step.kind in ("frame", "branches", "marks", "stores", "spills"):
            cost = 0
        done = (start[0] + cost, start[1] + (cost > 0))
        for name in (*line.writes, *_flags(line.flags_written)):
            ready[name] = done
        for access in accesses:
            if access.write:
                ready["memory", access.address & ~7] = done
        found.append(done)
    return found


def _flags(names: frozenset[str]) -> list[str]:
    return ["cf", "of", "zf", "sf", "n", "z", "c", "v"] if "flags" in names else sorted(names)


def live(target: str, steps: Sequence[Step]) -> list[int]:
    """How many general registers hold something that is still needed, before each step; the stack pointer aside."""
    rules = convention(None, target)
    general = {*rules.changed, *rules.preserved, rules.frame_pointer, *rules.arguments}
    needed: set[str] = set()
    found = []
    for step in reversed(steps):
        line: Line = step.line
        needed.difference_update(line.writes)
        if step.kind == "constants":
            reads: Sequence[str] = ()
        elif step.kind == "frame":  # what is put away for the caller is not needed here
            reads = ()
        else:
            reads = line.reads
        needed.update(name for name in reads if name in general)
        found.append(len(needed))
    return found[::-1]
