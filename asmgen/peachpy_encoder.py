"""PeachPy's encoder for the rows of amd64, behind a guard.

PeachPy encodes single instructions well, apart from some that it encodes wrongly without a word. `encode` gives its
bytes where they can be trusted, asks for the one right form where it has several, and raises `Refused` otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from asmgen.targets.row import Memory, Operand, Register, Row, Slot

#: Rows whose PeachPy instruction is not the mnemonic less its size letter.
_NAMES = {"movzbl": "MOVZX", "movzwl": "MOVZX", "movabs": "MOV", "zero": "XOR", "mask": "SBB"}

#: Rows that read or write one register through two operands.
_TWICE = {"zero", "mask"}

_SHIFTS = {"SHL", "SHR", "SAR", "ROL", "ROR", "SHLD", "SHRD", "RORX"}


class Refused(Exception):
    """PeachPy cannot be trusted with this instruction, and why."""


@lru_cache(1)
def _package() -> Any:
    """The module with PeachPy's instructions, or None; it takes a third of a second to import."""
    try:
        import peachpy.x86_64
    except Exception:  # its import runs much code of its own, which other versions of Python may refuse in any way
        return None
    return peachpy.x86_64


def found() -> bool:
    """Whether PeachPy is installed and can be imported."""
    return _package() is not None


@lru_cache(65536)
def encode(row: Row, operands: tuple[Operand, ...]) -> bytes:
    """PeachPy's bytes for physical operands; a label is an int, the distance from the instruction's start.

    Raises `Refused` for what PeachPy has no instruction for, and for what it is known to encode wrongly.
    """
    make = _instruction(row)
    if row.control is not None and operands:
        return _jump(make, operands[0])
    shown = [(slot, operand) for slot, operand in zip(row.slots, operands, strict=True) if not slot.implicit]
    if row.mnemonic in _TWICE:
        shown *= 2
    _guard(make.__name__, row, shown)
    try:
        instruction = make(*(_operand(slot, operand) for slot, operand in shown))
        return max(_forms(instruction), key=len) if _needs_long_form(row, shown) else bytes(instruction.encode())
    except Refused:
        raise
    except Exception as error:  # PeachPy raises what comes, AssertionError and AttributeError among it
        raise Refused(f"PeachPy takes no {row.name} with these operands: {error}") from error


def _instruction(row: Row) -> Callable[..., Any]:
    """The class of PeachPy for a row."""
    name = _NAMES.get(row.mnemonic, row.mnemonic.upper())
    if not hasattr(_package(), name) and name[-1] in "BWL":
        name = name[:-1]
    make: Callable[..., Any] | None = getattr(_package(), name, None)
    if make is None:
        raise Refused(f"PeachPy has no {row.mnemonic}")
    return make


def _guard(name: str, row: Row, shown: Sequence[tuple[Slot, Operand]]) -> None:
    """Refuse what PeachPy gets wrong without saying so.

    Numbers of 64-bit operations that fit 32 bits only without sign: it takes the short form, which the machine extends
    with ones. Shift counts that the machine would cut.
    """
    width = max((_width(slot) for slot, _ in shown if slot.kind[0] in "rm"), default=64)
    for slot, operand in shown:
        if slot.kind != "imm" or not isinstance(operand, int):
            continue
        if width == 64 and 2**31 <= operand < 2**32 and row.mnemonic != "movabs":
            raise Refused(f"PeachPy takes {operand:#x} for {operand - 2**32} in a 64-bit operation")
        if name in _SHIFTS and not 0 <= operand < width:
            raise Refused(f"PeachPy lets a shift by {operand} of {width} bits pass")


def _needs_long_form(row: Row, shown: Sequence[tuple[Slot, Operand]]) -> bool:
    """Whether the shortest encoding, which PeachPy would choose, is not the one wanted.

    movabs has a 64-bit number, however small. The short form of a multiplication by 128 to 255 multiplies by 256 less.
    """
    number = shown[-1][1] if shown else None
    return row.mnemonic == "movabs" or (row.mnemonic == "imul" and isinstance(number, int) and 128 <= number <= 255)


def _width(slot: Slot) -> int:
    """Bits of a register or memory slot; the operand of lea has no size of its own."""
    return int("".join(letter for letter in slot.kind if letter.isdigit()) or 64)


def _operand(slot: Slot, operand: Operand) -> Any:
    """An operand as PeachPy has it. Memory always carries its size: without one PeachPy guesses."""
    from peachpy.x86_64.operand import MemoryOperand

    if isinstance(operand, Register):
        return _register(operand.number, _width(slot))
    if isinstance(operand, Memory):
        return MemoryOperand(_address(operand), None if slot.kind == "addr" else _width(slot) // 8)
    if isinstance(operand, int):
        return operand
    raise Refused(f"{operand} has no place yet: PeachPy encodes physical operands")


def _register(number: int, bits: int) -> Any:
    """PeachPy's register; numbers are the machine's. It has no name for the stack pointer's low parts."""
    if number < 0:
        raise Refused("a spill slot has no place before the frame is laid out")
    if number < 8:
        name = ("ax", "cx", "dx", "bx", "sp", "bp", "si", "di")[number]
        low = f"{name[0]}l" if name.endswith("x") else f"{name}l"
        name = {64: f"r{name}", 32: f"e{name}", 16: name, 8: low}[bits]
    else:
        name = f"r{number}{ {64: '', 32: 'd', 16: 'w', 8: 'b'}[bits] }"
    from peachpy.x86_64 import registers

    register = getattr(registers, name, None)
    if register is None:
        raise Refused(f"PeachPy has no register {name}")
    return register


def _address(memory: Memory) -> Any:
    from peachpy.x86_64.operand import MemoryAddress

    if not isinstance(memory.base, Register):
        raise Refused(f"{memory.base} has no register yet")
    base = _register(memory.base.number, 64)
    if memory.index is None:
        return MemoryAddress(base, displacement=memory.offset)
    if not isinstance(memory.index, Register):
        raise Refused(f"{memory.index} has no register yet")
    return MemoryAddress(base, _register(memory.index.number, 64), memory.scale, memory.offset)


def _jump(make: Callable[..., Any], distance: Operand) -> bytes:
    """A jump by a distance from its own start, in the shortest form that reaches; PeachPy counts from its end."""
    from peachpy.x86_64.operand import RIPRelativeOffset

    if not isinstance(distance, int):
        raise Refused(f"{distance} has no distance yet")
    for length in (2, 5, 6):
        if not -(2**31) <= distance - length < 2**31:
            continue
        instruction = make(RIPRelativeOffset(distance - length))
        for code in _forms(instruction):
            if len(code) == length:
                return code
    raise Refused(f"PeachPy's {make.__name__} does not reach {distance}")


def _forms(instruction: Any) -> list[bytes]:
    """All encodings that PeachPy knows of one instruction."""
    return [bytes(encoding(instruction.operands)) for _, encoding in instruction.encodings]
