"""Bits and text of arm64 operands: each piece knows the field of the instruction word it fills and how GNU as writes
it.

An instruction word is its opcode plus the sum of its pieces' bits; the fields are those of the Arm Architecture
Reference Manual, C4.1 (Armv8 A64 instruction encodings).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from asmgen.errors import AsmgenError
from asmgen.targets.row import Label, Memory, Operand, Register, Role, Slot

IN, OUT, INOUT = Role.IN, Role.OUT, Role.INOUT


@dataclass(frozen=True)
class Piece:
    """An operand's slot, the bits it adds to the instruction word, and its text (empty when it is not printed)."""

    slot: Slot
    bits: Callable[[Any], int]
    text: Callable[[Any], str]


def encoder(opcode: int, pieces: Sequence[Piece]) -> Callable[[Sequence[Operand]], bytes]:
    """The function from physical operands to the four bytes of the instruction."""

    def encode(operands: Sequence[Operand]) -> bytes:
        word = opcode + sum(piece.bits(operand) for piece, operand in zip(pieces, operands, strict=True))
        return word.to_bytes(4, "little")

    return encode


def printer(mnemonic: str, pieces: Sequence[Piece], tail: str = "") -> Callable[[Sequence[Operand]], str]:
    """The function from operands, virtual ones too, to a line for GNU as; `tail` is a last operand that never
    varies."""

    def text(operands: Sequence[Operand]) -> str:
        words = [piece.text(operand) for piece, operand in zip(pieces, operands, strict=True)]
        listed = ", ".join([word for word in words if word] + ([tail] if tail else []))
        return f"{mnemonic} {listed}" if listed else mnemonic

    return text


# Registers


def number(operand: Operand) -> int:
    """A register's number in the instruction word, 0 to 31."""
    if not isinstance(operand, Register) or operand.number < 0:
        raise AsmgenError(f"{_name64(operand)} has no physical register yet and cannot be encoded")
    return operand.number


def _name64(operand: Operand) -> str:
    return operand.name if isinstance(operand, Register) else str(operand)


def _name32(operand: Operand) -> str:
    return "w" + operand.name[1:] if isinstance(operand, Register) else str(operand)


def register(kind: str, role: Role, *places: int, fixed: str | None = None) -> Piece:
    """A register whose number stands at these bit positions; with `fixed` the one register it is, which is not
    printed."""
    weight = sum(1 << place for place in places)
    name = _name32 if kind.startswith("r32") else _name64
    slot = Slot(kind, role, fixed=fixed, implicit=fixed is not None)
    return Piece(slot, lambda operand: number(operand) * weight, (lambda operand: "") if fixed else name)


# Immediates


def show(value: int) -> str:
    """A number as it is printed: small ones decimal, others hexadecimal."""
    return f"#{value}" if -4096 <= value <= 4096 else f"#{value:#x}"


@dataclass(frozen=True)
class Steps:
    """The numbers from `least` to `most` that are multiples of `unit`: what an immediate or offset may be."""

    least: int
    most: int
    unit: int = 1

    def __call__(self, value: int) -> bool:
        return self.least <= value <= self.most and value % self.unit == 0

    def field(self, value: int) -> int:
        """The value in units, as a field just wide enough has it: negative ones in two's complement."""
        return value // self.unit % ((self.most - self.least) // self.unit + 1)

    def __str__(self) -> str:
        return f"{'' if self.unit == 1 else f'a multiple of {self.unit} '}in {self.least} to {self.most}"


def immediate(
    legal: Callable[[int], bool],
    bits: Callable[[int], int],
    text: Callable[[int], str] = show,
    *,
    implicit: bool = False,
) -> Piece:
    """A number in the instruction word."""
    return Piece(Slot("imm", legal=legal, implicit=implicit), bits, (lambda value: "") if implicit else text)


def is_arithmetic(value: int) -> bool:
    """Whether add, sub and cmp take the number: 12 bits, or 12 bits shifted left by 12."""
    return 0 <= value < 4096 or (0 <= value < 1 << 24 and value % 4096 == 0)


#: The 12-bit immediate of add and sub, shifted by 12 where it must be.
ARITHMETIC = immediate(
    is_arithmetic,
    lambda value: value << 10 if value < 4096 else (1 << 22) + (value >> 12 << 10),
    lambda value: show(value) if value < 4096 else f"{show(value >> 12)}, lsl #12",
)


@cache
def bitmasks() -> Mapping[int, int]:
    """Every 64-bit bitmask immediate with its N:immr:imms field, in the order of the pattern's size, ones and rotation.

    A bitmask is a run of ones, neither empty nor full, rotated inside an element of 2, 4, … or 64 bits that is
    repeated.
    """
    table: dict[int, int] = {}
    for size in (2, 4, 8, 16, 32, 64):
        repeat = ((1 << 64) - 1) // ((1 << size) - 1)
        for ones in range(1, size):
            run = (1 << ones) - 1
            for turn in range(size):
                element = run >> turn | run << (size - turn) & ((1 << size) - 1)
                immediate_s = (64 - 2 * size | ones - 1) & 0x3F
                table[element * repeat] = (size == 64) << 12 | turn << 6 | immediate_s
    return table


def is_bitmask(value: int) -> bool:
    """Whether and, orr, eor take the 64-bit number as an immediate."""
    return value in bitmasks()


#: The bitmask immediate of and, orr, eor, ands.
BITMASK = immediate(is_bitmask, lambda value: bitmasks()[value] << 10)


def counted(least: int, most: int, bits: Callable[[int], int], text: Callable[[int], str] = show) -> Piece:
    """A number in [least, most]."""
    return immediate(Steps(least, most), bits, text)


def shift_amount(kind: str, least: int = 0, most: int = 63) -> Piece:
    """The amount of a shifted register operand."""
    return counted(least, most, lambda value: value << 10, lambda value: f"{kind} {show(value)}")


#: The halfword of movz, movn, movk and the position it is shifted to.
HALFWORD = counted(0, 0xFFFF, lambda value: value << 5)
POSITION = immediate(
    Steps(0, 48, 16),
    lambda value: value // 16 << 21,
    lambda value: f"lsl {show(value)}" if value else "",
)


# Memory


def address(memory: Memory, mark: str = "") -> str:
    """`[base, #offset]`, an offset of 0 left out unless a mark follows."""
    offset = f", {show(memory.offset)}" if memory.offset or mark else ""
    return f"[{_name64(memory.base)}{offset}]{mark}"


def memory(kind: str, role: Role, legal: Steps, place: int, mark: str = "") -> Piece:
    """base + offset, the offset in units of `legal` at a bit position.

    `mark` follows the text: `!` where the base takes the address.
    """

    def bits(operand: Memory) -> int:
        return (number(operand.base) << 5) + (legal.field(operand.offset) << place)

    return Piece(Slot(kind, role, legal=legal), bits, lambda operand: address(operand, mark))


# Places


def label(width: int, place: int) -> Piece:
    """A distance in words, signed, in a field of `width` bits."""
    reach = 1 << width + 1

    def bits(distance: int) -> int:
        if not -reach <= distance < reach or distance % 4:
            raise AsmgenError(
                f"the label is {distance} bytes away, the instruction reaches {-reach} to {reach - 4} in steps of 4",
                hint="make the routine shorter, or call the part that is too long",
            )
        return (distance // 4) % (1 << width) << place

    return Piece(Slot("label"), bits, lambda operand: operand.name if isinstance(operand, Label) else f".{operand:+}")
