"""amd64: one row an instruction form, operands in Intel order (destination first), text in AT&T syntax.

Names are mnemonic, underscore, a letter for each printed operand: `r` register, `m` memory, `i` immediate, `l` label.
Mnemonics without a size are 64 bits wide; those ending in `l`, `w` or `b` 32, 16 or 8, as in AT&T syntax. Conditions
have the spelling that speaks of the flag: `c`, `nc`, `z`, `nz`. Two rows are idioms: `zero_r` (xor of a register with
itself) and `mask_r` (sbb of a register with itself). What the machine keeps in fixed registers has operands of its own,
which are not printed: `mul_r(high, low, x, y)` with high in rdx, low and y in rax, `mulx_rrr(high, low, x, y)` with y
in rdx. They may be left out, all together, when they are physical: `mul_r(x)`, `mulx_rrr(high, low, x)`.

An 8-bit result (setcc) is the register's low byte; its other bits stay as they were. A branch's outcome has one value,
the bit that says whether it is taken. The stack pointer stands only where stacks are handled: in mov, lea, push, test
and the two-operand arithmetic, and as the base of an address.

Each mnemonic, and each row by its own name, is also a function of this module that writes the instruction into the
explicit kernel being traced, as `amd64.mulx(high, low, x)`; the three that are Python words end in an underscore:
`and_`, `or_`, `not_`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches

from asmgen.errors import AsmgenError, Source, caller
from asmgen.targets import explicit
from asmgen.targets.amd64_rows import ROWS
from asmgen.targets.amd64_text import NAMES
from asmgen.targets.row import Instruction, Memory, Operand, Register, Role, Row, Virtual

__all__ = ["FIXED", "REGISTERS", "ROWS", "constant", "ins", "load", "load_constant", "move", "store"]

REGISTERS: Mapping[str, Register] = {name: Register(name, number) for number, name in enumerate(NAMES)}

#: What stands in an implicit slot, by the slot's `fixed`.
FIXED: Mapping[str, Operand] = {
    **REGISTERS,
    "(rsp)": Memory(REGISTERS["rsp"], 0),
    "-8(rsp)": Memory(REGISTERS["rsp"], -8),
}

#: The forms of each mnemonic, in the order in which they are tried.
MNEMONICS: Mapping[str, tuple[Row, ...]] = {
    name: tuple(row for row in ROWS.values() if row.mnemonic == name)
    for name in dict.fromkeys(row.mnemonic for row in ROWS.values())
}

#: Other spellings of conditions.
_SPELLINGS = {
    "b": "c", "nae": "c", "ae": "nc", "nb": "nc", "e": "z", "ne": "nz", "na": "be", "nbe": "a", "pe": "p", "po": "np",
    "nge": "l", "nl": "ge", "ng": "le", "nle": "g",
}  # fmt: skip

Reg = Register | Virtual


def ins(name: str, *operands: Operand, source: Source | None = None, note: str = "") -> Instruction:
    """An instruction of the row `name`, or of the first row of the mnemonic `name` that the operands fit.

    Operands are checked: number, kinds, immediates, fixed registers, addresses.
    """
    row = ROWS.get(name)
    if row is None:
        if name not in MNEMONICS:
            near = get_close_matches(name, [*ROWS, *MNEMONICS], 3)
            raise AsmgenError(
                f"amd64 has no instruction {name}",
                source=source or caller(),
                hint=f"one of {', '.join(near)}" if near else "a name from asmgen.targets.amd64.ROWS",
            )
        rows = MNEMONICS[name]
        row = explicit.choose_row(rows, _filled(rows[0], operands), source or caller())
    filled = _filled(row, operands)
    reason = explicit.unfit(row, filled) or _unfit(row, filled)
    if reason:
        kinds = ", ".join(f"{slot.fixed} (may be left out)" if slot.implicit else slot.kind for slot in row.slots)
        raise AsmgenError(
            f"{row.name}: {reason}", source=source or caller(), hint=f"its operands are {kinds or 'none'}"
        )
    return Instruction(row, filled, source, note)


def _filled(row: Row, operands: Sequence[Operand]) -> tuple[Operand, ...]:
    """The operands with the implicit ones put in where all of those were left out."""
    if len(operands) != sum(not slot.implicit for slot in row.slots):
        return tuple(operands)
    given = iter(operands)
    return tuple(FIXED[slot.fixed or ""] if slot.implicit else next(given) for slot in row.slots)


def _unfit(row: Row, operands: Sequence[Operand]) -> str:
    """What amd64 minds beyond the kinds of operands; empty when nothing is wrong."""
    written: list[Operand] = []
    for slot, operand in zip(row.slots, operands, strict=True):
        if isinstance(operand, Memory):
            name = explicit.describe(operand)
            if slot.fixed is not None and operand != FIXED[slot.fixed]:
                return f"{name} stands where only {slot.fixed} may"
            if operand.scale not in (1, 2, 4, 8):
                return f"{name} has a scale other than 1, 2, 4 and 8"
            if not -(2**31) <= operand.offset < 2**31:
                return f"{name} has an offset of more than 32 bits"
            if operand.index == REGISTERS["rsp"]:
                return f"{name} has rsp as its index"
        elif slot.kind.startswith("r") and slot.role is not Role.IN:
            if operand in written:
                return f"{explicit.describe(operand)} would get two results"
            written.append(operand)
    return ""


def move(dst: Reg, src: Reg, *, source: Source | None = None, note: str = "") -> Instruction:
    """dst = src; flags stay."""
    return ins("mov_rr", dst, src, source=source, note=note)


def load(dst: Reg, memory: Memory, *, source: Source | None = None, note: str = "") -> Instruction:
    """dst = the word at `memory`; flags stay."""
    return ins("mov_rm", dst, memory, source=source, note=note)


def store(src: Reg, memory: Memory, *, source: Source | None = None, note: str = "") -> Instruction:
    """The word at `memory` = src; flags stay."""
    return ins("mov_mr", memory, src, source=source, note=note)


def constant(dst: Reg, value: int, *, source: Source | None = None, note: str = "") -> Instruction:
    """dst = value modulo 2^64, for -2^63 <= value < 2^64, in the shortest form that leaves the flags as they are."""
    if not -(2**63) <= value < 2**64:
        raise AsmgenError(f"constant {value:#x} does not fit a 64-bit register", source=source or caller())
    word = value % 2**64
    if word < 2**32:
        return ins("movl_ri", dst, word, source=source, note=note)
    if word >= 2**64 - 2**31:
        return ins("mov_ri", dst, word - 2**64, source=source, note=note)
    return ins("movabs_ri", dst, word, source=source, note=note)


def load_constant(dst: Reg, value: int, *, source: Source | None = None, note: str = "") -> tuple[Instruction, ...]:
    """The instructions of `constant`: one, here as where it takes several on other targets."""
    return (constant(dst, value, source=source, note=note),)


def __getattr__(name: str) -> Callable[..., None]:
    """The function of a mnemonic, or of a row by its own name."""
    mnemonic = name.removesuffix("_")
    for prefix in ("cmov", "set", "j"):
        spelling = mnemonic.removeprefix(prefix)
        if mnemonic.startswith(prefix) and spelling in _SPELLINGS:
            mnemonic = prefix + _SPELLINGS[spelling]
    if mnemonic not in MNEMONICS and mnemonic not in ROWS:
        near = get_close_matches(mnemonic, MNEMONICS, 3)
        raise AttributeError(f"amd64 has no instruction {name}" + (f"; near are {', '.join(near)}" if near else ""))

    def function(*operands: Operand, note: str = "") -> None:
        explicit.emit(ins(mnemonic, *operands, source=caller(), note=note))

    function.__name__ = name
    function.__doc__ = f"Write {mnemonic} with these operands."
    return function


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(MNEMONICS))
