"""R13: the old destination of adox was taken for unread, and what made it was removed or moved."""

from __future__ import annotations

import random

import pytest

from asmgen.targets.amd64 import REGISTERS, ROWS, ins
from asmgen.targets.row import Instruction, Integers, Role

READING = [
    name
    for name, row in ROWS.items()
    if row.mnemonic.startswith(
        ("adcx", "adox", "adc", "sbb", "add", "sub", "shld", "shrd", "cmov", "btr", "bswap", "neg")
    )
    and row.slots[0].role is not Role.IN
]
SEED = 20260401


def made(name: str) -> Instruction:
    """The instruction on registers, memory at another one, and numbers."""
    from asmgen.targets.row import Memory

    places = iter((REGISTERS["rcx"], REGISTERS["r9"]))
    operands = [
        Memory(REGISTERS["rsi"], 8) if slot.kind.startswith("m") else 3 if slot.kind == "imm" else next(places)
        for slot in ROWS[name].slots
    ]
    return ins(name, *operands)


def test_there_are_such_instructions() -> None:
    assert {"adox_rr", "adcx_rr", "adc_rr", "sbb_rr", "shld_rri", "cmovc_rr", "adox_rm", "btr_ri"} <= set(READING)


@pytest.mark.parametrize("name", READING)
def test_the_destination_is_read(name: str) -> None:
    assert ROWS[name].slots[0].role is Role.INOUT
    instruction = made(name)
    changed = [operand for operand in instruction.operands[:1] if operand in REGISTERS.values()]
    assert all(operand in instruction.read and operand in instruction.written for operand in changed)


@pytest.mark.parametrize("name", READING)
def test_the_destination_matters(name: str) -> None:
    """Two states that differ in the old destination alone come out different."""
    row, rng, different = ROWS[name], random.Random(SEED), 0
    for _ in range(40):
        flags = {flag: rng.getrandbits(1) for flag in ("CF", "OF", "ZF", "SF", "PF", "AF")}
        inputs = [3 if slot.kind == "imm" else rng.getrandbits(64) for slot in row.slots]
        other = [rng.getrandbits(64), *inputs[1:]]
        different += row.meaning(Integers(), inputs, flags).values != row.meaning(Integers(), other, flags).values
    assert different > 5
