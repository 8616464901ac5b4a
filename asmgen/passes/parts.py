"""Loops and branches: where values are when control meets, and the straight lines between."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from asmgen.passes.hints import Hints, hints
from asmgen.passes.liveness import NEVER, Fork, Line, Ring
from asmgen.passes.place import place_line
from asmgen.passes.registers import Registers
from asmgen.passes.shuffle import shuffle
from asmgen.targets.row import FRAME, Label, Memory, Register, Virtual

#: What an instruction in a loop counts for when ways to allocate are compared.
PASSES = 8

#: How many sets of values to keep out of registers are tried for a loop.
_TRIALS = 10


@dataclass(frozen=True)
class Meeting:
    """Where values are at a place that control comes to from two sides: by the names they have after it."""

    registers: Mapping[Register, Virtual]
    slots: Mapping[Virtual, int]


@dataclass
class Tally:
    """What is counted along the way."""

    labels: int = 0
    extra: int = 0  #: what loop bodies count for beyond once


def place_parts(registers: Registers, parts: Iterable[Line | Ring | Fork], at_end: Mapping[Virtual, Register], tally: Tally) -> None:
    """All parts in order; `at_end` tells where values should be after the last one."""
    for part in parts:
        if isinstance(part, Line):
            registers.hints = hints(part, registers.context.lives, at_end)
            place_line(registers, part)
        elif isinstance(part, Ring):
            place_ring(registers, part, tally)
        else:
            place_fork(registers, part, tally)


# Loops


def place_ring(registers: Registers, ring: Ring, tally: Tally) -> None:
    """A loop: the best of some ways to choose which values wait in memory."""
    registers.now = ring.head
    registers.source = None
    if registers.open and ring.head in registers.context.lives.closings:
        registers.close()
    head = Label(_name("loop", tally))
    parked = _first_parked(registers, ring)
    best = _attempt(registers, ring, head, parked)
    tried = {parked}
    while len(tried) < _TRIALS:
        found = None
        for more in best.candidates:
            attempt = frozenset({*best.parked, more})
            if attempt not in tried and len(tried) < _TRIALS:
                tried.add(attempt)
                made = _attempt(registers, ring, head, attempt)
                if made.price < (found or best).price:
                    found = made
        if found is None:
            break
        best = found
    tally.extra += (PASSES - 1) * best.inside
    registers.adopt(best.after)


@dataclass(frozen=True)
class _Attempt:
    parked: frozenset[Virtual]
    after: Registers
    inside: int  #: instructions in the loop
    candidates: tuple[Virtual, ...]  #: values that may be worth parking too

    @property
    def price(self) -> int:
        return len(self.after.items) + (PASSES - 1) * self.inside


def _inside_uses(registers: Registers, ring: Ring, value: Virtual) -> int:
    """How many instructions of the body need the value in a register."""
    soft = registers.context.lives.soft.get(value, {})
    return sum(ring.head < place < ring.end and not at for place, at in soft.items())


def _through(registers: Registers, ring: Ring) -> list[Virtual]:
    """Values from before the loop that are needed in it or after it, the counter among them; those that could be in registers."""
    context = registers.context
    present = [*registers.where, *(each for each in registers.slots if each not in registers.where)]
    absent = [
        value
        for value in (*context.constants, *context.homes)
        if value not in registers.where and value not in registers.slots and _inside_uses(registers, ring, value)
    ]
    found = [value for value in dict.fromkeys([*present, *absent]) if _lives(registers, value, ring.head + 1)]
    return sorted(found, key=lambda value: -_inside_uses(registers, ring, value))


def _lives(registers: Registers, value: Virtual, position: int) -> bool:
    """Whether the value is needed from the position on, or is a pointer to words that are: they may have to be read again."""
    if registers.needed(value, position) != NEVER:
        return True
    homes = registers.context.lives.bases.get(value, ())
    return registers.open and any(registers.uses_from(home, position) != NEVER for home in homes)


def _first_parked(registers: Registers, ring: Ring) -> frozenset[Virtual]:
    """A first guess at what does not fit beside the body's own values: first what the body does not use, then what can be had again."""
    through = _through(registers, ring)
    lives = registers.context.lives
    peak, live = 0, set(ring.loop.state)
    for position, ways in enumerate(ring.body.shapes, ring.body.first):
        live = {value for value in live if lives.last(value) > position}
        live.update(each for each in ways[0].instruction.written if isinstance(each, Virtual) and lives.last(each) > position)
        peak = max(peak, len(live))
    excess = max(peak + len(through) - len(registers.context.pool), 0)
    backward = [value for value in reversed(through) if _parkable(registers, ring, value)]
    idle = [value for value in backward if not _inside_uses(registers, ring, value)]
    again = [value for value in backward if value not in idle and registers.recoverable(value)]
    return frozenset([*idle, *again][:excess])


def _parkable(registers: Registers, ring: Ring, value: Virtual) -> bool:
    """Whether the value may be in memory at the head: not a counter that must be counted down in a register."""
    return value != ring.loop.count or bool(registers.context.machine.count_down_in_memory(Memory(FRAME), Label("")))


def _attempt(before: Registers, ring: Ring, head: Label, parked: frozenset[Virtual]) -> _Attempt:
    """The loop with these values kept out of registers at its head."""
    registers, loop = before.fork(), ring.loop
    meeting, initial = _plan(registers, ring, parked)
    wanted = {register: initial.get(value, value) for register, value in meeting.registers.items()}
    slots = {slot: initial.get(value, value) for value, slot in meeting.slots.items()}
    registers.reserved |= frozenset(slots)
    shuffle(registers, wanted, slots)
    _meet(registers, meeting)
    _pledge(registers, meeting, ring.end)
    registers.emit(head)
    entry = len(registers.items)

    after = dict(zip(loop.state, loop.next, strict=True))
    ends = {after[value]: register for register, value in meeting.registers.items() if value in after}
    registers.hints = hints(ring.body, registers.context.lives, ends)
    place_line(registers, ring.body)
    registers.now = ring.end
    registers.source = None
    shuffle(
        registers,
        {register: after.get(value, value) for register, value in meeting.registers.items()},
        {slot: after.get(value, value) for value, slot in meeting.slots.items()},
    )
    evicted = dict(registers.evicted)
    kept = {value: slot for value, slot in registers.slots.items() if value not in loop.next}
    _count_down(registers, ring, meeting, head)
    result = dict(zip(loop.state, loop.result, strict=True))
    _meet(registers, Meeting(
        {register: result.get(value, value) for register, value in meeting.registers.items()},
        kept | {result.get(value, value): slot for value, slot in meeting.slots.items()},
    ))  # fmt: skip
    registers.now = ring.end + 1
    registers.reserved, registers.pledged = before.reserved, before.pledged
    registers.sweep(ring.end + 1)
    candidates = [
        value
        for value in dict.fromkeys(meeting.registers.values())
        if _parkable(registers, ring, value) and (value in evicted or value in before.context.constants or value in before.context.homes)
    ]
    candidates.sort(key=lambda value: _inside_uses(registers, ring, value))
    return _Attempt(parked, registers, len(registers.items) - entry, tuple(candidates))


def _plan(registers: Registers, ring: Ring, parked: frozenset[Virtual]) -> tuple[Meeting, dict[Virtual, Virtual]]:
    """Registers and slots at the head of a loop, and the value that each state starts from."""
    loop, context = ring.loop, registers.context
    initial = dict(zip(loop.state, loop.initial, strict=True))
    registers.hints = hints(ring.body, context.lives, {})
    state = [value for value in loop.state if value not in parked]
    through = _through(registers, ring)
    chosen: dict[Register, Virtual] = {}
    rest: list[Virtual] = []
    if not _parkable(registers, ring, loop.count):
        held = [register for register in registers.where.get(loop.count, ()) if register in context.pool]
        chosen[held[0] if held else context.pool[0]] = loop.count
    for value in [*state, *(each for each in through if each not in parked and each not in chosen.values())]:
        source = initial.get(value, value)
        copied = value in initial and registers.needed(source, ring.head + 1) != NEVER
        place = next((each for each in registers.where.get(source, ()) if each in context.pool and each not in chosen), None)
        if place is None or copied or registers.hints.clash(place, value, ring.head) != NEVER:
            rest.append(value)
        else:
            chosen[place] = value
    for value in rest:
        free = registers.choose(value, (register for register in context.pool if register not in chosen))
        if free is not None:
            chosen[free] = value
    slots = {value: slot for value, slot in registers.slots.items() if value in through}
    placed = set(chosen.values())
    if loop.count in placed:
        slots.pop(loop.count, None)  # it changes from pass to pass
    for value in [*loop.state, *through]:
        if value in placed or value in slots or (value not in initial and registers.recoverable(value)):
            continue
        slots[value] = _slot_for(registers, initial.get(value, value), slots.values())
    return Meeting(chosen, slots), initial


def _slot_for(registers: Registers, value: Virtual, taken: Iterable[int]) -> int:
    """The value's own slot, or a new one."""
    own, taken = registers.slots.get(value), {*taken, *registers.reserved}
    if own is not None and own not in taken:
        return own
    taken |= set(registers.slots.values())
    slot = next(slot for slot in range(len(taken) + 1) if slot not in taken)
    registers.top = max(registers.top, slot + 1)
    return slot


def _pledge(registers: Registers, meeting: Meeting, position: int) -> None:
    """Keep pointers to homes up to where they are wanted again, even while all their words are in registers."""
    for value in (*meeting.registers.values(), *meeting.slots):
        if value in registers.context.lives.bases:
            registers.pledged[value] = position


def _meet(registers: Registers, meeting: Meeting) -> None:
    """Values are where the meeting says, under their names there."""
    registers.held, registers.where = {}, {}
    for register, value in meeting.registers.items():
        registers.put(register, value)
    registers.slots = dict(meeting.slots)


def _count_down(registers: Registers, ring: Ring, meeting: Meeting, head: Label) -> None:
    target, count = registers.context.machine, ring.loop.count
    register = next((register for register, value in meeting.registers.items() if value == count), None)
    if register is not None:
        instructions = target.count_down(register, head)
    else:
        instructions = target.count_down_in_memory(Memory(FRAME, 8 * meeting.slots[count]), head)
    for instruction in instructions:
        registers.emit(instruction)


# Branches


def place_fork(registers: Registers, fork: Fork, tally: Tally) -> None:
    """A branch on a count: the sides begin with what is known here and end with everything in the same places."""
    branch, context = fork.branch, registers.context
    registers.now, registers.source = fork.test, None
    if branch.count not in registers.where:
        registers.fetch(branch.count, registers.take(branch.count, ()))
    _preload(registers, fork)
    other, join = Label(_name("none", tally)), Label(_name("join", tally))
    then, otherwise = registers.fork(), registers.fork()

    then.skip = (fork.then_end + 1, fork.otherwise_end)
    then.sweep(fork.test + 1)
    place_parts(then, fork.then, {}, tally)
    then.now = fork.then_end
    closing = any(fork.test < place <= fork.otherwise_end for place in context.lives.closings)
    if closing and then.open:
        then.close()
    meeting = _plan_join(registers, then, fork)
    value = dict(zip(branch.result, branch.then_values, strict=True))
    then.reserved |= frozenset(meeting.slots.values())
    _shuffle_to(then, meeting, value)

    otherwise.now = fork.then_end + 1
    _pledge(otherwise, meeting, fork.otherwise_end)
    otherwise.sweep(otherwise.now)
    otherwise.reserved |= frozenset(meeting.slots.values())
    value = dict(zip(branch.result, branch.otherwise_values, strict=True))
    ends = {value[name]: register for register, name in meeting.registers.items() if name in value}
    place_parts(otherwise, fork.otherwise, ends, tally)
    otherwise.now = fork.otherwise_end
    if closing and otherwise.open:
        otherwise.close()
    _shuffle_to(otherwise, meeting, value)

    for instruction in context.machine.unless(registers.where[branch.count][0], other if otherwise.items else join):
        registers.emit(instruction)
    registers.adopt(then)
    if otherwise.items:
        registers.emit(context.machine.jump(join))
        registers.emit(other)
        registers.adopt(otherwise)
    registers.emit(join)
    registers.open = then.open and otherwise.open
    registers.top = max(then.top, otherwise.top)
    _meet(registers, meeting)
    registers.now = fork.otherwise_end + 1
    registers.sweep(registers.now)


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


def _plan_join(before: Registers, then: Registers, fork: Fork) -> Meeting:
    """Where results and other values are after a branch: where the first side has them."""
    pool = then.context.pool
    value = dict(zip(fork.branch.result, fork.branch.then_values, strict=True))
    after = fork.otherwise_end + 1
    through = [
        each
        for each in dict.fromkeys([*then.where, *then.slots])
        if _lives(then, each, fork.then_end + 1) and (each in before.where or not then.recoverable(each) or each in then.slots)
    ]
    chosen: dict[Register, Virtual] = {}
    rest: list[Virtual] = []
    results = [name for name in fork.branch.result if then.uses_from(name, after) != NEVER]
    for name in [*(each for each in through if each in then.where), *results]:
        source = value.get(name, name)
        place = next((each for each in then.where.get(source, ()) if each in pool and each not in chosen), None)
        if place is None or (name in value and source in through):
            rest.append(name)
        else:
            chosen[place] = name
    for name in rest:
        free = [register for register in pool if register not in chosen]
        if free:
            chosen[free[0]] = name
    placed = set(chosen.values())
    slots = {
        each: then.slots[each] for each in through if each in then.slots and (each not in placed or before.slots.get(each) == then.slots[each])
    }
    for name in [*through, *results]:
        if name not in placed and name not in slots:
            slots[name] = _slot_for(then, value.get(name, name), slots.values())
    return Meeting(chosen, slots)


def _shuffle_to(registers: Registers, meeting: Meeting, value: Mapping[Virtual, Virtual]) -> None:
    """Bring everything to where the meeting wants it; `value` is what each result is here."""
    shuffle(
        registers,
        {register: value.get(name, name) for register, name in meeting.registers.items()},
        {slot: value.get(name, name) for name, slot in meeting.slots.items()},
    )


def _name(what: str, tally: Tally) -> str:
    """A label not used before."""
    tally.labels += 1
    return what if tally.labels == 1 else f"{what}{tally.labels}"
