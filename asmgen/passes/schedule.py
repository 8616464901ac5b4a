"""List scheduling: a cycle at a time, over a core's latencies, with flags as resources and registers as a limit.

The order of the script is the tie-break, and nothing moves further ahead of the oldest waiting instruction than
`window`: authors steer by writing. An order that cannot be completed under the preferences is tried again without
them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from asmgen.passes.dependence import Graph, bits, graph
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

    def each(part: Part, wanted: frozenset[Virtual]) -> Part:
        if isinstance(part, Straight):
            order = _order(part.instructions, routine, core, freedom, wanted)
            return Straight(tuple(part.instructions[index] for index in order))
        if isinstance(part, Loop):
            body = each(part.body, frozenset(part.next) | {part.count})
            assert isinstance(body, Straight)
            return replace(part, body=body)
        then = tuple(each(inner, frozenset(part.then_values)) for inner in part.then)
        otherwise = tuple(each(inner, frozenset(part.otherwise_values)) for inner in part.otherwise)
        return replace(part, then=then, otherwise=otherwise)  # type: ignore[arg-type]

    parts: list[Part] = []
    for index, part in enumerate(routine.parts):
        parts.append(each(part, _read_after(routine, routine.parts[index + 1 :])))
    return replace(routine, parts=tuple(parts))


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


def _order(
    instructions: Sequence[Instruction], routine: Routine, core: Core, freedom: Freedom, wanted: frozenset[Virtual]
) -> list[int]:
    for preferences in (True, False):
        made = graph(instructions, routine.homes, preferences=preferences)
        order = _List(made, routine, core, freedom, wanted).run()
        if order is not None:
            return order
    return list(range(len(instructions)))


class _List:
    """The state of one run."""

    def __init__(self, made: Graph, routine: Routine, core: Core, freedom: Freedom, wanted: frozenset[Virtual]) -> None:
        self.graph = made
        self.core = core
        self.freedom = freedom
        self.free = {*routine.homes, *routine.constants} if routine.target == "amd64" else {*routine.constants}
        self.reads = [self._counted(instruction.read) for instruction in made.instructions]
        self.writes = [self._counted(instruction.written) for instruction in made.instructions]
        self.left: dict[Virtual, int] = {value: 1 for value in sorted(wanted)}
        for values in self.reads:
            for value in values:
                self.left[value] = self.left.get(value, 0) + 1
        self.live: set[Virtual] = set()
        self.done = 0
        self.ready_at = [0] * len(made)
        self.open: dict[str, tuple[int, int]] = {}  #: flag -> (writer, readers left, as a mask)
        self.successors: list[list[int]] = [[] for _ in made.before]
        for index, mask in enumerate(made.before):
            for earlier in bits(mask):
                self.successors[earlier].append(index)
        self.missing = [mask.bit_count() for mask in made.before]

    def _counted(self, registers: Iterable[object]) -> list[Virtual]:
        found: dict[Virtual, None] = {}
        for register in registers:
            if isinstance(register, Virtual) and register not in self.free:
                found[register] = None
        return list(found)

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
            for later in self.successors[index]:
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

