"""Scheduling: any order that it gives computes the same, and keeps flags where they belong."""

from __future__ import annotations

import random

import pytest
from random_kernels import random_inputs, random_traced, wanted
from routines import call

from asmgen.passes import FREEDOMS, Options, select
from asmgen.passes.dependence import bits, closure, graph
from asmgen.passes.lower import lower
from asmgen.passes.schedule import Freedom, schedule
from asmgen.routine import Straight
from asmgen.scripts import load
from asmgen.targets.cores import core

SEED = 20260403


@pytest.mark.parametrize("target", ["amd64", "arm64"])
@pytest.mark.parametrize("seed", range(SEED, SEED + 20))
def test_random_kernels_keep_their_values(seed: int, target: str) -> None:
    rng = random.Random(seed)
    loop = seed % 4 == 0
    traced = random_traced(rng, rng.randrange(8, 25), loop=loop)
    routine = select(lower(traced), Options(target))
    for window in (*(freedom.window for freedom in FREEDOMS[target]), 10_000):
        for registers in (4, 12, 1000):
            ordered = schedule(routine, core("generic", target), Freedom(window, registers))
            given = random_inputs(rng, traced, loop)
            got = call(ordered, traced.signature, given)
            assert got == wanted(traced, given), f"seed {seed}, window {window}, inputs {given}"


@pytest.mark.parametrize("target", ["amd64", "arm64"])
def test_freedom_brings_multiplications_forward(target: str) -> None:
    routine = select(lower(load("curve25519_5x51").kernels["mul"].trace()), Options(target))

    def distance(window: int) -> int:
        """Positions from each product's high half to its reader, summed."""
        ordered = schedule(routine, core("generic", target), Freedom(window, 1000)).parts[0]
        assert isinstance(ordered, Straight)
        made = {value: at for at, each in enumerate(ordered.instructions) if each.row.cost.startswith("mul")
                for value in each.written}  # fmt: skip
        return sum(
            at - made[value] for at, each in enumerate(ordered.instructions) for value in each.read if value in made
        )

    assert distance(16) > distance(0)


def test_the_same_every_time() -> None:
    routine = select(lower(load("curve25519_5x51").kernels["sqr"].trace()), Options("amd64"))
    orders = [schedule(routine, core("generic", "amd64"), Freedom(16, 14)) for _ in range(2)]
    assert orders[0] == orders[1]


def test_a_value_is_overwritten_after_its_other_readers() -> None:
    """Preferences order readers before the instruction that destroys a value, and never make a cycle."""
    routine = select(lower(load("curve25519_5x51").kernels["mul"].trace()), Options("amd64"))
    part = routine.parts[0]
    assert isinstance(part, Straight)
    made = graph(part.instructions, routine.homes)
    ancestors = closure(made.before)
    assert all(not ancestors[index] >> index & 1 for index in range(len(made)))
    masks = [index for index, each in enumerate(part.instructions) if each.row.name == "and_rr"]
    shifts = [index for index, each in enumerate(part.instructions) if each.row.name.startswith("sh")]
    assert masks and any(shift in set(bits(made.before[mask])) for mask in masks for shift in shifts)
