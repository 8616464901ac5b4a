"""capstone's reading of amd64 instructions as rows and operands."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from capstone import x86_const as x86

from asmgen.targets import amd64
from asmgen.targets.amd64_text import part
from asmgen.targets.row import Memory, Operand, Register, Row, Slot

#: The instruction pointer, as the base of an address: what it holds is the offset of the following instruction.
RIP = Register("rip", -2)

_CONDITIONS = {
    "e": "z", "ne": "nz", "b": "c", "ae": "nc", "nb": "nc", "pe": "p", "po": "np", "nge": "l", "nl": "ge", "ng": "le",
    "nle": "g", "na": "be", "nbe": "a",
}  # fmt: skip
_SUFFIX = {8: "", 4: "l", 2: "w", 1: "b"}
_NAMES = {"retq": "ret", "repz ret": "ret", "rep ret": "ret", "sal": "shl"}
_REGISTERS = {
    part(register, bits).removeprefix("%"): (register, bits // 8)
    for register in amd64.REGISTERS.values()
    for bits in (64, 32, 16, 8)
} | {"rip": (RIP, 8)}

Sized = tuple[Operand, int]


@cache
def _rows() -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in amd64.ROWS.values():
        found.setdefault(row.mnemonic, []).append(row)
    return found


def readings(read: Any) -> Iterator[tuple[Row, tuple[Operand, ...]]]:
    """The rows that have the name of the instruction and take its operands, with these."""
    operands = [_operand(read, each) for each in read.operands]
    if any(operand is None for operand in operands):
        return
    given = [operand for operand in operands if operand is not None]
    for name in _names(read.mnemonic, given):
        for row in _rows().get(name, ()):
            filled = _filled(row, _idiom(name, given), read.address)
            if filled is not None:
                yield row, filled


def _names(mnemonic: str, operands: list[Sized]) -> Iterator[str]:
    """Mnemonics that rows may have for it, the likeliest first."""
    name = _NAMES.get(mnemonic, mnemonic)
    if name in ("xor", "sbb") and len(operands) == 2 and operands[0] == operands[1]:
        if name == "xor" and operands[0][1] >= 4:
            yield "zero"
        elif name == "sbb" and operands[0][1] == 8:
            yield "mask"
    if name == "nop" or (name == "xchg" and operands[0] == operands[1] and operands[0][1] == 2):
        operands.clear()
        yield "nop"
    if name == "movzx":
        yield {1: "movzbl", 2: "movzwl"}[operands[1][1]]
    if name == "mov":
        yield "movabs"
    for prefix in ("cmov", "set", "j"):
        if name.startswith(prefix) and name != "jmp":
            condition = name.removeprefix(prefix)
            name = prefix + _CONDITIONS.get(condition, condition)
            break
    size = min((size for operand, size in operands if not isinstance(operand, int)), default=8)
    yield name + _SUFFIX.get(size, "")
    yield name


def _idiom(name: str, operands: list[Sized]) -> list[Sized]:
    """The operands that the rows of the name print."""
    if name in ("zero", "mask"):
        return [(operands[0][0], 4 if name == "zero" else 8)]
    if name in ("movzbl", "movzwl") and operands[0][1] == 8:
        return [(operands[0][0], 4), operands[1]]
    return operands


def _operand(read: Any, operand: Any) -> Sized | None:
    """An operand and its size in bytes; None for one that no row has."""
    if operand.type == x86.X86_OP_REG:
        return _REGISTERS.get(read.reg_name(operand.reg))
    if operand.type == x86.X86_OP_IMM:
        return operand.imm, operand.size
    if operand.mem.segment:
        return None
    base = _REGISTERS.get(read.reg_name(operand.mem.base) or "")
    index = _REGISTERS.get(read.reg_name(operand.mem.index) or "")
    if base is None or (operand.mem.index and index is None):
        return None
    place = Memory(base[0], operand.mem.disp, index[0] if index else None, operand.mem.scale if index else 1)
    return place, operand.size


def _filled(row: Row, operands: list[Sized], address: int) -> tuple[Operand, ...] | None:
    """The operands in the row's slots, the implicit ones put in; None when they do not fit."""
    given = iter(operands)
    filled: list[Operand] = []
    for slot in row.slots:
        if slot.implicit:
            filled.append(amd64.FIXED[slot.fixed or ""])
            continue
        operand, size = next(given, (None, 0))
        if operand is None:
            return None
        if slot.kind == "label" and isinstance(operand, int):
            filled.append(operand - address)
        elif _fits(slot, operand, size):
            filled.append(operand)
        else:
            return None
    return None if next(given, None) is not None else tuple(filled)


def _fits(slot: Slot, operand: Operand, size: int) -> bool:
    kind = slot.kind
    if kind == "addr":
        return isinstance(operand, Memory)
    if kind == "imm":
        return isinstance(operand, int) and (slot.legal is None or slot.legal(operand))
    if int("".join(filter(str.isdigit, kind))) != 8 * size:
        return False
    if kind[0] == "m":
        return isinstance(operand, Memory)
    if not isinstance(operand, Register) or operand == RIP:
        return False
    return operand.name == slot.fixed if slot.fixed else operand.name != "rsp" or kind.endswith("s")
