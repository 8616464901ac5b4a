"""R15: a 64-bit constant was written as a 32-bit immediate, without a word."""

from __future__ import annotations

import re

import pytest
from vectors import emulated

from asmgen import Field, kernel
from asmgen.errors import AsmgenError
from asmgen.passes import Options, compile_kernel
from asmgen.targets.amd64 import REGISTERS, ins
from asmgen.targets.row import Instruction

P256 = 2**256 - 2**224 + 2**192 + 2**96 - 1
LIMBS = [P256 >> at & 2**64 - 1 for at in range(0, 256, 64)]
WIDE = [
    constant
    for constant in {*LIMBS, 2**51 - 1, 2**63, 2**32 - 1, 2**31, 0xFFFFFFFF00000001}
    if constant not in (0, 2**64 - 1)
]
RAX = REGISTERS["rax"]
one, three = (Field("any", 3, limbs=[64] * count).below(2 ** (64 * count)) for count in (1, 3))


@pytest.mark.parametrize("constant", WIDE, ids=hex)
@pytest.mark.parametrize("name", ["add_ri", "and_ri", "cmp_ri", "sub_ri", "test_ri", "or_ri"])
def test_no_form_takes_it(name: str, constant: int) -> None:
    with pytest.raises(AsmgenError, match=re.escape(str(2**31 - 1))):
        ins(name, RAX, constant)


@pytest.mark.parametrize("constant", WIDE, ids=hex)
def test_products_neither(constant: int) -> None:
    with pytest.raises(AsmgenError):
        ins("imul_rri", RAX, RAX, constant)


@pytest.mark.parametrize("target, features", [("amd64", "default"), ("amd64", "base"), ("arm64", "default")])
@pytest.mark.parametrize("constant", WIDE, ids=hex)
def test_scripts_get_it_whole(constant: int, target: str, features: str) -> None:
    @kernel(computes=lambda a: a * constant + constant)
    def scaled(a: one) -> three:
        x = a.value
        return x * constant + constant

    for value in (0, 1, 2, 2**32, 2**63, 2**64 - 1):
        for _, (out,) in emulated(scaled, ((value,),), target, features):
            assert isinstance(out, tuple)
            assert sum(word << 64 * i for i, word in enumerate(out)) == value * constant + constant
    for item in compile_kernel(scaled, Options(target, features)).items:
        if isinstance(item, Instruction) and target == "amd64" and not item.row.mnemonic.startswith("mov"):
            assert all(-(2**31) <= operand < 2**31 for operand in item.operands if isinstance(operand, int))
