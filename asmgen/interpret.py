"""Run a routine on Python integers, by its rows' meanings: before allocation, after it, and as finished code.

What a machine would silently let pass is an error here: reading a register never written, a flag left undefined,
memory or a slot never stored, and on return a preserved register or stack pointer that changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from asmgen.errors import AsmgenError
from asmgen.routine import Allocated, Code, Item, Loop, Part, Routine, Straight
from asmgen.targets import amd64, arm64
from asmgen.targets.conventions import convention as convention_named
from asmgen.targets.row import FRAME, Instruction, Integers, Label, Memory, Operand, Register, Role, Slot, Tied, Virtual

_WORD = 2**64 - 1
_INTEGERS = Integers()

#: Where slots lie when code has no frame yet, and the stack pointer at entry when it has one.
_SLOTS, _STACK = 1 << 60, 1 << 61

_REGISTERS = {"amd64": amd64.REGISTERS, "arm64": arm64.REGISTERS}

#: Registers that read as zero.
_ZERO = frozenset({"xzr"})
_STACK_POINTERS = {"amd64": "rsp", "arm64": "sp"}


@dataclass(frozen=True)
class Result:
    """What a run leaves: memory by byte address (multiples of 8 to 64-bit words), the returned word, and instructions
    done.
    """

    memory: Mapping[int, int]
    returned: int | None
    steps: int


@dataclass
class Machine:
    """Registers, flags and memory; a flag may be a function that computes it."""

    memory: dict[int, int]
    registers: dict[Register | Virtual, int] = field(default_factory=dict)
    flags: dict[str, Any] = field(default_factory=dict)
    steps: int = 0

    def step(self, instruction: Instruction) -> int:
        """Do one instruction; 1 when it is a branch that is taken or a jump, else 0."""
        row = instruction.row
        self.steps += 1
        places = list(zip(row.slots, instruction.operands, strict=True))
        inputs = [self.read(slot, operand, instruction) for slot, operand in places if slot.role is not Role.OUT]
        flags = {name: self.flag(name, instruction) for name in row.reads}
        addresses = [self.address(operand, instruction) if isinstance(operand, Memory) else 0 for _, operand in places]
        outcome = row.meaning(_INTEGERS, inputs, flags)
        values = iter(outcome.values)
        for (slot, operand), address in zip(places, addresses, strict=True):
            if slot.role is not Role.IN:
                self.write(slot, operand, address, next(values))
        for name in row.flags_touched:
            self.flags.pop(name, None)
        for name in row.writes:
            self.flags[name] = outcome.flags[name]
        return 1 if row.control == "jump" else int(next(values)) if row.control == "branch" else 0

    def flag(self, name: str, instruction: Instruction) -> int:
        """A flag's value; an error when nothing defined it."""
        if name not in self.flags:
            raise _fault(instruction, f"reads flag {name}, which is undefined here")
        value = self.flags[name]
        if callable(value):
            value = self.flags[name] = value()
        return int(value)

    def register(self, register: Register | Virtual, instruction: Instruction) -> int:
        """A register's value; an error when it was never written."""
        if isinstance(register, Register) and register.name in _ZERO:
            return 0
        if register not in self.registers:
            raise _fault(instruction, f"reads {getattr(register, 'name', '') or register}, which was never written")
        return self.registers[register]

    def address(self, memory: Memory, instruction: Instruction) -> int:
        """The address of a memory operand."""
        total = self.register(memory.base, instruction) + memory.offset
        if memory.index is not None:
            total += memory.scale * self.register(memory.index, instruction)
        return total & _WORD

    def read(self, slot: Slot, operand: Operand, instruction: Instruction) -> int:
        """The input that an operand gives to a meaning."""
        if isinstance(operand, Memory):
            address = self.address(operand, instruction)
            return address if slot.kind == "addr" else self.load(address, _bits(slot), instruction)
        if isinstance(operand, Tied):
            operand = operand.source
        if isinstance(operand, (Register, Virtual)):
            return self.register(operand, instruction) & ((1 << _bits(slot)) - 1)
        return operand if isinstance(operand, int) else 0

    def write(self, slot: Slot, operand: Operand, address: int, value: int) -> None:
        """Store what a meaning gives; 8 and 16 bits leave the rest of a register as it was, 32 clear it."""
        bits = _bits(slot)
        if isinstance(operand, Memory):
            self.store(address, bits, value)
            return
        if isinstance(operand, Tied):
            self.registers[operand.target] = self.registers[operand.source]
            operand = operand.target
        assert isinstance(operand, (Register, Virtual)), operand
        if isinstance(operand, Register) and operand.name in _ZERO:
            return
        if not 0 <= value < 1 << bits:
            raise ValueError(f"{operand} would get {value:#x}, more than {bits} bits")
        if bits < 32:
            old = self.registers.get(operand, _POISON)
            value |= old >> bits << bits
        self.registers[operand] = value

    def load(self, address: int, bits: int, instruction: Instruction | None = None) -> int:
        """A little-endian number in memory."""
        if address % 8 == 0 and bits % 64 == 0:
            places = range(address, address + bits // 8, 8)
            if any(place not in self.memory for place in places):
                raise _fault(instruction, f"reads memory at {address:#x}, where nothing was stored")
            return sum(self.memory[place] << 8 * (place - address) for place in places)
        value = 0
        for index in range(bits // 8):
            word, place = divmod(address + index, 8)
            if 8 * word not in self.memory:
                raise _fault(instruction, f"reads memory at {address + index:#x}, where nothing was stored")
            value |= (self.memory[8 * word] >> 8 * place & 0xFF) << 8 * index
        return value

    def store(self, address: int, bits: int, value: int) -> None:
        """The same number into memory; the rest of words never stored to is poison."""
        if address % 8 == 0 and bits % 64 == 0:
            for index in range(bits // 64):
                self.memory[address + 8 * index] = value >> 64 * index & _WORD
            return
        for index in range(bits // 8):
            word, place = divmod(address + index, 8)
            old = self.memory.get(8 * word, _POISON)
            self.memory[8 * word] = old & ~(0xFF << 8 * place) | (value >> 8 * index & 0xFF) << 8 * place


#: What lies in the parts of registers and words that nothing has written.
_POISON = 0xA5C3_96E1_7B2D_84F0


def _bits(slot: Slot) -> int:
    """The width of a register or memory slot."""
    return int("".join(letter for letter in slot.kind if letter.isdigit()))


def _fault(instruction: Instruction | None, what: str) -> AsmgenError:
    """An error of an instruction, or of the routine's words of input buffers."""
    if instruction is None:
        return AsmgenError(f"the routine {what}")
    return AsmgenError(f"{instruction.row.name} {what}", source=instruction.source)


def run(
    program: Routine | Allocated | Code,
    arguments: Sequence[int],
    memory: Mapping[int, int],
    *,
    convention: str | None = None,
    limit: int = 1_000_000,
) -> Result:
    """Call the program with these arguments over this memory (multiples of 8 to words), at most `limit` instructions.

    Of finished code, preserved registers are compared at the return, too.
    """
    if isinstance(program, Routine):
        return _run_routine(program, arguments, memory, limit)
    target = program.target if isinstance(program, Code) else program.routine.target
    names, rules = _REGISTERS[target], convention_named(convention, target)
    machine = Machine(dict(memory))
    places = zip(rules.arguments, arguments, strict=False)
    machine.registers |= {names[name]: value for name, value in places}
    kept: dict[Register | Virtual, int] = {}
    if isinstance(program, Code):
        link = ("x30",) if target == "arm64" else ()
        kept = {names[name]: _POISON ^ index for index, name in enumerate(dict.fromkeys((*rules.preserved, *link)))}
        kept[names[_STACK_POINTERS[target]]] = _STACK
        machine.registers |= kept
        for index in range(len(rules.arguments), len(arguments)):
            machine.memory[_STACK + rules.stack_argument(index)] = arguments[index]
        returns = program.signature.returns_bit
    else:
        machine.registers[FRAME] = _SLOTS
        for index in range(len(rules.arguments), len(arguments)):
            machine.memory[_SLOTS + 8 * (len(rules.arguments) - 1 - index)] = arguments[index]
        returns = program.routine.returns is not None
    _follow(machine, program.items, limit)
    for register, value in kept.items():
        found = machine.registers[register]
        if found != value:
            raise AsmgenError(f"{register.name} is {found:#x} at the return, not {value:#x} as at the call")
    returned = machine.registers[names[rules.result]] if returns else None
    return Result(_outside(machine.memory), returned, machine.steps)


def _outside(memory: Mapping[int, int]) -> dict[int, int]:
    """Memory without stack and slots."""
    return {address: word for address, word in memory.items() if address < _SLOTS - 4096}


def _follow(machine: Machine, items: Sequence[Item], limit: int) -> None:
    """From the first item to a return or the end, through labels and jumps."""
    places = {item.name: index for index, item in enumerate(items) if isinstance(item, Label)}
    at = 0
    while at < len(items):
        item = items[at]
        at += 1
        if not isinstance(item, Instruction):
            continue
        if machine.steps >= limit:
            raise AsmgenError(f"no end after {limit} instructions", source=item.source)
        if machine.step(item):
            there = next(operand for operand in item.operands if isinstance(operand, Label))
            at = places[there.name]
        if item.row.control == "ret":
            return
        if item.row.control == "call":
            raise _fault(item, "calls another routine, which has no meaning here")


def _run_routine(routine: Routine, arguments: Sequence[int], memory: Mapping[int, int], limit: int) -> Result:
    machine = Machine(dict(memory))
    for virtual, value in zip(routine.arguments, arguments, strict=True):
        machine.registers[virtual] = value
    machine.registers |= {virtual: value & _WORD for virtual, value in routine.constants.items()}
    for virtual, home in routine.homes.items():
        machine.registers[virtual] = machine.load(machine.registers[home.base] + home.offset, 64)
    _parts(machine, routine.parts, limit)
    returned = None if routine.returns is None else machine.registers[routine.returns]
    return Result(machine.memory, returned, machine.steps)


def _parts(machine: Machine, parts: Iterable[Part], limit: int) -> None:
    for part in parts:
        if isinstance(part, Straight):
            for instruction in part.instructions:
                machine.step(instruction)
        elif isinstance(part, Loop):
            _loop(machine, part, limit)
        else:
            taken = machine.registers[part.count] != 0
            _parts(machine, part.then if taken else part.otherwise, limit)
            _copy(machine, part.result, part.then_values if taken else part.otherwise_values)


def _loop(machine: Machine, loop: Loop, limit: int) -> None:
    count = machine.registers[loop.count]
    if not 0 < count <= limit:
        raise AsmgenError(f"a loop of {count} passes: between 1 and {limit} can be run")
    _copy(machine, loop.state, loop.initial)
    for done in range(count):
        if done:
            _copy(machine, loop.state, loop.next)
        _parts(machine, [loop.body], limit)
    _copy(machine, loop.result, loop.next)


def _copy(machine: Machine, into: Sequence[Virtual], values: Sequence[Virtual]) -> None:
    """All at once."""
    machine.registers |= dict(zip(into, [machine.registers[value] for value in values], strict=True))
