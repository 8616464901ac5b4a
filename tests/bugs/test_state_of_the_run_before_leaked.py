"""R35: flags and registers that one run left made the next one come out differently."""

from __future__ import annotations

from dataclasses import replace

import pytest
from shipped import VARIANTS, kernel

from asmgen.passes import Options
from emulate.campaign import job
from emulate.inputs import Generator
from emulate.machine import Machine

SEED = 20260401


def machine(name: str, target: str, features: str) -> Machine:
    made = job(kernel("p256", name), Options(target, features))
    return Machine(made.target, made.code, made.entry, made.kernel.signature, made.features, stack=made.stack)


@pytest.mark.parametrize("target, features", VARIANTS)
def test_entry_state_does_not_matter(target: str, features: str) -> None:
    """The same inputs with other junk in registers, flags and outputs."""
    for name in ("mul", "sub", "square_n"):
        run = machine(name, target, features).run
        block = Generator(kernel("p256", name).signature, SEED).block(0, 200)
        other = Generator(kernel("p256", name).signature, SEED + 1).block(0, 200)
        assert block.junk != other.junk
        first, second = run(block), run(replace(block, junk=other.junk))
        assert first.fault is None and first.columns == second.columns


@pytest.mark.parametrize("target, features", VARIANTS)
def test_one_after_the_other_and_alone(target: str, features: str) -> None:
    """In one emulator: the second time, and after inputs that leave carries behind."""
    one = machine("mul", target, features)
    inputs = ((1, 2, 3, 4), (5, 6, 7, 8))
    alone = machine("mul", target, features).call(inputs)
    top = (2**64 - 2, 2**32 - 1, 0, 2**64 - 2**32)
    for between in (inputs, (top, top), ((0,) * 4, top)):
        one.call(between)
        assert one.call(inputs) == alone
