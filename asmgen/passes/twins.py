"""Other instructions that do the same to the same registers, which a plan may have in a finished routine.

They differ in the flags that they write, in bytes and in what executes them: ADC and ADCX, additions and LEA. A line
keeps its readers of flags tied to those who wrote them for them; with other instructions other orders are legal.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from asmgen.errors import AsmgenError
from asmgen.passes.webs import Line
from asmgen.targets import amd64
from asmgen.targets.row import Instruction, Memory, Register

_CHAINED = {"adc_rr": "adcx_rr", "adc_rm": "adcx_rm", "adcx_rr": "adc_rr", "adcx_rm": "adc_rm"}


def other(instruction: Instruction) -> Instruction | None:
    """The instruction's other form, with its registers; None where it has none."""
    row, operands = instruction.row, instruction.operands
    if row is not amd64.ROWS.get(row.name):  # of another target
        return None
    if row.name in _CHAINED:
        return replace(instruction, row=amd64.ROWS[_CHAINED[row.name]])
    if row.name not in ("add_rr", "add_ri", "sub_ri"):
        return None
    target, source = operands
    if not isinstance(target, Register):
        return None
    if isinstance(source, int):
        address = Memory(target, source if row.name == "add_ri" else -source)
    elif isinstance(source, Register) and source.name != "rsp":
        address = Memory(target, 0, source, 1)
    else:
        return None
    if not -(1 << 31) <= address.offset < 1 << 31:
        return None
    return replace(instruction, row=amd64.ROWS["lea_rm"], operands=(target, address))


def possible(line: Line, at: int, features: Collection[str]) -> bool:
    """Whether an instruction may take its other form: what is read of its flags has to be there, and no feature may be
    needed that the routine does without."""
    was = line.instructions[at]
    made = other(was)
    if made is None or made.row.reads != was.row.reads:
        return False
    if made.row.feature and made.row.feature not in features:
        return False
    read = {flag for pairs in (*line.reads, line.wanted) for flag, writer in pairs if writer == at}
    return read <= made.row.writes


def with_others(lines: Iterable[Line], others: Collection[int], features: Collection[str]) -> tuple[Line, ...]:
    """Lines whose instructions at these positions of the routine take their other forms; AsmgenError where one has
    none."""
    left = set(others)
    made = []
    for line in lines:
        mine = sorted(each - line.first for each in left if line.first <= each < line.first + len(line))
        left -= {line.first + at for at in mine}
        if not all(possible(line, at, features) for at in mine):
            raise AsmgenError("an instruction that is to take another form has none")
        touches = list(line.touches)
        for at in mine:
            changed = other(line.instructions[at])
            assert changed is not None
            touches[at] = changed.row.flags_touched
        made.append(replace(line, touches=tuple(touches), others=frozenset(mine)) if mine else line)
    if left:
        raise AsmgenError("an instruction that is to take another form is in no straight line")
    return tuple(made)
