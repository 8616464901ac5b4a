"""capstone's reading of arm64 instructions as rows and operands.

Every arm64 instruction has one encoding, so a reading counts only when the row encodes to the same bytes: what is
yielded here are candidates.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from capstone import arm64_const as arm

from asmgen.errors import AsmgenError
from asmgen.targets import arm64
from asmgen.targets.row import Memory, Operand, Register, Row, Slot

_CC = {
    arm.ARM64_CC_EQ: "eq", arm.ARM64_CC_NE: "ne", arm.ARM64_CC_HS: "cs", arm.ARM64_CC_LO: "cc", arm.ARM64_CC_MI: "mi",
    arm.ARM64_CC_PL: "pl", arm.ARM64_CC_VS: "vs", arm.ARM64_CC_VC: "vc", arm.ARM64_CC_HI: "hi", arm.ARM64_CC_LS: "ls",
    arm.ARM64_CC_GE: "ge", arm.ARM64_CC_LT: "lt", arm.ARM64_CC_GT: "gt", arm.ARM64_CC_LE: "le",
}  # fmt: skip
_ALIASES = {"fp": "x29", "lr": "x30", "wsp": "sp", "wzr": "xzr"}
_SPELLINGS = {"b.hs": "b.cs", "b.lo": "b.cc"}
_BY_OTHER_NAMES = {"mov": ("movz", "movn", "add")}

Read = tuple[Register, int] | Memory | int


@cache
def _rows() -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in arm64.ROWS.values():
        found.setdefault(row.mnemonic, []).append(row)
    return found


def readings(read: Any) -> Iterator[tuple[Row, tuple[Operand, ...]]]:
    """Rows that have the name of the instruction, with its operands, whose encoding is its bytes."""
    code = bytes(read.bytes)
    spelled = _SPELLINGS.get(read.mnemonic, read.mnemonic)
    lists = list(_lists(read))
    for name in (spelled, *_BY_OTHER_NAMES.get(spelled, ())):
        for row in _rows().get(name, ()):
            if not _condition_fits(row, read.cc):
                continue
            for operands in lists:
                filled = _filled(row, operands, read.address)
                if filled is not None and _encodes(row, filled, code):
                    yield row, filled


#: (bits, mask) of instructions on 32-bit registers that leave what their 64-bit forms leave: cset, and movz without a
#: shift or with one of 16.
_NARROW = ((0x1A9F07E0, 0xFFFF0FE0), (0x52800000, 0xFFC00000))


def widened(code: bytes) -> bytes | None:
    """The instruction on 64-bit registers that does the same as this one on 32-bit ones; None where none is known."""
    word = int.from_bytes(code, "little")
    if any(word & mask == bits for bits, mask in _NARROW):
        return (word | 1 << 31).to_bytes(4, "little")
    return None


def _condition_fits(row: Row, code: int) -> bool:
    """Whether the row is of the condition or its opposite (cset and cinc are printed under either)."""
    condition = row.name.rsplit("_", 1)[-1]
    if code not in _CC or condition not in _CC.values():
        return True
    names = list(_CC.values())
    return names.index(condition) // 2 == names.index(_CC[code]) // 2


def _encodes(row: Row, operands: tuple[Operand, ...], code: bytes) -> bool:
    try:
        return row.encode(operands) == code
    except (AsmgenError, OverflowError, KeyError):
        return False


def _lists(read: Any) -> Iterator[list[Read]]:
    """The operands as rows may have them: shifts as operands of their own, shifted numbers as one number or as two."""
    for joined in (True, False):
        operands: list[Read] = []
        for operand in read.operands:
            shift = operand.shift.value if operand.shift.type else 0
            if operand.type == arm.ARM64_OP_REG:
                operands.append(_register(read.reg_name(operand.reg)))
                operands += [shift] if operand.shift.type else []
            elif operand.type == arm.ARM64_OP_IMM:
                operands += [operand.imm << shift] if joined else [operand.imm, shift]
            elif operand.type == arm.ARM64_OP_MEM:
                operands.append(_memory(read, operand))
            else:
                return
        places = [index for index, each in enumerate(operands) if isinstance(each, Memory)]
        if read.writeback and places:
            at = places[0]
            memory = operands[at]
            assert isinstance(memory, Memory)
            step = [memory.offset] if at == len(operands) - 1 else []
            assert isinstance(memory.base, Register)
            operands = [*operands[:at], (memory.base, 8), *operands[at:], *step]
        yield operands
        number = operands[-1] if operands else None
        if isinstance(number, int):
            yield from ([*operands[:-1], (number % 2**64) >> k, k] for k in (0, 16, 32, 48))
            yield from ([*operands[:-1], (~number % 2**64) >> k, k] for k in (0, 16, 32, 48))
            yield [*operands[:-1], number % 2**64]
            yield [*operands[:-1], ~number % 2**32]
        yield [*operands, 0]


def _register(name: str) -> tuple[Register, int]:
    full = _ALIASES.get(name, name)
    register = arm64.REGISTERS.get("x" + full[1:] if full[0] == "w" else full, Register(full, -3))
    return register, 4 if name[0] == "w" else 8


def _memory(read: Any, operand: Any) -> Memory:
    index = _register(read.reg_name(operand.mem.index))[0] if operand.mem.index else None
    return Memory(_register(read.reg_name(operand.mem.base))[0], operand.mem.disp, index)


def _filled(row: Row, operands: list[Read], address: int) -> tuple[Operand, ...] | None:
    """The operands in the row's slots; None when they do not fit."""
    given = iter(operands)
    filled: list[Operand] = []
    for slot in row.slots:
        if slot.implicit and slot.fixed == "x30":
            filled.append(arm64.LINK)
            continue
        operand = next(given, None)
        if operand is None:
            return None
        if slot.kind == "label" and isinstance(operand, int):
            filled.append(operand - address)
        elif _fits(slot, operand):
            filled.append(operand[0] if isinstance(operand, tuple) and not isinstance(operand, Memory) else operand)
        else:
            return None
    return None if next(given, None) is not None else tuple(filled)


def _fits(slot: Slot, operand: Read) -> bool:
    if slot.kind == "imm":
        return isinstance(operand, int) and (slot.legal is None or slot.legal(operand))
    if slot.kind[0] == "m":
        fits = isinstance(operand, Memory) and operand.index is None
        return fits and (slot.legal is None or slot.legal(operand.offset))  # type: ignore[union-attr]
    if isinstance(operand, (int, Memory)) or slot.kind[0] != "r":
        return False
    register, size = operand
    special = {"xzr": "z", "sp": "s"}.get(register.name)
    if register.number < 0 or 8 * size != int(slot.kind[1:3]):
        return False
    return register.name == slot.fixed if slot.fixed else special is None or slot.kind.endswith(special)
