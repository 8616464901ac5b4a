"""Bytes of amd64 instructions: REX and VEX prefixes, ModRM, SIB, displacements and immediates.

Written from the instruction formats of Intel's Software Developer's Manual, volume 2, chapter 2. Where two encodings
exist the one that GNU as picks is made, so that our bytes are those of the assembled `.S`. Operands are physical; a
register or memory operand stands for itself, an int in the `reg` place is the opcode's extension digit (`/0` to `/7` in
the manual).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from asmgen.errors import AsmgenError
from asmgen.targets.row import FRAME, Memory, Operand, Register

Encode = Callable[[Sequence[Operand]], bytes]

_NEEDS_SIB = 4  # rsp's number in the rm field says that a SIB byte follows
_NO_INDEX = 4  # rsp's number in the index field says that there is none
_NEEDS_OFFSET = 5  # rbp's number as base without displacement means rip or no base


def little(value: Operand, size: int) -> bytes:
    """`value` in `size` bytes, little endian, two's complement; unsigned values that fill the size are taken too."""
    assert isinstance(value, int)
    return (value & ((1 << 8 * size) - 1)).to_bytes(size, "little")


def number(operand: Operand) -> int:
    """A register's number, 0 to 15, or an int as it is."""
    if isinstance(operand, int):
        return operand
    if operand == FRAME:
        raise AsmgenError("a spill slot has no bytes before the frame is laid out")
    if isinstance(operand, Register):
        return operand.number
    raise AsmgenError(f"{operand} has no bytes before registers are allocated")


def _address(memory: Memory) -> tuple[int, bytes, int, int]:
    """(mod and rm fields, SIB and displacement, base number, index number) of a memory operand."""
    base = number(memory.base)
    index = _NO_INDEX if memory.index is None else number(memory.index)
    if memory.offset == 0 and base & 7 != _NEEDS_OFFSET:
        mod, displacement = 0, b""
    elif -128 <= memory.offset <= 127:
        mod, displacement = 1, little(memory.offset, 1)
    else:
        mod, displacement = 2, little(memory.offset, 4)
    if memory.index is None and base & 7 != _NEEDS_SIB:
        return mod << 6 | base & 7, displacement, base, 0
    sib = (memory.scale.bit_length() - 1) << 6 | (index & 7) << 3 | base & 7
    return mod << 6 | _NEEDS_SIB, bytes([sib]) + displacement, base, index


def _modrm(reg: Operand, rm: Operand) -> tuple[int, bytes]:
    """(REX bits R, X, B; ModRM byte and what follows) for a register field and a register or memory operand."""
    field = number(reg)
    if isinstance(rm, Memory):
        mode, rest, base, index = _address(rm)
    else:
        base, index = number(rm), 0
        mode, rest = 0xC0 | base & 7, b""
    return field >> 3 << 2 | index >> 3 << 1 | base >> 3, bytes([mode | (field & 7) << 3]) + rest


def legacy(
    opcode: bytes, reg: Operand, rm: Operand, *, wide: bool = False, prefix: bytes = b"", byte: Operand | None = None
) -> bytes:
    """[prefix] [REX] opcode ModRM […]; `wide` sets REX.W, `byte` is the operand used by its low 8 bits, if any.

    spl, bpl, sil and dil exist only with a REX prefix, be it empty; without one their numbers mean ah to bh.
    """
    bits, rest = _modrm(reg, rm)
    bits |= wide << 3
    needed = bits != 0 or (isinstance(byte, Register) and 4 <= byte.number <= 7)
    return prefix + (bytes([0x40 | bits]) if needed else b"") + opcode + rest


def in_opcode(opcode: bytes, register: Operand, *, wide: bool = False) -> bytes:
    """[REX] opcode, the register's number in the low three bits of the opcode's last byte."""
    bits = wide << 3 | number(register) >> 3
    return (bytes([0x40 | bits]) if bits else b"") + opcode[:-1] + bytes([opcode[-1] | number(register) & 7])


def vex(opcode: int, reg: Operand, vvvv: Operand, rm: Operand, *, pp: int, opcode_map: int) -> bytes:
    """The three-byte VEX form with W = 1 and L = 0, as all BMI instructions on 64 bits use it; unused, `vvvv` is 0."""
    bits, rest = _modrm(reg, rm)
    head = bytes([0xC4, (bits ^ 7) << 5 | opcode_map, 0x80 | (number(vvvv) ^ 15) << 3 | pp, opcode])
    return head + rest


def form(
    *opcode: int,
    rm: int,
    reg: int | None = None,
    digit: int = 0,
    wide: bool = True,
    prefix: bytes = b"",
    byte: int | None = None,
    imm8: int | None = None,
) -> Encode:
    """A legacy form with ModRM, on 64 bits when `wide`."""

    def encode(o: Sequence[Operand]) -> bytes:
        head = legacy(
            bytes(opcode),
            digit if reg is None else o[reg],
            o[rm],
            wide=wide,
            prefix=prefix,
            byte=None if byte is None else o[byte],
        )
        return head if imm8 is None else head + little(o[imm8], 1)

    return encode


def vex_form(opcode: int, *, reg: int, rm: int, pp: int, vvvv: int | None = None, imm8: int | None = None) -> Encode:
    """A VEX form on 64 bits: map 0F38, or 0F3A with an immediate; `pp` is 0 to 3 for no prefix, 66, F3, F2."""

    def encode(o: Sequence[Operand]) -> bytes:
        third = 0 if vvvv is None else o[vvvv]
        head = vex(opcode, o[reg], third, o[rm], pp=pp, opcode_map=2 if imm8 is None else 3)
        return head if imm8 is None else head + little(o[imm8], 1)

    return encode


def register_form(*opcode: int, wide: bool = False, imm: int = 0) -> Encode:
    """The register in the opcode, then the second operand in `imm` bytes."""

    def encode(o: Sequence[Operand]) -> bytes:
        return in_opcode(bytes(opcode), o[0], wide=wide) + (little(o[1], imm) if imm else b"")

    return encode


def plain(*code: int) -> Encode:
    """An instruction without explicit operands."""
    return lambda o: bytes(code)


def _fits_byte(value: Operand, *, wide: bool) -> bool:
    """Whether an immediate is the sign extension of its low byte, in the operation's width."""
    assert isinstance(value, int)
    return -128 <= value <= 127 or (not wide and value >= 2**32 - 128)


def arithmetic_immediate(digit: int, wide: bool) -> Encode:
    """add to cmp: a sign-extended byte when it fits, else 32 bits, the accumulator's shorter form for rax."""

    def encode(o: Sequence[Operand]) -> bytes:
        if _fits_byte(o[1], wide=wide):
            return legacy(b"\x83", digit, o[0], wide=wide) + little(o[1], 1)
        return _accumulator(digit << 3 | 5, 0x81, digit, o, wide)

    return encode


def add_byte(o: Sequence[Operand]) -> bytes:
    """add of a number to a byte, with the accumulator's shorter form for al."""
    if isinstance(o[0], Register) and o[0].number == 0:
        return b"\x04" + little(o[1], 1)
    return legacy(b"\x80", 0, o[0], wide=False, byte=o[0]) + little(o[1], 1)


def byte_pair(opcode: int) -> Encode:
    """A form on the low bytes of two registers, the second in the reg field."""

    def encode(o: Sequence[Operand]) -> bytes:
        told = next((each for each in o if isinstance(each, Register) and 4 <= each.number <= 7), None)
        return legacy(bytes([opcode]), o[1], o[0], byte=told)

    return encode


def test_immediate(wide: bool) -> Encode:
    """test: always 32 bits."""
    return lambda o: _accumulator(0xA9, 0xF7, 0, o, wide)


def _accumulator(short: int, opcode: int, digit: int, o: Sequence[Operand], wide: bool) -> bytes:
    if isinstance(o[0], Register) and o[0].number == 0:
        return (b"\x48" if wide else b"") + bytes([short]) + little(o[1], 4)
    return legacy(bytes([opcode]), digit, o[0], wide=wide) + little(o[1], 4)


def multiply_immediate(o: Sequence[Operand]) -> bytes:
    """imul with three operands."""
    if _fits_byte(o[2], wide=True):
        return legacy(b"\x6b", o[0], o[1], wide=True) + little(o[2], 1)
    return legacy(b"\x69", o[0], o[1], wide=True) + little(o[2], 4)


def shift_immediate(digit: int, wide: bool) -> Encode:
    """Shifts and rotations: by one has an opcode of its own."""

    def encode(o: Sequence[Operand]) -> bytes:
        if o[1] == 1:
            return legacy(b"\xd1", digit, o[0], wide=wide)
        return legacy(b"\xc1", digit, o[0], wide=wide) + little(o[1], 1)

    return encode


def move_immediate(o: Sequence[Operand]) -> bytes:
    """mov of a sign-extended 32-bit number."""
    return legacy(b"\xc7", 0, o[0], wide=True) + little(o[1], 4)


def exchange(o: Sequence[Operand]) -> bytes:
    """xchg: a byte shorter with rax."""
    x, y = sorted(o, key=number)
    return in_opcode(b"\x90", y, wide=True) if number(x) == 0 else legacy(b"\x87", o[1], o[0], wide=True)


def relative(short: bytes, near: bytes) -> Encode:
    """A jump by the distance from its own start: 8 bits when they suffice (and `short` is not empty), else 32."""

    def encode(o: Sequence[Operand]) -> bytes:
        distance = o[0]
        if not isinstance(distance, int):
            raise AsmgenError(f"{distance} has no distance before labels are resolved")
        if short and -128 <= distance - 2 <= 127:
            return short + little(distance - 2, 1)
        return near + little(distance - len(near) - 4, 4)

    return encode
