"""Another order for an allocated routine, as a plan has it: the same instructions, registers given out anew.

An order is legal when values, memory and flags come where they are read, and when the registers that the routine uses
suffice: nothing is spilled, copied or loaded that was not before. So an order never costs an instruction.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from asmgen.errors import AsmgenError
from asmgen.passes.machine import Machine, machine
from asmgen.passes.twins import other, with_others
from asmgen.passes.webs import Line, lines, named, registers_in, renamed
from asmgen.routine import Allocated
from asmgen.targets.conventions import convention
from asmgen.targets.row import Instruction, Register

#: For each position in a line the instruction, by its position in the line as it was.
Order = Sequence[int]


@dataclass(frozen=True)
class Arrangement:
    """A routine with its lines, and the registers that another order may use."""

    allocated: Allocated
    lines: tuple[Line, ...]
    pool: tuple[Register, ...]


def arrangement(allocated: Allocated, others: Sequence[int] = ()) -> Arrangement:
    """The routine, ready for other orders; instructions at the positions `others` take their other forms, in which its
    own order need not be legal."""
    made = lines(allocated)
    if others:
        made = with_others(made, others, features_of(allocated))
    return Arrangement(allocated, made, pool(allocated))


def features_of(allocated: Allocated) -> frozenset[str]:
    """What the instructions of a routine need of a CPU."""
    items = [each for each in allocated.items if isinstance(each, Instruction)]
    return frozenset(each.row.feature for each in items if each.row.feature)


def pool(allocated: Allocated) -> tuple[Register, ...]:
    """Registers that may be given out: those that the routine uses already, and those that need not be saved."""
    target = machine(allocated.routine.target)
    rules = convention(None, target.name)
    items = [item for item in allocated.items if isinstance(item, Instruction)]
    used = {each.name for item in items for each, _, _, _ in registers_in(item, target)}
    return tuple(target.registers[name] for name in rules.pool() if name in used or name in rules.changed)


def fault(line: Line, order: Order) -> str:
    """Why values, memory or flags do not allow an order; empty when they do."""
    if sorted(order) != list(range(len(line))):
        return "it does not have each instruction once"
    done = 0
    writer: dict[str, int] = {}
    for at in order:
        if line.before[at] & ~done:
            return f"{_text(line, at)} comes before what it waits for"
        for flag, wanted in line.reads[at]:
            if writer.get(flag, -1) != wanted:
                return f"{_text(line, at)} reads {flag} of another instruction"
        done |= 1 << at
        for flag in line.touches[at]:
            writer[flag] = at
    for flag, wanted in line.wanted:
        if writer.get(flag, -1) != wanted:
            return f"{flag} is lost at the end"
    return ""


def recolored(line: Line, order: Order, registers: Sequence[Register]) -> list[Register] | None:
    """A register for each web in this order, its old one where that is free; None when they do not suffice.

    Webs are taken as they begin. Where the old registers lead to no end, each is given the free one that is needed
    elsewhere soonest after it.
    """
    place = [0] * len(line)
    for position, at in enumerate(order):
        place[at] = position
    spans = [web.interval(place) for web in line.webs]
    taken: dict[Register, list[tuple[int, int]]] = {}
    free = []
    for number in sorted(range(len(spans)), key=lambda each: (spans[each][0], each)):
        web = line.webs[number]
        if not web.fixed:
            free.append(number)
            continue
        held = taken.setdefault(web.register, [])
        if held and held[-1][1] >= spans[number][0]:
            return None
        held.append(spans[number])
    return _given(line, spans, taken, free, registers, old=True) or _given(
        line, spans, taken, free, registers, old=False
    )


def _given(
    line: Line, spans: Sequence[tuple[int, int]], taken: dict[Register, list[tuple[int, int]]], free: Sequence[int],
    registers: Sequence[Register], *, old: bool,
) -> list[Register] | None:  # fmt: skip
    """Registers for the webs that are free to choose; with `old` they have their old ones where those are free."""
    made = [web.register for web in line.webs]
    busy = dict.fromkeys(registers, -2)
    for number in free:
        start, end = spans[number]
        chosen = None
        soonest = 2 * len(line) + 2
        for register in registers:
            if busy[register] >= start:
                continue
            after = _room(taken.get(register, ()), start, end, 2 * len(line) + 1)
            if old and register == made[number] and after > end:
                chosen = register
                break
            if end < after < soonest:
                chosen, soonest = register, after
        if chosen is None:
            return None
        made[number] = chosen
        busy[chosen] = end
    return made


def _room(held: Sequence[tuple[int, int]], start: int, end: int, never: int) -> int:
    """When a register is next taken after `start`; -1 when it is at that time."""
    for first, last in held:
        if last >= start:
            return first if first > end else -1
    return never


def arrange(allocated: Allocated, orders: Sequence[Order]) -> Allocated:
    """The routine with each of its straight lines in an order; AsmgenError when one is not legal."""
    return arranged(arrangement(allocated), orders)


def arranged(before: Arrangement, orders: Sequence[Order]) -> Allocated:
    """The same, of a routine that was looked at before."""
    allocated = before.allocated
    if len(orders) != len(before.lines):
        raise AsmgenError(f"{len(orders)} orders do not fit a routine of {len(before.lines)} straight lines")
    target = machine(allocated.routine.target)
    items = list(allocated.items)
    holds = list(allocated.holds)
    for line, order in zip(before.lines, orders, strict=True):
        said = fault(line, order)
        registers = None if said else recolored(line, order, before.pool)
        if registers is None:
            raise AsmgenError(f"the order is not legal: {said or 'the registers do not suffice'}")
        for position, at in enumerate(order, line.first):
            items[position] = written(line, at, registers, target)
        if holds:
            holds[line.first : line.first + len(line)] = _holds(allocated, line, order, registers, target)
    return replace(allocated, items=tuple(items), holds=tuple(holds))


def written(line: Line, at: int, registers: Sequence[Register], target: Machine) -> Instruction:
    """An instruction of a line with the registers that its webs have."""
    instruction = line.instructions[at]
    own = [registers[web] for web in line.webs_of[at]]
    return formed(line, at, replace(instruction, operands=renamed(instruction, own, target)))


def formed(line: Line, at: int, instruction: Instruction) -> Instruction:
    """An instruction of a line in the form that it takes there."""
    made = other(instruction) if at in line.others else instruction
    assert made is not None
    return made


def _holds(
    allocated: Allocated, line: Line, order: Order, registers: Sequence[Register], target: Machine
) -> Iterator[dict[Register, str]]:
    """What registers hold after each instruction, by the names that it had in the old order."""
    last: dict[int, int] = {}
    for position, at in enumerate(order):
        last.update(dict.fromkeys(line.webs_of[at], position))
    items = allocated.items
    held: dict[Register, str] = {}
    if line.first and not (isinstance(before := items[line.first - 1], Instruction) and before.row.control == "jump"):
        held = dict(allocated.holds[line.first - 1])
    elif not line.first:
        rules = convention(None, target.name)
        values = zip(rules.arguments, allocated.routine.arguments, strict=False)
        held = {target.registers[name]: value.name or str(value) for name, value in values}
    through = {web.register for web in line.webs if web.maker < 0}
    held = {register: name for register, name in held.items() if register in through or not named(register, target)}
    for position, at in enumerate(order):
        names = allocated.holds[line.first + at]
        for web in line.webs_of[at]:
            if last[web] == position and not line.webs[web].lasts:
                held.pop(registers[web], None)
        for (old, _, changes, _), web in zip(
            registers_in(line.instructions[at], target), line.webs_of[at], strict=True
        ):
            if changes and old in names and (last[web] > position or line.webs[web].lasts):
                held[registers[web]] = names[old]
        yield dict(held)


def names_of(allocated: Allocated, line: Line) -> list[str]:
    """What is called each instruction of a line in plans: its row and the values that it makes, as `show` names them,
    and which one it is of several that are alike."""
    target = machine(allocated.routine.target)
    seen: dict[str, int] = {}
    made = []
    for at, instruction in enumerate(line.instructions):
        held = allocated.holds[line.first + at] if allocated.holds else {}
        values = [held.get(each, "-") for each, _, changes, _ in registers_in(instruction, target) if changes]
        name = " ".join([instruction.row.name, *values])
        seen[name] = seen.get(name, 0) + 1
        made.append(f"{name} #{seen[name]}" if seen[name] > 1 else name)
    return made


def _text(line: Line, at: int) -> str:
    instruction = line.instructions[at]
    return instruction.row.text(instruction.operands).replace("\t", " ")
