"""Where values are at a place that control comes to from two sides: the head of a loop, the end of a branch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from asmgen.passes.liveness import NEVER
from asmgen.passes.registers import Registers
from asmgen.passes.shuffle import shuffle
from asmgen.targets.row import Register, Virtual


@dataclass(frozen=True)
class Meeting:
    """Registers and slots by the names that values have after the meeting; a value may have both."""

    registers: Mapping[Register, Virtual]
    slots: Mapping[Virtual, int]


def shuffle_to(registers: Registers, meeting: Meeting, known_as: Mapping[Virtual, Virtual]) -> None:
    """Bring everything to where the meeting wants it; `known_as` has the names that differ on this side."""
    registers.reserved |= frozenset(meeting.slots.values())
    shuffle(
        registers,
        {register: known_as.get(value, value) for register, value in meeting.registers.items()},
        {slot: known_as.get(value, value) for value, slot in meeting.slots.items()},
    )


def meet(registers: Registers, meeting: Meeting) -> None:
    """Values are where the meeting says, under their names there, and nowhere else."""
    registers.held, registers.where = {}, {}
    for register, value in meeting.registers.items():
        registers.put(register, value)
    registers.slots = dict(meeting.slots)


def pledge(registers: Registers, meeting: Meeting, position: int) -> None:
    """Keep pointers to homes up to where they are wanted again, even while all their words are in registers."""
    for value in (*meeting.registers.values(), *meeting.slots):
        if value in registers.context.lives.bases:
            registers.pledged[value] = position


def outlives(registers: Registers, value: Virtual, position: int) -> bool:
    """Whether the value is needed from the position on, or is a pointer to words that are: they may be read again."""
    if registers.alive(value, position):
        return True
    homes = registers.context.lives.bases.get(value, ())
    return registers.open and any(registers.uses_from(home, position) != NEVER for home in homes)


def slot_for(registers: Registers, value: Virtual, taken: Iterable[int]) -> int:
    """The slot that the value has, unless it is taken; otherwise a new one."""
    own, taken = registers.slots.get(value), {*taken, *registers.reserved}
    if own is not None and own not in taken:
        return own
    taken |= set(registers.slots.values())
    return next(slot for slot in range(len(taken) + 1) if slot not in taken)
