"""emulate.alike: a second argument that two routines do the same, which must never hold of two that do not."""

from __future__ import annotations

import random
from dataclasses import replace
from functools import cache
from itertools import islice

import pytest

from asmgen.routine import Item
from asmgen.scripts import find
from asmgen.targets import amd64, arm64
from asmgen.targets.row import Instruction
from emulate.alike import alike
from emulate.mutants import mutants
from emulate.mutation import Routine, judged, variants

SEED = 20260401
NAMES = ("curve25519_5x51.canon", "p256.equal", "secp256k1_4x64.sub", "curve25519_4x64.lookup")


@cache
def routines() -> list[Routine]:
    return variants(find(NAMES))


def test_every_straight_routine_is_like_itself() -> None:
    for routine in routines():
        assert alike(routine.code, routine.code.items), routine.name
    for routine in variants(find(["p256.square_n"])):
        assert not alike(routine.code, routine.code.items)  # a loop is not followed


def test_what_emulation_tells_apart_is_never_alike() -> None:
    compared = 0
    for routine in routines():
        for mutant in islice(mutants(routine.code, random.Random(f"{SEED} {routine.name}")), 20):
            _, wrong = judged(routine, mutant, 64, SEED)
            if wrong is not None:
                compared += 1
                assert not alike(routine.code, mutant.items), f"{routine.name}: {mutant.description}: {wrong}"
    assert compared > 150


def around(target: str) -> tuple[Routine, tuple[Item, ...]]:
    routine = next(each for each in routines() if each.name == f"secp256k1_4x64.sub {target}")
    return routine, routine.code.items


def test_a_dead_result_an_order_and_another_form_are_alike() -> None:
    routine, items = around("amd64")
    r, ins = amd64.REGISTERS, amd64.ins
    last = len(items) - 1
    assert alike(routine.code, (*items[:last], ins("xor_rr", r["r11"], r["r11"]), *items[last:]))
    loads = [at for at, item in enumerate(items) if isinstance(item, Instruction) and item.row.name == "mov_rm"]
    one, other = loads[:2]
    swapped = list(items)
    swapped[one], swapped[other] = items[other], items[one]
    assert other == one + 1 and alike(routine.code, swapped)
    routine, items = around("arm64")
    x = arm64.REGISTERS
    for dead in (arm64.ins("movz", x["x16"], 7, 0), arm64.ins("adds", x["x16"], x["x16"], x["x16"])):
        assert alike(routine.code, (*items[:-1], dead, items[-1]))


@pytest.mark.parametrize(
    ("name", "operands"),
    [("add_ri", ("rsp", 8)), ("xor_rr", ("rbx", "rbx")), ("mov_rm", ("rax", 4096))],
    ids=["the stack pointer", "a preserved register", "a load beyond the buffer"],
)
def test_what_a_caller_may_see_is_not_alike(name: str, operands: tuple[str | int, ...]) -> None:
    routine, items = around("amd64")
    r = amd64.REGISTERS
    made = [r[each] if isinstance(each, str) else each for each in operands]
    if name == "mov_rm":
        made[1] = amd64.Memory(r["rdi"], 4096)  # type: ignore[assignment]
    extra = amd64.ins(name, *made)
    assert not alike(replace(routine.code, items=items), (*items[:-1], extra, items[-1]))
