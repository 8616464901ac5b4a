"""Selection: a target's instructions on virtual registers compute what the words say."""

from __future__ import annotations

import random

import pytest
from random_kernels import random_inputs, random_traced, wanted
from routines import call

from asmgen.passes import Options, select
from asmgen.passes.lower import lower
from asmgen.routine import Straight
from asmgen.scripts import load

SEED = 20260402
VARIANTS = [("amd64", "default"), ("amd64", "base"), ("arm64", "default")]


@pytest.mark.parametrize("target, features", VARIANTS)
@pytest.mark.parametrize("seed", range(SEED, SEED + 25))
def test_random_kernels_keep_their_values(seed: int, target: str, features: str) -> None:
    rng = random.Random(seed)
    loop = seed % 4 == 0
    traced = random_traced(rng, rng.randrange(4, 20), loop=loop)
    routine = select(lower(traced), Options(target, features))
    for _ in range(6):
        given = random_inputs(rng, traced, loop)
        assert call(routine, traced.signature, given) == wanted(traced, given), f"seed {seed}, inputs {given}"


def names(
    kernel: str,
    target: str,
    features: str = "default",
    script: str = "curve25519_5x51",
    choices: dict[str, int] | None = None,
) -> list[str]:
    """The rows that a shipped kernel is selected into."""
    routine = select(lower(load(script).kernels[kernel].trace(choices)), Options(target, features))
    return [each.row.name for part in routine.parts if isinstance(part, Straight) for each in part.instructions]


def test_base_uses_no_bmi2() -> None:
    for kernel in ("mul", "sqr", "canon", "mul_small"):
        routine = select(lower(load("curve25519_5x51").kernels[kernel].trace()), Options("amd64", "base"))
        for part in routine.parts:
            assert isinstance(part, Straight)
            assert not [each.row.name for each in part.instructions if each.row.feature]


def test_sums_take_in_shifts_and_products_on_arm64() -> None:
    rows = names("mul", "arm64")
    assert rows.count("madd") == 2  # 19 * the highest carry, twice
    assert rows.count("add_lsr") == 4  # the second pass: low + (column >> 51)


def test_of_two_shifts_a_sum_takes_in_the_cheap_one_on_arm64() -> None:
    """The quotient is 2 * top + (word >> 63)."""
    rows = names("mul", "arm64", script="curve25519_4x64", choices={"quotient": 1})
    assert "lsr_imm" in rows and "add_lsr" not in rows


def test_one_multiplier_stays_in_rdx() -> None:
    routine = select(lower(load("curve25519_5x51").kernels["mul"].trace()), Options("amd64"))
    part = routine.parts[0]
    assert isinstance(part, Straight)
    held = [each.operands[3] for each in part.instructions if each.row.name == "mulx_rrr"]
    assert len(held) == 25
    assert sum(a != b for a, b in zip(held, held[1:], strict=False)) == 8  # five limbs, four of them also times 19


@pytest.mark.parametrize("target, features", VARIANTS)
def test_no_carry_is_saved_where_a_mask_is_wanted_late(target: str, features: str) -> None:
    """The top bit is cleared before the chain that the cleared word is in, not between two of its sums."""
    for kernel in ("mul", "sqr"):
        rows = names(kernel, target, features, "curve25519_4x64")
        assert not {"cmc", "cmp_ri", "cmp"} & set(rows), "what brings a saved carry back"
        assert rows.count("btr_ri" if target == "amd64" else "and_imm") == 1


def test_one_bit_is_tested_where_it_stands() -> None:
    rows = names("canon", "amd64", script="curve25519_4x64")
    assert rows.count("bt_ri") == 1
    assert "cmn" in names("canon", "arm64", script="curve25519_4x64")


def test_constants_come_by_a_mask_of_the_bit() -> None:
    """The modulus or nothing is added: no register is filled with zero, none with both."""
    rows = names("sub", "amd64", script="p256")
    assert rows.count("mask_r") == 1 and not [row for row in rows if row.startswith("cmov")]
    rows = names("sub", "arm64", script="p256")
    assert rows.count("csetm_cc") + rows.count("csetm_cs") == 1 and rows.count("and_imm") == 2
    rows = names("canon", "arm64", script="curve25519_4x64")
    assert rows.count("csel_cs") + rows.count("csel_cc") == 1 and not [row for row in rows if row.startswith("csetm")]
