"""R17: immediates just past the edge were refused by some assemblers only, or became a load from a literal pool."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from asmgen.errors import AsmgenError
from asmgen.targets import arm64
from asmgen.targets.row import Memory, Operand

X, Y, Z = (arm64.REGISTERS[name] for name in ("x8", "x9", "x10"))
MASK = 2**64 - 1
#: A form, what it takes at the edge, and what it does not.
EDGES: list[tuple[str, Sequence[Operand], list[int], list[int]]] = [
    ("add_imm", (X, Y), [0, 4095, 4096, 4095 << 12], [-1, 4097, 0x1000000, (4095 << 12) + 1]),
    ("sub_imm", (X, Y), [0, 4095, 4096, 4095 << 12], [-1, 4097, 0x1000000]),
    ("cmp_imm", (X,), [0, 4095, 4096], [4097, 0x1000000]),
    ("and_imm", (X, Y), [2**51 - 1, 2**52 - 2, 1, 2**63, MASK - 1, 0xFFFFFFFF00000000], [0, MASK, 5, 2**51 - 3]),
    ("orr_imm", (X, Y), [2**51 - 1, 2**52 - 2], [0, MASK, 19]),
]


@pytest.mark.parametrize("name, operands, good, bad", EDGES, ids=[edge[0] for edge in EDGES])
def test_at_the_edge_and_past_it(name: str, operands: Sequence[Operand], good: list[int], bad: list[int]) -> None:
    for value in good:
        assert arm64.ins(name, *operands, value).operands[-1] == value
    for value in bad:
        with pytest.raises(AsmgenError, match="operand"):
            arm64.ins(name, *operands, value)


def test_pairs_reach_so_far() -> None:
    for offset in (-512, -8, 0, 504):
        arm64.ins("ldp", X, Y, Memory(Z, offset))
    for offset in (-520, 4, 512):
        with pytest.raises(AsmgenError, match="operand"):
            arm64.ins("ldp", X, Y, Memory(Z, offset))


@pytest.mark.parametrize("shift", range(0, 80, 8))
def test_parts_of_words_stand_at_multiples_of_16(shift: int) -> None:
    if shift in (0, 16, 32, 48):
        arm64.ins("movk", X, 65535, shift)
    else:
        with pytest.raises(AsmgenError, match="operand"):
            arm64.ins("movk", X, 65535, shift)


@pytest.mark.parametrize("constant", [0xFFFFFFFF00000001, 2**51 - 1, 2**64 - 19, 0x123456789ABCDEF0, 0, 1, 65536, MASK])
def test_constants_are_made_of_moves_alone(constant: int) -> None:
    from asmgen.passes.machine import machine

    made = machine("arm64").constant(X, constant)
    assert {each.row.mnemonic for each in made} <= {"movz", "movn", "movk", "mov"} and len(made) <= 4
    assert not [each for each in made if any(isinstance(operand, Memory) for operand in each.operands)]
