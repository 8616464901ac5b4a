"""emulate.decided: a solver's answer whether two routines are the same, which emulation must never contradict."""

from __future__ import annotations

import random
from collections import Counter
from itertools import islice

import pytest

from asmgen.scripts import find
from emulate.decided import OPEN, SAME, WRONG, decided
from emulate.mutants import Mutant, mutants
from emulate.mutation import Routine, judged, variants

SEED = 20260401
NAMES = ("curve25519_4x64.is_zero", "p256.canon", "p256.equal", "secp256k1_4x64.select", "p448_7x64.from_bytes")


@pytest.mark.parametrize("name", NAMES)
def test_the_answers_are_those_of_emulation(name: str) -> None:
    """What emulation finds wrong is never the same, and the solver finds most of it with an input of its own."""
    answers: Counter[str] = Counter()
    for routine in variants(find([name])):
        for mutant in islice(mutants(routine.code, random.Random(f"{SEED} {routine.name}")), 6):
            _, wrong = judged(routine, mutant, 1000, SEED)
            if wrong is not None:
                answer = decided(routine, mutant)
                answers[answer] += 1
                assert answer != SAME, f"{routine.name}: {mutant.description}: {wrong}"
    assert answers[WRONG] > 2 and answers[WRONG] >= answers[OPEN], answers


def routine_of(name: str) -> Routine:
    (found,) = (each for each in variants(find([name.split()[0]])) if each.name == name)
    return found


def test_a_routine_is_the_same_as_itself() -> None:
    for name in NAMES:
        routine = routine_of(f"{name} arm64")
        assert decided(routine, Mutant("none", 0, "nothing", routine.code.items)) == SAME


def test_a_carry_that_almost_never_is_gets_an_input() -> None:
    """A wrong order of two carries in canon is wrong for one value in 2^64 only: emulation's vectors may miss it."""
    routine = routine_of("secp256k1_4x64.canon amd64")
    dropped = [each for each in mutants(routine.code, random.Random(SEED)) if each.fault == "carry dropped"]
    assert {decided(routine, each) for each in dropped} == {WRONG}


def test_loops_and_products_of_unknowns_are_left_open() -> None:
    for name in ("p256.square_n amd64", "curve25519_4x64.lookup arm64"):
        routine = routine_of(name)
        mutant = next(mutants(routine.code, random.Random(SEED)))
        assert decided(routine, mutant) == OPEN
