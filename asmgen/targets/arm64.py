"""arm64: its rows, registers, instructions by name, and the small sequences that passes ask for.

Rows are named by their mnemonic; a suffix tells forms apart: `add` (registers), `add_imm`, `add_lsl` (second operand
shifted), `csel_ne` (a row for each condition, since the flags read differ). A family is what one name covers: `add`
either `add` or `add_imm`, `ldr` either `ldr` or `ldur`, whichever fits first. Sums with an operand shifted left by
more than four are rows of their own (`add_lsl_far`, in the family `add_lsl`), because they cost more on most cores.

A branch's outcome has one value, the bit that says whether it is taken. `bl` gives None for x30. `paciasp` and
`autiasp` have the meaning of a core without pointer authentication.

Each family and row is also a function of this module, which writes the instruction into the explicit kernel being
traced: `arm64.umulh(high, x, y)`, `arm64.add(total, x, 5)`, `arm64.csel_ne(z, x, y)`; a name that is a Python word
ends in an underscore: `arm64.and_(low, x, mask)`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from functools import cache
from itertools import combinations

from asmgen.errors import AsmgenError, Source, caller
from asmgen.targets import arm64_arithmetic, arm64_memory, explicit
from asmgen.targets.arm64_encoding import bitmasks, is_arithmetic, is_bitmask
from asmgen.targets.arm64_forms import Form
from asmgen.targets.row import Instruction, Memory, Operand, Register, Row, Virtual

__all__ = [
    "FAMILIES", "LINK", "REGISTERS", "ROWS", "SP", "XZR", "constant", "ins", "is_arithmetic", "is_bitmask", "load",
    "load_constant", "move", "pop", "push", "store",
]  # fmt: skip

REGISTERS: Mapping[str, Register] = {
    **{f"x{i}": Register(f"x{i}", i) for i in range(31)},
    "sp": Register("sp", 31),
    "xzr": Register("xzr", 31),
}
SP, XZR, LINK = REGISTERS["sp"], REGISTERS["xzr"], REGISTERS["x30"]

_FORMS: Mapping[str, Form] = {form.row.name: form for form in (*arm64_arithmetic.forms(), *arm64_memory.forms())}

#: Every row by its name.
ROWS: Mapping[str, Row] = {name: form.row for name, form in _FORMS.items()}


def _families() -> Mapping[str, tuple[Row, ...]]:
    found: dict[str, tuple[Row, ...]] = {}
    for form in _FORMS.values():
        found[form.family] = (*found.get(form.family, ()), form.row)
    return {name: (row,) for name, row in ROWS.items()} | found


#: What a name in `ins` covers: a family's rows in the order they are tried, or a row by its own name.
FAMILIES = _families()


def ins(name: str, *operands: Operand, source: Source | None = None, note: str = "") -> Instruction:
    """The instruction of the first row of a family (or of the row of that name) that the operands fit.

    Registers may be virtual. Trailing operands that a row fixes (x30 of `ret`) may be left out. Raises AsmgenError
    when the name is unknown or no row takes the operands, with each row's reason.
    """
    rows = FAMILIES.get(name)
    if rows is None:
        near = get_close_matches(name, FAMILIES, 3)
        hint = f"one of {', '.join(near)}" if near else "a name from asmgen.targets.arm64.ROWS"
        raise AsmgenError(f"arm64 has no instruction {name}", source=source or caller(), hint=hint)
    hidden = rows[0].slots[len(operands) :]
    operands += tuple(REGISTERS[slot.fixed] for slot in hidden if slot.implicit and slot.fixed is not None)
    row = explicit.choose_row(rows, operands, source)
    clash = _FORMS[row.name].rule(operands)
    if clash:
        raise AsmgenError(f"{row.name}: {clash}", source=source or caller())
    return Instruction(row, operands, source, note)


def __getattr__(name: str) -> Callable[..., None]:
    """The function that writes an instruction into the explicit kernel being traced."""
    family = name.removesuffix("_")
    if family not in FAMILIES:
        raise AttributeError(
            f"arm64 has no instruction {name}; near it: {', '.join(get_close_matches(name, FAMILIES, 3))}"
        )

    def write(*operands: Operand, note: str = "") -> None:
        explicit.emit(ins(family, *operands, source=caller(), note=note))

    write.__name__ = name
    write.__doc__ = f"Write {family} with these operands."
    return write


# Moves


def move(
    target: Register | Virtual, value: Register | Virtual, *, source: Source | None = None, note: str = ""
) -> Instruction:
    """One register to another, sp included."""
    if SP in (target, value):
        return ins("add_imm", target, value, 0, source=source, note=note)
    return ins("mov", target, value, source=source, note=note)


def load(target: Register | Virtual, place: Memory, *, source: Source | None = None, note: str = "") -> Instruction:
    """A 64-bit word from memory."""
    return ins("ldr", target, place, source=source, note=note)


def store(value: Register | Virtual, place: Memory, *, source: Source | None = None, note: str = "") -> Instruction:
    """A 64-bit word to memory."""
    return ins("str", value, place, source=source, note=note)


def push(*registers: Register, size: int) -> Instruction:
    """Lower sp by `size` bytes, a multiple of 16, and store one register or two there, the first one lowest."""
    name = "str_pre" if len(registers) == 1 else "stp_pre"
    return ins(name, *registers, SP, Memory(SP, -size), -size)


def pop(*registers: Register, size: int) -> Instruction:
    """Load one register or two from sp, the first one lowest, and raise sp by `size` bytes."""
    name = "ldr_post" if len(registers) == 1 else "ldp_post"
    return ins(name, *registers, SP, Memory(SP, 0), size)


# Constants

Way = tuple[tuple[str, tuple[int, ...]], ...]


@cache
def _bitmasks_under(mask: int) -> Mapping[int, int]:
    """The smallest bitmask for each pattern of the bits under the mask."""
    found: dict[int, int] = {}
    for bits in bitmasks():
        found[bits & mask] = min(bits, found.get(bits & mask, bits))
    return found


@cache
def constant(value: int) -> Way:
    """The shortest way to a 64-bit number by movz, movn, a bitmask and movk, one to four instructions.

    Each is a row's name with its operands after the target. Of equally short ways movz comes before movn before a
    bitmask.
    """
    if not 0 <= value < 1 << 64:
        raise AsmgenError(f"{value:#x} is not a number of 64 bits")
    halves = {place: value >> place & 0xFFFF for place in (0, 16, 32, 48)}

    def way(first: tuple[str, tuple[int, ...]], rest: Iterable[int]) -> Way:
        return (first, *(("movk", (halves[place], place)) for place in rest))

    ways = []
    for name, filling in (("movz", 0), ("movn", 0xFFFF)):
        unlike = [place for place in halves if halves[place] != filling] or [0]
        ways.append(way((name, (halves[unlike[0]] ^ filling, unlike[0])), unlike[1:]))
    shortest = min(ways, key=len)
    for patched in range(len(shortest) - 1):
        for places in combinations(halves, patched):
            mask = ((1 << 64) - 1) ^ sum(0xFFFF << place for place in places)
            bits = _bitmasks_under(mask).get(value & mask)
            if bits is not None:
                return way(("mov_bitmask", (bits,)), places)
    return shortest


def load_constant(
    target: Register | Virtual, value: int, *, source: Source | None = None, note: str = ""
) -> tuple[Instruction, ...]:
    """The instructions of `constant` for a register; the first one carries the note."""
    return tuple(
        ins(name, target, *operands, source=source, note="" if i else note)
        for i, (name, operands) in enumerate(constant(value))
    )
