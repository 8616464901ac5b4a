"""Loads that were added where a value is needed, moved up while their register is free: a load takes a few cycles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from asmgen.passes.machine import Machine
from asmgen.targets.row import FRAME, Instruction, Label, Memory, Register, Role, Virtual

#: How many instructions a load may be moved up past: more than any latency takes.
_FAR = 12


def load_early(
    items: Sequence[Instruction | Label], holds: Sequence[dict[Register, Virtual]], machine: Machine
) -> tuple[list[Instruction | Label], list[dict[Register, Virtual]]]:
    """Every load that allocation added, as early as its register, its address and the stores between allow."""
    made, kept = list(items), list(holds)
    for index, item in enumerate(made):
        if not isinstance(item, Instruction) or item.source is not None or not _is_load(item, machine):
            continue
        place = index
        while place > 0 and index - place < _FAR and _passes(item, made[place - 1], machine):
            place -= 1
        if place < index:
            made.insert(place, made.pop(index))
            loaded = {
                register: kept[index].get(register) for register in item.written if isinstance(register, Register)
            }
            before = kept[place - 1] if place else {}
            kept[place : index + 1] = [_with(held, loaded) for held in (before, *kept[place:index])]
    return made, kept


def _is_load(instruction: Instruction, machine: Machine) -> bool:
    """Whether it is one of the rows that allocation loads words by."""
    return instruction.row.name in (machine.load_row, "ldp", "ldur")


def _with(held: dict[Register, Virtual], loaded: Mapping[Register, Virtual | None]) -> dict[Register, Virtual]:
    """What registers hold once some are loaded; None for an address on its way."""
    return {register: value for register, value in {**held, **loaded}.items() if value is not None}


def _passes(load: Instruction, other: Instruction | Label, machine: Machine) -> bool:
    """Whether the load may stand before the other item; two such loads do not trade places."""
    if isinstance(other, Label) or other.row.control is not None:
        return False
    if other.source is None and _is_load(other, machine):
        return False
    if not set(load.written).isdisjoint((*other.read, *other.written)) or not set(load.read).isdisjoint(other.written):
        return False
    source = load.operands[-1]
    assert isinstance(source, Memory)
    return not any(
        isinstance(operand, Memory) and slot.role is not Role.IN and _may_meet(source, operand)
        for slot, operand in zip(other.row.slots, other.operands, strict=True)
    )


def _may_meet(one: Memory, two: Memory) -> bool:
    """Whether words or pairs at the two places may overlap: slots are apart from buffers and from each other."""
    if FRAME in (one.base, two.base):
        return one.base == two.base and abs(one.offset - two.offset) <= 8
    return True
