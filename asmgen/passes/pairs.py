"""arm64: two neighboring words stored or loaded by one instruction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from asmgen.passes.liveness import NEVER
from asmgen.passes.machine import Machine
from asmgen.routine import Loop, Part, Routine, Straight
from asmgen.targets.row import FRAME, Instruction, Label, Memory, Operand, Register, Virtual

if TYPE_CHECKING:
    from asmgen.passes.registers import Registers

_REACH = 24  #: how many instructions a store may wait for its neighbor


def pair_stores(routine: Routine, machine: Machine) -> Routine:
    """Stores of neighboring words become one, at the place of the later one, when nothing between touches memory."""
    if not machine.pairs:
        return routine

    def each(part: Part) -> Part:
        if isinstance(part, Straight):
            return Straight(_paired(part.instructions, machine))
        if isinstance(part, Loop):
            return replace(part, body=Straight(_paired(part.body.instructions, machine)))
        return replace(part, then=tuple(map(each, part.then)), otherwise=tuple(map(each, part.otherwise)))  # type: ignore[arg-type]

    return replace(routine, parts=tuple(map(each, routine.parts)))


def _word(instruction: Instruction, machine: Machine) -> tuple[Operand, Memory] | None:
    """The register and place of a plain store of one word."""
    if instruction.row.name != machine.store_row:
        return None
    value, place = instruction.operands
    return (value, place) if isinstance(place, Memory) and place.index is None else None


def _paired(instructions: Sequence[Instruction], machine: Machine) -> tuple[Instruction, ...]:
    done: list[Instruction] = []
    for instruction in instructions:
        later = _word(instruction, machine)
        for back in range(1, min(_REACH, len(done)) + 1) if later is not None else ():
            earlier = done[-back]
            word = _word(earlier, machine)
            if later is not None and word is not None and word[1].base == later[1].base:
                (low, place), (high, _) = sorted((word, later), key=lambda each: each[1].offset)
                offset = place.offset
                if abs(word[1].offset - later[1].offset) == 8 and machine.can_pair(offset):
                    note = " ".join(each.note for each in (earlier, instruction) if each.note)
                    instruction = Instruction(machine.rows["stp"], (low, high, place), instruction.source, note)
                    del done[-back]
                    break
                if abs(word[1].offset - later[1].offset) >= 8:
                    continue
            if _touches_memory(earlier) or earlier.row.control is not None:
                break
        done.append(instruction)
    return tuple(done)


def _touches_memory(instruction: Instruction) -> bool:
    return any(
        isinstance(operand, Memory) and slot.kind != "addr"
        for slot, operand in zip(instruction.row.slots, instruction.operands, strict=True)
    )


_SAVES = 112  #: bytes that saved registers may take below the slots


def pair_neighbors(
    items: Sequence[Instruction | Label], holds: Sequence[dict[Register, Virtual]], machine: Machine
) -> tuple[list[Instruction | Label], list[dict[Register, Virtual]]]:
    """Two loads or two stores of neighboring words, one right after the other, become one."""
    made: list[Instruction | Label] = []
    kept: list[dict[Register, Virtual]] = []
    for item, held in zip(items, holds, strict=True):
        pair = _joined(made[-1], item, machine) if made and machine.pairs else None
        if pair is None:
            made.append(item)
            kept.append(held)
        else:
            made[-1], kept[-1] = pair, held
    return made, kept


def _joined(first: Instruction | Label, second: Instruction | Label, machine: Machine) -> Instruction | None:
    if not (isinstance(first, Instruction) and isinstance(second, Instruction)) or first.row is not second.row:
        return None
    if first.row.name not in (machine.load_row, machine.store_row):
        return None
    load = first.row.name == machine.load_row
    (x, place_x), (y, place_y) = first.operands, second.operands
    assert isinstance(place_x, Memory) and isinstance(place_y, Memory)
    if place_x.base != place_y.base or abs(place_x.offset - place_y.offset) != 8 or (load and x in (y, place_x.base)):
        return None
    (low, place), (high, _) = (
        ((x, place_x), (y, place_y)) if place_x.offset < place_y.offset else ((y, place_y), (x, place_x))
    )
    if not machine.can_pair(place.offset + (_SAVES if place.base == FRAME else 0)):
        return None
    note = " ".join(each.note for each in (first, second) if each.note)
    return Instruction(machine.rows["ldp" if load else "stp"], (low, high, place), first.source or second.source, note)


def neighbor(registers: Registers, value: Virtual) -> Virtual | None:
    """The word beside a word of an input buffer that should be loaded along with it, if there is one.

    It is needed, not loaded, and leaves the most pairs among those that are still to be loaded.
    """
    context = registers.context
    if not context.machine.pairs:
        return None
    home = context.homes[value]
    assert isinstance(home.base, Virtual)
    waiting = {
        context.homes[each].offset: each
        for each in context.lives.bases.get(home.base, ())
        if each not in registers.where
        and each not in registers.slots
        and registers.uses_from(each, registers.now) != NEVER
    }
    below, above = _run(waiting, home.offset, -8), _run(waiting, home.offset, 8)
    choices = []
    for here, there, offset, first in (
        (below, above, home.offset - 8, home.offset - 8),
        (above, below, home.offset + 8, home.offset),
    ):
        if here and context.machine.can_pair(first):
            pairs = (here - 1) // 2 + there // 2
            choices.append((-pairs, registers.uses_from(waiting[offset], registers.now), waiting[offset]))
    return min(choices)[2] if choices else None


def _run(waiting: Mapping[int, Virtual], offset: int, step: int) -> int:
    """How many words in a row wait on one side."""
    count = 0
    while offset + step * (count + 1) in waiting:
        count += 1
    return count
