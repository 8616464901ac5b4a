"""A loop: which values are where at its head, decided by trial, and the way back to there at its end."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from asmgen.passes.hints import hints
from asmgen.passes.liveness import NEVER, Ring
from asmgen.passes.meeting import Meeting, meet, outlives, pledge, shuffle_to, slot_for
from asmgen.passes.place import place_line
from asmgen.passes.registers import Registers
from asmgen.targets.row import FRAME, Label, Memory, Register, Virtual

#: What an instruction in a loop counts for when ways to allocate are compared.
PASSES = 8

#: How many ways to begin a loop are tried, and how many when a good one is known from another run.
_TRIALS, _MORE_TRIALS = 12, 2


@dataclass(frozen=True)
class Plan:
    """How to begin a loop: values to keep out of registers at its head, and registers that some of its state should
    be in.
    """

    parked: frozenset[Virtual]
    places: tuple[tuple[Virtual, Register], ...] = ()


@dataclass(frozen=True)
class _Attempt:
    """The loop by one plan."""

    plan: Plan
    after: Registers
    inside: int  #: instructions in the loop
    evicted: tuple[Virtual, ...]  #: values in registers at the head that may better be parked
    strayed: tuple[tuple[Virtual, Register], ...]  #: state that was computed in another register than that of the head

    @property
    def price(self) -> int:
        return len(self.after.items) + (PASSES - 1) * self.inside

    def variants(self) -> Iterator[Plan]:
        """Plans that may be better."""
        for value in self.evicted:
            yield Plan(self.plan.parked | {value}, self.plan.places)
        if self.strayed:
            yield Plan(self.plan.parked, self.strayed)
        for place in self.strayed:
            yield Plan(self.plan.parked, (place,))


def place_ring(registers: Registers, ring: Ring, head: Label, plans: dict[int, Plan]) -> int:
    """Place the loop in the best of some ways; gives the number of instructions in it.

    `plans` has, by the loop's position, the best way found under other policies, and gets this one's.
    """
    registers.now = ring.head
    registers.source = None
    if registers.open and ring.head in registers.context.lives.closings:
        registers.close()
    known = plans.get(ring.head)
    best = _attempt(registers, ring, head, known or Plan(_first_parked(registers, ring)))
    tried, most = {best.plan}, _MORE_TRIALS if known else _TRIALS
    improved = True
    while improved:
        improved = False
        for plan in [plan for plan in best.variants() if plan not in tried]:
            if len(tried) < most:
                tried.add(plan)
                made = _attempt(registers, ring, head, plan)
                if made.price < best.price:
                    best, improved = made, True
    plans[ring.head] = best.plan
    registers.adopt(best.after)
    return best.inside


def _hard_uses(registers: Registers, ring: Ring, value: Virtual) -> int:
    """How many instructions of the body need the value in a register."""
    soft = registers.context.lives.soft.get(value, {})
    constant = value in registers.context.constants
    return sum(ring.head < place < ring.end and (constant or not at) for place, at in soft.items())


def _through(registers: Registers, ring: Ring) -> list[Virtual]:
    """Values from before the loop that could be in registers and are needed in it or after it, those used most first.

    The counter is among them, and so are constants and words of buffers that the body uses.
    """
    context = registers.context
    present = dict.fromkeys([*registers.where, *registers.slots])
    absent = [
        value
        for value in (*context.constants, *context.homes)
        if value not in present and _hard_uses(registers, ring, value)
    ]
    found = [value for value in (*present, *absent) if outlives(registers, value, ring.head + 1)]
    return sorted(found, key=lambda value: -_hard_uses(registers, ring, value))


def _first_parked(registers: Registers, ring: Ring) -> frozenset[Virtual]:
    """A first guess at what has no room beside the body's own values.

    What the body does not use goes first, then what can be had again.
    """
    through, lives = _through(registers, ring), registers.context.lives
    peak, live = 0, set(ring.loop.state)
    for position, ways in enumerate(ring.body.shapes, ring.body.first):
        live.update(value for value in ways[0].instruction.written if isinstance(value, Virtual))
        live = {value for value in live if lives.last(value) > position}
        peak = max(peak, len(live))
    excess = max(peak + len(through) - len(registers.context.pool), 0)
    last_first = [value for value in reversed(through) if _parkable(registers, ring, value)]
    idle = [value for value in last_first if not _hard_uses(registers, ring, value)]
    again = [value for value in last_first if value not in idle and registers.recoverable(value)]
    return frozenset([*idle, *again][:excess])


def _parkable(registers: Registers, ring: Ring, value: Virtual) -> bool:
    """Whether the value may be in memory at the head: not a counter that must be counted down in a register."""
    return value != ring.loop.count or bool(registers.context.machine.count_down_in_memory(Memory(FRAME), Label("")))


def _attempt(before: Registers, ring: Ring, head: Label, plan: Plan) -> _Attempt:
    """The loop as planned."""
    registers, loop = before.fork(), ring.loop
    meeting = _meeting(registers, ring, plan)
    shuffle_to(registers, meeting, dict(zip(loop.state, loop.initial, strict=True)))
    meet(registers, meeting)
    pledge(registers, meeting, ring.end)
    registers.emit(head)
    entry = len(registers.items)

    after = dict(zip(loop.state, loop.next, strict=True))
    ends = {after[value]: register for register, value in meeting.registers.items() if value in after}
    registers.hints = hints(ring.body, registers.context.lives, ends, registers.context.plain)
    place_line(registers, ring.body)
    registers.now, registers.source = ring.end, None
    strayed = tuple(
        (value, registers.where[after[value]][0])
        for register, value in meeting.registers.items()
        if value in after and register not in registers.where.get(after[value], (register,))
    )
    shuffle_to(registers, meeting, after)
    evicted = [
        value
        for value in dict.fromkeys(meeting.registers.values())
        if _parkable(registers, ring, value)
        and (
            value in registers.evicted
            or value in before.context.prices
            or value in before.context.homes
            or (registers.evicted and not _hard_uses(registers, ring, value))
        )
    ]
    evicted.sort(key=lambda value: _hard_uses(registers, ring, value))
    kept = {value: slot for value, slot in registers.slots.items() if value not in loop.next}
    _count_down(registers, ring, meeting, head)

    result = dict(zip(loop.state, loop.result, strict=True))
    places = {register: result.get(value, value) for register, value in meeting.registers.items()}
    slots = kept | {result.get(value, value): slot for value, slot in meeting.slots.items()}
    meet(registers, Meeting(places, slots))
    registers.now = ring.end + 1
    registers.reserved, registers.pledged = before.reserved, before.pledged
    registers.sweep(ring.end + 1)
    return _Attempt(plan, registers, len(registers.items) - entry, tuple(evicted), strayed)


def _meeting(registers: Registers, ring: Ring, plan: Plan) -> Meeting:
    """Registers and slots at the head of a loop: state first, then what is used most."""
    loop, pool = ring.loop, registers.context.pool
    initial = dict(zip(loop.state, loop.initial, strict=True))
    registers.hints = hints(ring.body, registers.context.lives, {}, registers.context.plain)
    through = _through(registers, ring)
    chosen: dict[Register, Virtual] = {}
    if not _parkable(registers, ring, loop.count):
        held = [register for register in registers.where.get(loop.count, ()) if register in pool]
        chosen[held[0] if held else pool[0]] = loop.count
    for value, register in plan.places:
        if register in pool and register not in chosen and value not in plan.parked:
            chosen[register] = value
    rest: list[Virtual] = []
    for value in [
        value for value in (*loop.state, *through) if value not in plan.parked and value not in chosen.values()
    ]:
        source = initial.get(value, value)
        copied = value in initial and registers.alive(source, ring.head + 1)
        place = next((each for each in registers.where.get(source, ()) if each in pool and each not in chosen), None)
        if place is None or copied or registers.hints.clash(place, registers.hints.chain_of(value), ring.head) != NEVER:
            rest.append(value)
        else:
            chosen[place] = value
    for value in rest:
        free = registers.choose(value, (register for register in pool if register not in chosen))
        if free is not None:
            chosen[free] = value
    placed = set(chosen.values())
    slots = {value: slot for value, slot in registers.slots.items() if value in through}
    if loop.count in placed:
        slots.pop(loop.count, None)  # it changes from pass to pass
    for value in [*loop.state, *through]:
        if value not in placed and value not in slots and (value in initial or not registers.recoverable(value)):
            slots[value] = slot_for(registers, initial.get(value, value), slots.values())
    return Meeting(chosen, slots)


def _count_down(registers: Registers, ring: Ring, meeting: Meeting, head: Label) -> None:
    """Count, and go back unless the count is zero."""
    target, count = registers.context.machine, ring.loop.count
    register = next((register for register, value in meeting.registers.items() if value == count), None)
    if register is not None:
        instructions = target.count_down(register, head)
    else:
        instructions = target.count_down_in_memory(Memory(FRAME, 8 * meeting.slots[count]), head)
    for instruction in instructions:
        registers.emit(instruction)
