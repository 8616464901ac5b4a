"""Parallel moves: all values to given registers and slots at once, where parts of a routine meet."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set

from asmgen.passes.registers import Registers
from asmgen.targets.row import FRAME, Memory, Register, Virtual


def shuffle(registers: Registers, wanted: Mapping[Register, Virtual], stored: Mapping[int, Virtual]) -> None:
    """Bring about `wanted` registers and `stored` slots; other registers are empty afterwards.

    What is needed later and named in neither must be in memory already, or be a constant. Slots in `stored` are
    reserved.
    """
    pointers = _pointers(registers, (*wanted.values(), *stored.values()))
    sources = {*wanted.values(), *stored.values(), *pointers}
    _keep(registers, sources)
    for slot, value in stored.items():
        if registers.slots.get(value) != slot:
            _free_slot(registers, wanted, slot, value, sources)
            _store(registers, slot, value, kept=value in wanted.values())
    _keep(registers, {*wanted.values(), *pointers})
    _move(registers, wanted)
    _load(registers, {register: value for register, value in wanted.items() if registers.held.get(register) != value})
    _keep(registers, set(wanted.values()))


def _pointers(registers: Registers, values: Iterable[Virtual]) -> set[Virtual]:
    """Pointers through which some of the values may have to be read."""
    homes, found = registers.context.homes, set()
    for value in values:
        if value in homes and value not in registers.slots and registers.open:
            base = homes[value].base
            assert isinstance(base, Virtual)
            found.add(base)
    return found


def _keep(registers: Registers, values: Set[Virtual]) -> None:
    """Empty all registers that hold something else."""
    for register in list(registers.held):
        if registers.held[register] not in values:
            registers.clear(register)


def _free_slot(
    registers: Registers, wanted: Mapping[Register, Virtual], slot: int, value: Virtual, sources: Set[Virtual]
) -> None:
    """Before the value is stored in the slot: what lies there and is still needed comes to a register."""
    for other in [each for each, place in registers.slots.items() if place == slot and each != value]:
        if other in sources and other not in registers.where:
            own = (register for register, each in wanted.items() if each == other and register not in registers.held)
            registers.fetch(other, next(own, None) or registers.take(other, ()), alone=True)
        del registers.slots[other]


def _store(registers: Registers, slot: int, value: Virtual, *, kept: bool) -> None:
    """Store the value in the slot; unless `kept`, it leaves the register that it is loaded into for that."""
    borrowed = value not in registers.where
    if borrowed:
        registers.fetch(value, registers.take(value, ()), alone=True)
    source = registers.where[value][0]
    registers.emit(registers.context.machine.store(source, Memory(FRAME, 8 * slot), note=f"keep {value.name or value}"))
    registers.slots.setdefault(value, slot)
    if borrowed and not kept:
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
            _take_out(registers, next(iter(waiting)))


def _spare(registers: Registers, wanted: Mapping[Register, Virtual], register: Register) -> bool:
    """Whether what is in the register is in another one too, in its right place if it has one there."""
    value = registers.held[register]
    return len(registers.where[value]) > 1 and wanted.get(register) != value


def _take_out(registers: Registers, register: Register, avoid: Iterable[Register] = ()) -> None:
    """Empty a register whose value must go to another one that is not empty yet, or through which words are to be
    read.
    """
    value = registers.held[register]
    if len(registers.where[value]) == 1:
        free = registers.free(list(avoid))
        if free:
            registers.move(value, free[0])
        elif value not in registers.slots:
            registers.spill(value)
    registers.clear(register)


def _load(registers: Registers, waiting: Mapping[Register, Virtual]) -> None:
    """Values that are in no register, constants last; neighboring words of a buffer in pairs."""
    machine, homes = registers.context.machine, registers.context.homes
    for register in waiting:
        if register in registers.held:
            _take_out(registers, register, waiting)
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
                registers.emit(
                    machine.load_pair(low, high, Memory(base[0], offset), note=f"{value_low.name} {value_high.name}")
                )
                registers.put(low, value_low)
                registers.put(high, value_high)
                del left[low], left[high]
            else:
                registers.emit(machine.load(low, Memory(base[0], offset), note=value_low.name))
                registers.put(low, value_low)
                del left[low]
    for register, value in left.items():
        registers.fetch(value, register, alone=True)
