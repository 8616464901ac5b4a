"""The count of square_n has all its 64 bits: a loop that looked at some of them would return early."""

from __future__ import annotations

import pytest
from shipped import VARIANTS, kernel
from vectors import machine

from asmgen.contracts import Element
from asmgen.scripts import shipped

#: More than three passes of any field take, far less than 2^31 do.
INSTRUCTIONS = 10_000


@pytest.mark.parametrize(("target", "features"), VARIANTS, ids=["-".join(variant) for variant in VARIANTS])
@pytest.mark.parametrize("script", shipped())
def test_the_count_is_not_cut(script: str, target: str, features: str) -> None:
    """After so many instructions a call is done for small counts and only for them."""
    square_n = kernel(script, "square_n")
    contract = square_n.signature.inputs[0].contract
    assert isinstance(contract, Element)
    emulator = machine(square_n, target, features)
    for n in (0, 1, 3, 2**31, 2**32, 2**32 + 1, 2**63, 2**64 - 1):
        block = emulator._single(((1, *(0,) * (contract.words - 1)), n), 0)
        emulator._load(emulator._engine, block, 1)
        emulator._go(emulator._engine, block, 0, limit=INSTRUCTIONS)
        assert emulator._memory.remaining == (n > 3), n
