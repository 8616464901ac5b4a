"""Parallel moves: all values to given registers and slots at once, where parts of a routine meet."""

from __future__ import annotations

from collections.abc import Mapping

from asmgen.passes.registers import Registers
from asmgen.targets.row import FRAME, Memory, Register, Virtual


def shuffle(registers: Registers, wanted: Mapping[Register, Virtual], stored: Mapping[int, Virtual]) -> None:
    """Bring about `wanted` registers and `stored` slots; other registers are empty afterwards.

    What is needed later and named in neither must be in memory already, or be a constant. Slots in `stored` are reserved.
    """
    for register in list(registers.held):
        value = registers.held[register]
        if value not in wanted.values() and value not in stored.values():
            registers.clear(register)
    for slot, value in stored.items():
        if registers.slots.get(value) != slot:
            _store(registers, wanted, stored, slot, value)
    for register in list(registers.held):
        if registers.held[register] not in wanted.values():
            registers.clear(register)
    _move(registers, wanted)
    _load(registers, {register: value for register, value in wanted.items() if registers.held.get(register) != value})
    for register in list(registers.held):
        if register not in wanted:
            registers.clear(register)


def _store(
    registers: Registers, wanted: Mapping[Register, Virtual], stored: Mapping[int, Virtual], slot: int, value: Virtual
) -> None:
    """Store one value, after saving what is still needed out of its slot."""
    for other in [each for each, place in registers.slots.items() if place == slot and each != value]:
        if other not in registers.where and (other in wanted.values() or other in stored.values()):
            into = next((register for register, each in wanted.items() if each == other and register not in registers.held), None)
            registers.fetch(other, registers.take(other, ()) if into is None else into, alone=True)
        del registers.slots[other]
    borrowed = value not in registers.where
    if borrowed:
        registers.fetch(value, registers.take(value, ()), alone=True)
    source = registers.where[value][0]
    registers.emit(registers.context.machine.store(source, Memory(FRAME, 8 * slot), note=f"keep {value.name or value}"))
    if borrowed and value not in wanted.values():
        registers.clear(source)


def _move(registers: Registers, wanted: Mapping[Register, Virtual]) -> None:
    """Values that are in registers, to the right ones."""
    while True:
        waiting = {
            register: value
            for register, value in wanted.items()
            if registers.held.get(register) != value and value in registers.where
        }
        if not waiting:
            return
        for register, value in waiting.items():
            if register not in registers.held or _spare(registers, wanted, register):
                registers.clear(register)
                registers.move(value, register)
                break
        else:
            _break_cycle(registers, next(iter(waiting)))


def _spare(registers: Registers, wanted: Mapping[Register, Virtual], register: Register) -> bool:
    """Whether what is in the register is in another one too, in its right place if it has one there."""
    value = registers.held[register]
    return len(registers.where[value]) > 1 and wanted.get(register) != value


def _break_cycle(registers: Registers, register: Register) -> None:
    """Every register in question holds a value that must go to another one: take one out."""
    value = registers.held[register]
    free = registers.free(())
    if free:
        registers.move(value, free[0])
    elif value not in registers.slots:
        registers.spill(value)
    registers.clear(register)


def _load(registers: Registers, waiting: Mapping[Register, Virtual]) -> None:
    """Values that are in no register, constants last; neighboring words of a buffer in pairs."""
    machine, homes = registers.context.machine, registers.context.homes
    for register in waiting:
        registers.clear(register)
    left = dict(waiting)
    for register, value in waiting.items():
        if value in registers.slots and value in registers.context.lives.bases:
            registers.fetch(value, register)
            del left[register]
    for register, value in waiting.items():
        home = homes.get(value)
        if register not in left or home is None or value in registers.slots or not registers.readable(value):
            continue
        row = sorted(
            (homes[each].offset, other, each)
            for other, each in left.items()
            if each in homes and homes[each].base == home.base and each not in registers.slots
        )
        base = registers.where.get(home.base) if isinstance(home.base, Virtual) else None
        if base is None:
            continue
        while row:
            offset, low, value_low = row.pop(0)
            if row and row[0][0] == offset + 8 and machine.can_pair(offset):
                _, high, value_high = row.pop(0)
                registers.emit(machine.load_pair(low, high, Memory(base[0], offset), note=f"{value_low.name} {value_high.name}"))
                registers.put(low, value_low)
                registers.put(high, value_high)
                del left[low], left[high]
            else:
                registers.emit(machine.load(low, Memory(base[0], offset), note=value_low.name))
                registers.put(low, value_low)
                del left[low]
    for register, value in left.items():
        registers.fetch(value, register, alone=True)
