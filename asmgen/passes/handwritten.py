"""Kernels whose instructions a script writes itself: registers that are changed in place become values written once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from asmgen.contracts import Signature
from asmgen.errors import AsmgenError
from asmgen.routine import Routine, Straight
from asmgen.targets.explicit import record
from asmgen.targets.row import Instruction, Memory, Operand, Role, Slot, Tied, Virtual


def handwritten(signature: Signature, target: str, body: Callable[..., None]) -> Routine:
    """Run the body on virtual registers for the C arguments, in C order, and collect what it writes."""
    arguments = tuple(Virtual(-1 - index, parameter.name) for index, parameter in enumerate(signature.parameters))
    with record() as written:
        body(*arguments)
    if not written:
        raise AsmgenError(f"{signature.symbol} writes no instruction for {target}")
    return Routine(signature, target, arguments, (Straight(tuple(once(written, arguments))),))


def once(instructions: Sequence[Instruction], defined: Sequence[Virtual]) -> list[Instruction]:
    """The same instructions with a new virtual register for each value."""
    current: dict[Virtual, Virtual] = {each: each for each in defined}
    serial = 1 + max(
        (
            each.id
            for instruction in instructions
            for each in (*instruction.read, *instruction.written)
            if isinstance(each, Virtual)
        ),
        default=0,
    )

    def read(value: Virtual, instruction: Instruction) -> Virtual:
        if value not in current:
            raise AsmgenError(
                f"{value} is read by {instruction.row.mnemonic} before it has a value",
                source=instruction.source,
                hint="write it first, or take it as an argument",
            )
        return current[value]

    def fresh(value: Virtual) -> Virtual:
        nonlocal serial
        serial += 1
        current[value] = made = Virtual(serial, value.name)
        return made

    result: list[Instruction] = []
    for instruction in instructions:
        reads: list[Operand] = [
            _reading(slot, operand, lambda value, at=instruction: read(value, at))  # type: ignore[misc]
            for slot, operand in zip(instruction.row.slots, instruction.operands, strict=True)
        ]
        operands: list[Operand] = []
        for slot, operand, given in zip(instruction.row.slots, instruction.operands, reads, strict=True):
            if isinstance(operand, Virtual) and slot.role is Role.OUT:
                operands.append(fresh(operand))
            elif isinstance(operand, Virtual) and slot.role is Role.INOUT:
                assert isinstance(given, Virtual)
                operands.append(Tied(given, fresh(operand)))
            else:
                operands.append(given)
        result.append(replace(instruction, operands=tuple(operands)))
    return result


def _reading(slot: Slot, operand: Operand, read: Callable[[Virtual], Virtual]) -> Operand:
    """The operand with the values that it reads by their present names."""
    if isinstance(operand, Memory):
        base = read(operand.base) if isinstance(operand.base, Virtual) else operand.base
        index = read(operand.index) if isinstance(operand.index, Virtual) else operand.index
        return replace(operand, base=base, index=index)
    if isinstance(operand, Virtual) and slot.role is not Role.OUT:
        return read(operand)
    return operand
