"""List scheduling: a cycle at a time, over a core's latencies, with flags as resources and registers as a limit.

The order of the script is the tie-break, and nothing moves further ahead of the oldest waiting instruction than
`window`: authors steer by writing. An order that cannot be completed under the preferences is tried again without
them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from asmgen.passes.dependence import graph
from asmgen.routine import Loop, Part, Routine, Straight
from asmgen.targets.cores import Core
from asmgen.targets.row import Instruction, Virtual


@dataclass(frozen=True)
class Freedom:
    """How far the scheduler may go: positions ahead of the oldest waiting instruction, and registers in use."""

    window: int
    registers: int


def schedule(routine: Routine, core: Core, freedom: Freedom) -> Routine:
    """The routine with every straight line in the order chosen."""
    return Scheduler(routine, core).by(freedom)


class Scheduler:
    """Schedules of one routine: what holds for all of them is found once."""

    def __init__(self, routine: Routine, core: Core) -> None:
        self.routine = routine
        self.core = core
        self._after = [_read_after(routine, routine.parts[index + 1 :]) for index in range(len(routine.parts))]
        self._lines: dict[tuple[int, bool], _Line] = {}

    def by(self, freedom: Freedom) -> Routine:
        """The routine with every straight line in the order chosen."""
        parts = zip(self.routine.parts, self._after, strict=True)
        return replace(self.routine, parts=tuple(self._part(part, wanted, freedom) for part, wanted in parts))

    def _part(self, part: Part, wanted: frozenset[Virtual], freedom: Freedom) -> Part:
        if isinstance(part, Straight):
            order = self._order(part, freedom, wanted)
            return Straight(tuple(part.instructions[index] for index in order))
        if isinstance(part, Loop):
            body = self._part(part.body, frozenset(part.next) | {part.count}, freedom)
            assert isinstance(body, Straight)
            return replace(part, body=body)
        then = tuple(self._part(inner, frozenset(part.then_values), freedom) for inner in part.then)
        otherwise = tuple(self._part(inner, frozenset(part.otherwise_values), freedom) for inner in part.otherwise)
        return replace(part, then=then, otherwise=otherwise)  # type: ignore[arg-type]

    def _order(self, part: Straight, freedom: Freedom, wanted: frozenset[Virtual]) -> Sequence[int]:
        for preferences in (True, False):
            order = _List(self._line(part, preferences), self.core, freedom, wanted).run()
            if order is not None:
                return order
        return range(len(part.instructions))

    def _line(self, part: Straight, preferences: bool) -> _Line:
        key = id(part), preferences  # the routine keeps the part
        if key not in self._lines:
            self._lines[key] = _Line(part.instructions, self.routine, preferences)
        return self._lines[key]


def _read_after(routine: Routine, parts: Sequence[Part]) -> frozenset[Virtual]:
    """What later parts read."""
    found: set[Virtual] = set() if routine.returns is None else {routine.returns}
    for part in parts:
        if isinstance(part, Straight):
            found.update(
                each for instruction in part.instructions for each in instruction.read if isinstance(each, Virtual)
            )
        elif isinstance(part, Loop):
            found.update((part.count, *part.initial, *part.next), _read_after(routine, [part.body]))
        else:
            found.update((part.count, *part.then_values, *part.otherwise_values))
            found |= _read_after(routine, [*part.then, *part.otherwise])
    return frozenset(found)


class _Line:
    """What must come before what in a straight line, and the values that take registers."""

    def __init__(self, instructions: Sequence[Instruction], routine: Routine, preferences: bool) -> None:
        self.graph = graph(instructions, routine.homes, preferences=preferences)
        free = {*routine.homes, *routine.constants} if routine.target == "amd64" else {*routine.constants}
        self.reads = [_counted(instruction.read, free) for instruction in instructions]
        self.writes = [_counted(instruction.written, free) for instruction in instructions]


def _counted(registers: Iterable[object], free: Collection[Virtual]) -> list[Virtual]:
    """The values among them that take a register, each once."""
    return list(dict.fromkeys(each for each in registers if isinstance(each, Virtual) and each not in free))


class _List:
    """The state of one run."""

    def __init__(self, line: _Line, core: Core, freedom: Freedom, wanted: frozenset[Virtual]) -> None:
        self.graph = line.graph
        self.core = core
        self.freedom = freedom
        self.reads, self.writes = line.reads, line.writes
        self.left: dict[Virtual, int] = {value: 1 for value in sorted(wanted)}
        for values in self.reads:
            for value in values:
                self.left[value] = self.left.get(value, 0) + 1
        self.live: set[Virtual] = set()
        self.done = 0
        self.ready_at = [0] * len(self.graph)
        self.open: dict[str, tuple[int, int]] = {}  #: flag -> (writer, readers left, as a mask)
        self.missing = [mask.bit_count() for mask in self.graph.before]

    def latency(self, index: int) -> int:
        return self.core.latency.get(self.graph.instructions[index].row.cost, 1)

    def allowed(self, index: int) -> bool:
        """Whether the flags let the instruction go now."""
        row = self.graph.instructions[index].row
        for flag in row.flags_touched:
            holder = self.open.get(flag)
            if holder is not None and holder[1] & ~(1 << index):
                return False
        for flag in row.writes:
            block = self.graph.blocks.get((index, flag), 0)
            if block & ~self.done:
                return False
        return True

    def growth(self, index: int) -> int:
        """How many more registers are in use afterwards."""
        ended = sum(1 for value in self.reads[index] if self.left[value] == 1 and value in self.live)
        started = sum(1 for value in self.reads[index] if self.left[value] > 1 and value not in self.live)
        return started + sum(1 for value in self.writes[index] if self.left.get(value, 0)) - ended

    def run(self) -> list[int] | None:
        """The order, or None when the flags leave no way on."""
        order: list[int] = []
        ready = [index for index, missing in enumerate(self.missing) if missing == 0]
        oldest, cycle, issued = 0, 0, 0
        while len(order) < len(self.graph):
            while self.done >> oldest & 1:
                oldest += 1
            choices = [index for index in ready if index <= oldest + self.freedom.window and self.allowed(index)]
            if not choices:
                choices = [index for index in ready if self.allowed(index)]
                if not choices:
                    return None
            index = self.choose(choices, cycle)
            if self.ready_at[index] > cycle:
                cycle, issued = self.ready_at[index], 0
            order.append(index)
            ready.remove(index)
            self.take(index, cycle)
            for later in self.graph.after[index]:
                self.missing[later] -= 1
                self.ready_at[later] = max(self.ready_at[later], cycle + self.latency(index))
                if self.missing[later] == 0:
                    ready.append(later)
            issued += 1
            if issued == self.core.issue_width:
                cycle, issued = cycle + 1, 0
        return order

    def choose(self, choices: Sequence[int], cycle: int) -> int:
        """The one that may go soonest, in the order of the script; when registers are short, the one that frees
        most."""
        if len(self.live) >= self.freedom.registers:
            return min(choices, key=lambda index: (self.growth(index), index))
        return min(choices, key=lambda index: (max(self.ready_at[index], cycle), index))

    def take(self, index: int, cycle: int) -> None:
        self.done |= 1 << index
        row = self.graph.instructions[index].row
        for writer, flag in self.graph.reads[index]:
            holder = self.open.get(flag)
            if holder is not None and holder[0] == writer:
                remaining = holder[1] & ~(1 << index)
                if remaining:
                    self.open[flag] = (writer, remaining)
                else:
                    del self.open[flag]
        for flag in row.writes:
            held = self.graph.values.get((index, flag))
            if held is not None:
                self.open[flag] = (index, sum(1 << reader for reader in held.readers))
        for value in self.reads[index]:
            self.left[value] -= 1
            if self.left[value] == 0:
                self.live.discard(value)
            else:
                self.live.add(value)
        self.live.update(value for value in self.writes[index] if self.left.get(value, 0))

