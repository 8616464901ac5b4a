"""The explicit layer: instructions written by hand, and the check that operands fit the rows they are written for."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import count

from asmgen.errors import AsmgenError, Source, caller
from asmgen.targets.row import Instruction, Label, Memory, Operand, Register, Role, Row, Slot, Tied, Virtual

_kernel: ContextVar[list[Instruction] | None] = ContextVar("_kernel", default=None)
_numbers: ContextVar[Iterator[int] | None] = ContextVar("_numbers", default=None)

#: Registers that only some kinds admit, with the letter that such a kind ends in.
_SPECIAL = {"xzr": "z", "sp": "s", "rsp": "s"}


@contextmanager
def record() -> Iterator[list[Instruction]]:
    """Collect the instructions that are written inside the `with` block, in order; blocks may nest."""
    written: list[Instruction] = []
    tokens = _kernel.set(written), _numbers.set(count(1))
    try:
        yield written
    finally:
        _kernel.reset(tokens[0])
        _numbers.reset(tokens[1])


def fresh(name: str = "") -> Virtual:
    """A register of the explicit kernel's own; it may be written several times, as a machine's register may."""
    numbers = _numbers.get()
    if numbers is None:
        raise AsmgenError(
            "registers are made where no kernel is being traced",
            source=caller(),
            hint="call fresh() inside the body of an explicit kernel",
        )
    return Virtual(next(numbers), name)


def word(pointer: Register | Virtual, index: int) -> Memory:
    """The 64-bit word of that index at a pointer: limb `index` of an element."""
    return Memory(pointer, 8 * index)


def emit(instruction: Instruction) -> None:
    """Append to the innermost `record()`; an error when there is none."""
    written = _kernel.get()
    if written is None:
        raise AsmgenError(
            f"{instruction.row.mnemonic} was written where no kernel is being traced",
            source=instruction.source or caller(),
            hint="write instructions inside the body of an explicit kernel",
        )
    written.append(instruction)


def describe(operand: Operand) -> str:
    """An operand as an error message names it."""
    if isinstance(operand, Register):
        return operand.name
    if isinstance(operand, Virtual):
        return str(operand)
    if isinstance(operand, Tied):
        return f"{operand.source} that becomes {operand.target}"
    if isinstance(operand, Label):
        return f"label {operand.name}"
    if isinstance(operand, Memory):
        index = f" + {describe(operand.index)}*{operand.scale}" if operand.index is not None else ""
        return f"memory [{describe(operand.base)}{index} {'-' if operand.offset < 0 else '+'} {abs(operand.offset)}]"
    if isinstance(operand, int):
        return str(operand) if -4096 < operand < 4096 else hex(operand)
    return f"{operand!r} (a {type(operand).__name__})"


def _range(slot: Slot) -> str:
    """What a slot's numbers must be, in the words of its `legal` when it has some."""
    return "one that this form can hold" if inspect.isroutine(slot.legal) else str(slot.legal)


def misfit(slot: Slot, operand: Operand) -> str:
    """Why the operand cannot stand in the slot; empty when it can.

    A memory slot with `legal` admits these offsets from a base, and no index.
    """
    if slot.kind.startswith("r"):
        if isinstance(operand, Virtual):
            return ""
        if isinstance(operand, Tied):
            return "" if slot.role is Role.INOUT else f"{describe(operand)} is changed by no instruction of this form"
        if not isinstance(operand, Register):
            return f"{describe(operand)} is not a register"
        if slot.fixed is not None and operand.name != slot.fixed:
            return f"{describe(operand)} stands where only {slot.fixed} may"
        special = _SPECIAL.get(operand.name)
        if special is not None and slot.fixed is None and not slot.kind.endswith(special):
            return f"{describe(operand)} cannot stand here"
        return ""
    if slot.kind == "label":
        return "" if isinstance(operand, Label) else f"{describe(operand)} is not a label"
    if slot.kind == "imm":
        if isinstance(operand, bool) or not isinstance(operand, int):
            return f"{describe(operand)} is not a number"
        return f"{describe(operand)} is not {_range(slot)}" if slot.legal and not slot.legal(operand) else ""
    if not isinstance(operand, Memory):
        return f"{describe(operand)} is not memory"
    if slot.legal is not None:
        if operand.index is not None:
            return f"{describe(operand)} has an index, this form takes base and offset"
        if not slot.legal(operand.offset):
            return f"{describe(operand)} has an offset that is not {_range(slot)}"
    return ""


def unfit(row: Row, operands: Sequence[Operand]) -> str:
    """Why the operands do not fit the row; empty when they do."""
    if len(operands) != len(row.slots):
        return f"takes {len(row.slots)} operands, not {len(operands)}"
    for position, (slot, operand) in enumerate(zip(row.slots, operands, strict=True), 1):
        reason = misfit(slot, operand)
        if reason:
            return f"operand {position}: {reason}"
    return ""


def choose_row(rows: Sequence[Row], operands: Sequence[Operand], source: Source | None = None) -> Row:
    """The first row that the operands fit; an error with every row's reason when there is none."""
    forms: list[str] = []
    for row in rows:
        reason = unfit(row, operands)
        if not reason:
            return row
        forms.append(f"{row.name}({', '.join(slot.kind for slot in row.slots)}): {reason}")
    raise AsmgenError(
        f"no form of {rows[0].mnemonic} takes {', '.join(map(describe, operands)) or 'no operands'}",
        source=source or caller(),
        hint="one of these forms\n    " + "\n    ".join(forms),
    )
