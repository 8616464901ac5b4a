"""Lowering: the words compute what the exact integers say, with no carry that bounds do not allow to drop."""

from __future__ import annotations

import random

import pytest
from random_kernels import random_inputs, random_traced, wanted

from asmgen.passes.lower import lower
from asmgen.words import LoopOp, Op, Program, run

SEED = 20260401


@pytest.mark.parametrize("seed", range(SEED, SEED + 150))
def test_random_kernels_keep_their_values(seed: int) -> None:
    rng = random.Random(seed)
    loop = seed % 3 == 0
    traced = random_traced(rng, rng.randrange(4, 25), loop=loop)
    program = lower(traced)
    for _ in range(12):
        given = random_inputs(rng, traced, loop)
        outputs, _ = run(program, given)
        assert outputs["out"] == wanted(traced, given), f"seed {seed}, inputs {given}"


@pytest.mark.parametrize("seed", range(SEED, SEED + 40))
def test_words_stay_within_the_bounds_that_are_claimed(seed: int) -> None:
    """Every word's `most` holds on every run."""
    rng = random.Random(seed)
    traced = random_traced(rng, 20)
    program = lower(traced)
    probe = Program(
        program.signature, tuple(op for op in program.ops if isinstance(op, Op) and op.kind != "store"), None
    )
    from asmgen import words

    for _ in range(8):
        given = random_inputs(rng, traced)
        known: dict[object, int] = {}
        for op in probe.ops:
            assert isinstance(op, Op)
            words._step(op, known, given, {})  # type: ignore[arg-type]
            for out in op.outs:
                if isinstance(out, words.Word):
                    assert known[out] <= out.most, f"seed {seed}: {op.kind} gives {known[out]:#x} above {out.most:#x}"


def test_identical_products_are_found_once() -> None:
    rng = random.Random(SEED)
    traced = random_traced(rng, 30)
    program = lower(traced)
    products = [frozenset(op.ins) for op in program.ops if isinstance(op, Op) and op.kind == "mul"]
    assert len(products) == len(set(products))


def test_nothing_unread_is_kept() -> None:
    for seed in range(SEED, SEED + 30):
        program = lower(random_traced(random.Random(seed), 25))
        read = {term for op in program.ops for term in (op.ins if isinstance(op, Op) else op.initial)}
        for op in program.ops:
            if isinstance(op, LoopOp) or op.kind == "store":
                continue
            assert any(out in read for out in op.outs if out is not None), f"seed {seed}: {op.kind} is read by nobody"
