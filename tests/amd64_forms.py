"""Forms of every amd64 instruction, for the tests: registers, corners of immediates, kinds of addresses."""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import pytest

from asmgen.errors import AsmgenError
from asmgen.targets.amd64 import FIXED, REGISTERS, ROWS, ins
from asmgen.targets.row import Instruction, Label, Memory, Operand, Row, Slot

SEED = 20260401
LONG = bool(os.environ.get("ASMGEN_LONG"))

RAX, RCX, RSP, RBP, R8, R9, R12, R13, R15 = (REGISTERS[name] for name in "rax rcx rsp rbp r8 r9 r12 r13 r15".split())

each_row = pytest.mark.parametrize("row", ROWS.values(), ids=list(ROWS))


@dataclass(frozen=True)
class Case:
    """An instruction with its bytes; `text` is what an assembler is given."""

    instruction: Instruction
    code: bytes

    @property
    def text(self) -> str:
        return self.instruction.row.text(self.instruction.operands)


OFFSETS = (0, 1, -1, 8, 127, 128, -128, -129, 2**31 - 1, -(2**31))
ADDRESSES = [Memory(base, offset) for offset in OFFSETS for base in REGISTERS.values()] + [
    Memory(base, offset, index, scale)
    for scale in (1, 2, 4, 8)
    for offset in (0, 8, -128, 128)
    for base in (RAX, RSP, RBP, R8, R12, R13)
    for index in (RCX, RBP, R12, R13, R15, RAX)
]
EDGES = sorted({side * (1 << bit) + by for bit in (0, 7, 8, 31, 32, 63, 64) for side in (1, -1) for by in (-1, 0, 1)})
DISTANCES = (0, 1, 2, -125, -126, -127, 128, 129, 130, 131, 1000, -1000, 2**30, -(2**30))


def choices(slot: Slot, start: int) -> list[Operand]:
    """What may stand in a slot, with the corners; of addresses every fifth, from the one numbered `start` on."""
    if slot.fixed is not None:
        return [FIXED[slot.fixed]]
    if slot.kind.startswith("r"):
        return [register for register in REGISTERS.values() if register != RSP or slot.kind.endswith("s")]
    if slot.kind.startswith("m") or slot.kind == "addr":
        return list(ADDRESSES[start % 5 :: 1 if LONG else 5])
    if slot.kind == "imm":
        assert slot.legal is not None
        edges = {*EDGES, 0xFF80, 0xFFFFFF7F, 0xFFFFFF80, 0x1234567, *range(-1, 64)}
        return [value for value in sorted(edges) if slot.legal(value)]
    assert slot.kind == "label", f"no test knows operands of kind {slot.kind}"
    return [Label(f".{distance:+d}") for distance in DISTANCES]


def encode(instruction: Instruction) -> bytes:
    """The bytes; labels are `.+distance`."""
    operands = [int(o.name[1:]) if isinstance(o, Label) else o for o in instruction.operands]
    return instruction.row.encode(operands)


@cache
def cases(row: Row, start: int) -> tuple[Case, ...]:
    """Every choice of every operand, the other operands at random; each immediate also with rax, rcx and r9."""
    rng = random.Random(f"{SEED} {row.name}")
    options = [choices(slot, start) for slot in row.slots]
    wanted = [
        [value if k == position else None for k in range(len(options))]
        for position, values in enumerate(options)
        for value in values
    ] or [[]]
    if len(options) == 2 and row.slots[1].kind == "imm":
        wanted += [[o, value] for value in options[1] for o in (RAX, RCX, R9) if o in options[0]]
    found = dict.fromkeys(filled(row, rng, options, want) for want in wanted)
    return tuple(Case(instruction, encode(instruction)) for instruction in found)


def filled(
    row: Row, rng: random.Random, options: Sequence[Sequence[Operand]], want: Sequence[Operand | None]
) -> Instruction:
    """An instruction with the operands wanted, those that are None at random among the legal ones."""
    while True:
        operands = [rng.choice(values) if o is None else o for values, o in zip(options, want, strict=True)]
        try:
            return ins(row.name, *operands)
        except AsmgenError as error:  # the same register twice where two results go
            assert "two results" in str(error)


def cases_of(name: str) -> tuple[Case, ...]:
    """The cases of a row, addresses chosen by its place in the table, so that rows together see them all."""
    return cases(ROWS[name], list(ROWS).index(name))


def all_cases() -> list[Case]:
    return [case for name in ROWS for case in cases_of(name)]


