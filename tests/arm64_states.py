"""arm64 states: what a row's meaning makes of one, edge-biased ones to begin with, and what unicorn calls them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import cache
from typing import Any

from unicorn import arm64_const

from asmgen.targets import arm64
from asmgen.targets.row import Instruction, Integers, Memory, Operand, Register, Role, Slot

CODE, DATA_START, MIDDLE, DATA_SIZE = 0x10000, 0x200000, 0x204000, 0x20000
NAMES = [*(f"x{i}" for i in range(31)), "sp"]
UNICORN = {name: getattr(arm64_const, f"UC_ARM64_REG_{name.upper()}") for name in [*NAMES, "nzcv"]}
SIZES = {"m8": 1, "m32": 4, "m64": 8, "m128": 16}
EDGES = [
    0,
    1,
    2,
    19,
    (1 << 31) - 1,
    1 << 31,
    (1 << 32) - 1,
    1 << 32,
    (1 << 51) - 1,
    1 << 51,
    (1 << 63) - 1,
    1 << 63,
    (1 << 64) - 2,
]


@cache
def uses(instruction: Instruction) -> list[str]:
    return sorted({register.name for register in (*instruction.read, *instruction.written)} - {"xzr", "sp"})


class State:
    """Registers, flags and the bytes around the address that an instruction uses."""

    def __init__(self, random_: random.Random) -> None:
        self.registers = {name: word(random_) for name in NAMES}
        self.flags = dict.fromkeys("NZCV", 0)
        self.around, self.start = bytes(48), MIDDLE
        self.registers["sp"] = MIDDLE

    def renew(self, random_: random.Random, instruction: Instruction) -> dict[str, int]:
        """Draw anew what the instruction uses, one register more, and the flags; gives what unicorn has to be told."""
        self.flags = {flag: random_.getrandbits(1) for flag in "NZCV"}
        self.around = random_.randbytes(48)
        drawn = {name: word(random_) for name in [random_.choice(NAMES[:-1]), *uses(instruction)]}
        if random_.randrange(3) == 0:  # zeros, carries and signs that independent values would seldom give
            drawn = dict.fromkeys(drawn, random_.choice([0, (1 << 64) - 1, word(random_)]))
        drawn["sp"] = MIDDLE + 16 * random_.randrange(64)
        for operand in instruction.operands:
            if isinstance(operand, Memory):
                assert isinstance(operand.base, Register)
                if operand.base is not arm64.SP:
                    drawn[operand.base.name] = MIDDLE + random_.randrange(1024)
                self.start = drawn[operand.base.name] + operand.offset - 16
        self.registers |= drawn
        return drawn | {"nzcv": self.nzcv}

    def read(self, operand: Operand, slot: Slot) -> Any:
        if isinstance(operand, Register):
            value = 0 if operand.name == "xzr" else self.registers[operand.name]
            return value & 0xFFFFFFFF if slot.kind.startswith("r32") else value
        if isinstance(operand, Memory):
            at = self.address(operand)
            return int.from_bytes(self.around[at : at + SIZES[slot.kind]], "little")
        return operand

    def address(self, memory: Memory) -> int:
        """Where the memory lies in `around`."""
        assert isinstance(memory.base, Register)
        return self.registers[memory.base.name] + memory.offset - self.start

    def write(self, operand: Operand, slot: Slot, value: int) -> None:
        width = 8 * SIZES[slot.kind] if isinstance(operand, Memory) else 32 if slot.kind.startswith("r32") else 64
        assert isinstance(value, int) and 0 <= value < 1 << width, f"{value:#x} does not fit {slot}"
        if isinstance(operand, Register) and operand.name != "xzr":
            self.registers[operand.name] = value
        if isinstance(operand, Memory):
            at, size = self.address(operand), SIZES[slot.kind]
            self.around = self.around[:at] + value.to_bytes(size, "little") + self.around[at + size :]

    def execute(self, instruction: Instruction) -> None:
        """The row's meaning, on this state."""
        row = instruction.row
        pairs = list(zip(instruction.operands, row.slots, strict=True))
        inputs = [self.read(operand, slot) for operand, slot in pairs if slot.role is not Role.OUT]
        outcome = row.meaning(Integers(), inputs, {flag: self.flags[flag] for flag in row.reads})
        assert set(outcome.flags) == row.writes
        flags = {flag: value() if callable(value) else value for flag, value in outcome.flags.items()}
        assert all(value in (0, 1) for value in flags.values())
        targets = [(operand, slot) for operand, slot in pairs if slot.role is not Role.IN]
        # Memory first: a base that moves must not move the access.
        for (operand, slot), value in sorted(
            zip(targets, outcome.values, strict=True), key=lambda x: not isinstance(x[0][0], Memory)
        ):
            self.write(operand, slot, value)
        self.flags |= flags

    @property
    def nzcv(self) -> int:
        return sum(self.flags[flag] << 31 - i for i, flag in enumerate("NZCV"))

    def values(self, names: Sequence[str]) -> list[int]:
        return [self.nzcv if name == "nzcv" else self.registers[name] for name in names]


def word(random_: random.Random) -> int:
    """A word near an edge, or any word, or a short one."""
    kind = random_.randrange(4)
    if kind == 0:
        return random_.choice(EDGES)
    if kind == 1:
        return (random_.choice(EDGES) + random_.randrange(-3, 4)) % (1 << 64)
    return random_.getrandbits(64) >> (random_.randrange(64) if kind == 2 else 0)
