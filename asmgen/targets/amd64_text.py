"""amd64 operands in AT&T syntax."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from asmgen.targets.row import FRAME, Label, Memory, Operand, Register, Slot, Tied, Virtual

NAMES = ("rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", *(f"r{number}" for number in range(8, 16)))


def part(register: Register | Virtual | Tied, bits: int) -> str:
    """A register's name for its low `bits`; a virtual one's own name; `%frame` for the base of spill slots."""
    if not isinstance(register, Register):
        return str(register)
    if register == FRAME:
        return f"%{register.name}"
    if register.number >= 8:
        return f"%{register.name}{ {64: '', 32: 'd', 16: 'w', 8: 'b'}[bits] }"
    letters = register.name[1:]
    if bits == 8:
        return f"%{letters[0]}l" if letters.endswith("x") else f"%{letters}l"
    return f"%{ {64: 'r', 32: 'e', 16: ''}[bits] }{letters}"


def number_text(value: int) -> str:
    """Decimal when short, else hexadecimal."""
    return str(value) if -1024 < value < 1024 else hex(value)


def memory_text(memory: Memory) -> str:
    """offset(base,index,scale), without what is not there."""
    offset = number_text(memory.offset) if memory.offset else ""
    index = f",{part(memory.index, 64)},{memory.scale}" if memory.index is not None else ""
    return f"{offset}({part(memory.base, 64)}{index})"


def operand_text(slot: Slot, operand: Operand) -> str:
    """One operand as its slot prints it."""
    if isinstance(operand, Memory):
        return memory_text(operand)
    if isinstance(operand, Label):
        return operand.name
    if isinstance(operand, int):
        return f"${number_text(operand)}" if slot.kind == "imm" else f".{operand:+d}"
    return part(operand, width(slot))


def width(slot: Slot) -> int:
    """Bits of a register or memory slot."""
    return int("".join(letter for letter in slot.kind if letter.isdigit()))


def att(op: str, slots: Sequence[Slot], *, twice: bool = False) -> Callable[[Sequence[Operand]], str]:
    """The text of a row: `op`, then the printed operands, the destination last; `twice` repeats a single one."""

    def text(operands: Sequence[Operand]) -> str:
        shown = [operand_text(slot, o) for slot, o in zip(slots, operands, strict=True) if not slot.implicit]
        return f"{op} {', '.join(reversed(shown * (1 + twice)))}" if shown else op

    return text
