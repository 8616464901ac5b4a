"""The parts of a routine in order: straight lines, loops, and branches with both of their sides."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from asmgen.passes.hints import hints
from asmgen.passes.liveness import NEVER, Fork, Line, Ring
from asmgen.passes.loops import PASSES, Plan, place_ring
from asmgen.passes.meeting import Meeting, meet, outlives, pledge, shuffle_to, slot_for
from asmgen.passes.place import place_line
from asmgen.passes.registers import Registers
from asmgen.targets.row import Label, Register, Virtual


@dataclass
class Tally:
    """What is counted along the way."""

    labels: int = 0
    extra: int = 0  #: what instructions in loops count for, beyond once each
    plans: dict[int, Plan] = field(default_factory=dict)  #: the best way known to begin each loop, by its position

    def label(self, name: str) -> Label:
        """A label not used before."""
        self.labels += 1
        return Label(name if self.labels == 1 else f"{name}{self.labels}")


def place_parts(
    registers: Registers, parts: Iterable[Line | Ring | Fork], at_end: Mapping[Virtual, Register], tally: Tally
) -> None:
    """All parts in order; `at_end` tells where values should be after the last one."""
    for part in parts:
        if isinstance(part, Line):
            registers.hints = hints(part, registers.context.lives, at_end, registers.context.plain)
            place_line(registers, part)
        elif isinstance(part, Ring):
            tally.extra += (PASSES - 1) * place_ring(registers, part, tally.label("loop"), tally.plans)
        else:
            place_fork(registers, part, tally)


@dataclass(frozen=True)
class _Sides:
    then: Registers
    otherwise: Registers
    meeting: Meeting
    tally: Tally


def place_fork(registers: Registers, fork: Fork, tally: Tally) -> None:
    """A branch on a count: the sides begin with what is known here and end with everything in the same places."""
    branch, machine = fork.branch, registers.context.machine
    registers.now, registers.source = fork.test, None
    if branch.count not in registers.where:
        registers.fetch(branch.count, registers.take(branch.count, ()))
    _preload(registers, fork)
    other, join = tally.label("none"), tally.label("join")
    sides = _sides(registers, fork, tally)
    both = [
        value
        for value in sides.meeting.slots
        if value in registers.where and value not in registers.slots and value not in sides.meeting.registers.values()
    ]
    if both:  # each side stores them: once before the branch is enough
        for value in both:
            registers.spill(value)
        sides = _sides(registers, fork, tally)
    then, otherwise = sides.then, sides.otherwise
    tally.labels, tally.extra = sides.tally.labels, sides.tally.extra
    for instruction in machine.unless(registers.where[branch.count][0], other if otherwise.items else join):
        registers.emit(instruction)
    registers.adopt(then)
    if otherwise.items:
        registers.emit(machine.jump(join))
        registers.emit(other)
        registers.adopt(otherwise)
    registers.emit(join)
    registers.open = then.open and otherwise.open
    meet(registers, sides.meeting)
    registers.now = fork.otherwise_end + 1
    registers.sweep(registers.now)


def _sides(registers: Registers, fork: Fork, tally: Tally) -> _Sides:
    """Both sides of the branch, and where they meet: where the first one has things when it ends."""
    branch = fork.branch
    then, otherwise, tally = registers.fork(), registers.fork(), replace(tally)
    stores = any(fork.test < place <= fork.otherwise_end for place in registers.context.lives.closings)

    then.skip = (fork.then_end + 1, fork.otherwise_end)
    then.sweep(fork.test + 1)
    place_parts(then, fork.then, {}, tally)
    then.now = fork.then_end
    if stores and then.open:
        then.close()
    meeting = _join(registers, then, fork)
    shuffle_to(then, meeting, dict(zip(branch.result, branch.then_values, strict=True)))

    otherwise.now = fork.then_end + 1
    pledge(otherwise, meeting, fork.otherwise_end)
    otherwise.sweep(otherwise.now)
    otherwise.reserved |= frozenset(meeting.slots.values())
    value = dict(zip(branch.result, branch.otherwise_values, strict=True))
    ends = {value[name]: register for register, name in meeting.registers.items() if name in value}
    place_parts(otherwise, fork.otherwise, ends, tally)
    otherwise.now = fork.otherwise_end
    if stores and otherwise.open:
        otherwise.close()
    shuffle_to(otherwise, meeting, value)
    return _Sides(then, otherwise, meeting, tally)


def _preload(registers: Registers, fork: Fork) -> None:
    """Words that both sides need in registers are loaded once, while registers are free."""
    for home in registers.context.homes:
        soft = registers.context.lives.soft.get(home, {})
        sides = [
            any(first < place <= last and not at for place, at in soft.items())
            for first, last in ((fork.test, fork.then_end), (fork.then_end, fork.otherwise_end))
        ]
        if all(sides) and home not in registers.where and registers.readable(home) and len(registers.free(())) > 2:
            registers.fetch(home, registers.take(home, ()))


def _join(before: Registers, then: Registers, fork: Fork) -> Meeting:
    """Where results and other values are after a branch: where the first side has them.

    What can be had again and was in no register before the branch is left out, for the other side would have to fetch
    it.
    """
    pool, value = then.context.pool, dict(zip(fork.branch.result, fork.branch.then_values, strict=True))
    through = [
        each
        for each in dict.fromkeys([*then.where, *then.slots])
        if outlives(then, each, fork.then_end + 1)
        and (each in before.where or each in then.slots or not then.recoverable(each))
    ]
    results = [name for name in fork.branch.result if then.uses_from(name, fork.otherwise_end + 1) != NEVER]
    chosen: dict[Register, Virtual] = {}
    rest: list[Virtual] = []
    for name in [*(each for each in through if each in then.where), *results]:
        source = value.get(name, name)
        place = next((each for each in then.where.get(source, ()) if each in pool and each not in chosen), None)
        if place is None or (name in value and source in through):
            rest.append(name)
        else:
            chosen[place] = name
    for name in rest:
        free = next((register for register in pool if register not in chosen), None)
        if free is not None:
            chosen[free] = name
    placed = set(chosen.values())
    slots = {
        each: then.slots[each]
        for each in through
        if each in then.slots and (each not in placed or before.slots.get(each) == then.slots[each])
    }
    for name in [*through, *results]:
        if name not in placed and name not in slots:
            slots[name] = slot_for(then, value.get(name, name), slots.values())
    return Meeting(chosen, slots)
