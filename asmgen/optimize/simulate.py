"""The models of `model.py` in Python, cycle by cycle: `model.c` is the same in C, and both give the same figures.

Rules and their order follow llvm-mca 19 (`llvm/lib/MCA`). Out of order, a cycle goes: what was done before leaves the
buffer from its front; ports whose time is over become free; instructions whose operands are there are started, each
time the one that comes first, where one that many wait for counts as that many places earlier; then new ones enter, as
many micro-operations as the width and the buffer allow. Of several free ports a group takes one in turn, the last ones
first. In order, an instruction starts when its operands are there, its ports are free, those before it have started and
its results come no earlier than theirs.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from asmgen.optimize.described import STORE, Class, Line, Machine, described, lines_of
from asmgen.optimize.ports import Ports


def total(
    machine: Sequence[int], lines: Sequence[int], order: Sequence[int], carried: Sequence[int], registers: int,
    calls: int,
) -> tuple[int, list[int]]:  # fmt: skip
    """Cycles of all passes together, and the cycle in which each one's last instruction enters or, in order, starts."""
    core, every = Machine(machine), lines_of(lines)
    pairs = [(carried[at], carried[at + 1]) for at in range(0, len(carried), 2)]
    way = _out_of_order if core.buffer else _in_order
    return way(core, described([every[at] for at in order]), pairs, registers, calls)


@dataclass(eq=False)
class Flight:
    """An instruction on its way. `unknown` operands have not been started to be made; `ready` is when the others are
    there. Of `users` each is (who waits, how long after the start)."""

    place: int
    line: Line
    kind: Class
    unknown: int = 0
    ready: int = 0
    start: int = -1
    users: list[tuple[Flight, int]] = field(default_factory=list)
    group: Group | None = None

    @property
    def done(self) -> int:
        return self.start + self.kind.latency


@dataclass(eq=False)
class Group:
    """Loads that may overtake each other, or a store. Later stores wait until all of a group have started."""

    number: int
    members: int = 0
    started: int = 0
    done: int = 0
    waiting: list[Flight] = field(default_factory=list)

    @property
    def under_way(self) -> bool:
        """Whether all that are not done have started, and there are some."""
        return self.started > self.done and self.started == self.members


class _Memory:
    """The order of loads and stores."""

    def __init__(self) -> None:
        self.loads: Group | None = None
        self.store: Group | None = None
        self.count = 0

    def enter(self, flight: Flight) -> None:
        if flight.kind.memory == STORE:
            mine = self._new()
            for other in (self.loads, self.store):
                if other is not None and not other.under_way:
                    other.waiting.append(flight)
                    flight.unknown += 1
            self.store = mine
        else:
            last = self.loads
            after = self.store.number if self.store is not None else 0
            mine = last if last is not None and last.number > after and not last.under_way else self._new()
            self.loads = mine
        mine.members += 1
        flight.group = mine

    def finish(self, group: Group) -> None:
        group.done += 1
        if group.done == group.members:
            self.loads = None if self.loads is group else self.loads
            self.store = None if self.store is group else self.store

    def _new(self) -> Group:
        self.count += 1
        return Group(self.count)


def _out_of_order(
    core: Machine, lines: Sequence[Line], carried: Sequence[tuple[int, int]], registers: int, calls: int
) -> tuple[int, list[int]]:
    ports, memory = Ports(core), _Memory()
    made: list[tuple[Flight, int] | None] = [None] * registers
    buffer: deque[Flight] = deque()
    waking: dict[int, list[Flight]] = {}
    finishing: dict[int, list[Group]] = {}
    ready: list[Flight] = []
    room, entered, whole, cycle = core.buffer, 0, len(lines) * calls, 0
    times: list[int] = []

    def known(flight: Flight) -> None:
        """All operands are on their way."""
        if flight.ready <= cycle:
            ready.append(flight)
        else:
            waking.setdefault(flight.ready, []).append(flight)

    def start(flight: Flight) -> None:
        flight.start = cycle
        ports.take(flight.kind, cycle)
        for user, after in flight.users:
            user.unknown -= 1
            user.ready = max(user.ready, cycle + after)
            if not user.unknown:
                known(user)
        group = flight.group
        if group is not None:
            finishing.setdefault(flight.done, []).append(group)
            group.started += 1
            if group.under_way:
                for user in group.waiting:
                    user.unknown -= 1
                    user.ready = max(user.ready, cycle)
                    if not user.unknown:
                        known(user)
                group.waiting.clear()

    def enter(line: Line) -> None:
        flight = Flight(entered, line, core.classes[line.number])
        flight.ready = cycle
        for register, purpose in line.reads:
            maker = made[register]
            if maker is None:
                continue
            other, latency = maker
            after = max(0, latency - core.early[purpose][other.line.number])
            if other.start < 0:
                flight.unknown += 1
                other.users.append((flight, after))
            else:
                flight.ready = max(flight.ready, other.start + after)
        for register, latency in line.writes:
            made[register] = flight, latency
        buffer.append(flight)
        if flight.kind.memory:
            memory.enter(flight)
        if flight.unknown:
            return
        if flight.ready <= cycle and not flight.kind.takes and not flight.kind.latency:
            start(flight)
        else:
            known(flight)

    while entered < whole or buffer:
        while buffer and 0 <= buffer[0].start and buffer[0].done < cycle:
            room += min(buffer.popleft().kind.micro_ops, core.buffer)
        ports.release(cycle)
        for group in finishing.pop(cycle, ()):
            memory.finish(group)
        ready += waking.pop(cycle, ())
        while True:
            able = [each for each in ready if ports.can(each.kind)]
            if not able:
                break
            best = min(able, key=lambda each: (each.place - len(each.users), each.place))
            ready.remove(best)
            start(best)
        left = core.width
        while entered < whole:
            line = lines[entered % len(lines)]
            micro_ops = core.classes[line.number].micro_ops
            if micro_ops > min(left, room):
                break
            left -= micro_ops
            room -= micro_ops
            enter(line)
            entered += 1
            if entered % len(lines) == 0:
                times.append(cycle)
                for (into, _), value in zip(carried, [made[of] for _, of in carried], strict=True):
                    made[into] = value
        cycle += 1
    return cycle, times


def _in_order(
    core: Machine, lines: Sequence[Line], carried: Sequence[tuple[int, int]], registers: int, calls: int
) -> tuple[int, list[int]]:
    free = [[0] * count for count in core.units]
    made: list[tuple[int, int, int]] = [(0, 0, 0)] * registers
    cycle = last = end = 0
    left = core.width
    times: list[int] = []
    for _ in range(calls):
        for line in lines:
            kind = core.classes[line.number]
            if kind.micro_ops > left and kind.micro_ops <= core.width:
                cycle, left = cycle + 1, core.width
            start = max(cycle, last - line.first if not kind.any_order else 0)
            for register, purpose in line.reads:
                begun, latency, number = made[register]
                start = max(start, begun + latency - core.early[purpose][number])
            for unit, _, _ in kind.takes:
                start = max(start, min(free[unit]))
            if start > cycle:
                cycle, left = start, core.width
            for unit, cycles, _ in kind.takes:
                free[unit][free[unit].index(min(free[unit]))] = cycle + cycles
            for register, latency in line.writes:
                made[register] = cycle, latency, line.number
            if not kind.any_order:
                last = cycle + kind.latency
            end = max(end, cycle + kind.latency)
            left -= kind.micro_ops
            while left < 0:
                cycle, left = cycle + 1, left + core.width
                end = max(end, cycle)
        for (into, _), value in zip(carried, [made[of] for _, of in carried], strict=True):
            made[into] = value
        times.append(cycle)
    return end + 1, times
