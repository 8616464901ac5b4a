"""R01: with the output in an input's buffer, low limbs were stored before all of the input had been read."""

from __future__ import annotations

import random

import pytest
from language import vectors
from shipped import KERNELS, SCRIPTS, VARIANTS, accesses, code, instructions, kernel, on_stack
from vectors import calls, emulated

from asmgen.kernel import Kernel
from emulate.inputs import Input

SEED = 20260401
TARGETS = ("amd64", "arm64")


def same_everywhere(made: Kernel, inputs: tuple[Input, ...], target: str) -> None:
    """The same bytes in every way to share buffers."""
    found = {way: outputs for way, outputs in emulated(made, inputs, target)}
    assert len(found) > 2 and len(set(found.values())) == 1, (made.name, inputs, found)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", ["mul", "sqr", "add", "sub"])
def test_random_operands(name: str, target: str) -> None:
    made = kernel("curve25519_5x51", name)
    assert isinstance(made, Kernel)
    for given in vectors(made, 200, SEED):
        same_everywhere(made, tuple(tuple(given[p.name]) for p in made.signature.inputs), target)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("script", SCRIPTS)
def test_chosen_operands(script: str, target: str) -> None:
    chosen = [call for call in calls(script) if call.kernel.name in ("mul", "sqr", "add", "sub")]
    for call in random.Random(SEED).sample(chosen, 30):
        assert isinstance(call.kernel, Kernel)
        same_everywhere(call.kernel, call.inputs, target)


@pytest.mark.parametrize("target, features", VARIANTS)
def test_everything_is_read_before_anything_is_stored(target: str, features: str) -> None:
    """In every order of instructions: no load from a buffer stands behind a store to one."""
    for script in SCRIPTS:
        for name in KERNELS:
            stored = False
            for instruction in instructions(code(script, name, target, features)):
                for memory, written in accesses(instruction):
                    assert on_stack(memory) or written or not stored, (script, name, instruction)
                    stored = stored or (written and not on_stack(memory))
            assert stored
