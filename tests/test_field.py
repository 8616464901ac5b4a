"""Fields, their limbs, and the bounds of contracts."""

from __future__ import annotations

from random import Random

import pytest

from asmgen import Field
from asmgen.contracts import Element
from asmgen.errors import AsmgenError
from asmgen.values import Exact

P = 2**255 - 19
FE = Field("curve25519", P, limbs=[51] * 5)
UNEVEN = Field("curve25519", P, limbs=[26, 25] * 5)
P256 = Field("p256", 2**256 - 2**224 + 2**192 + 2**96 - 1, limbs=[64] * 4, montgomery=2**256)


def test_positions() -> None:
    assert FE.positions == (0, 51, 102, 153, 204)
    assert UNEVEN.positions[:4] == (0, 26, 51, 77)
    assert FE == Field("curve25519", P, limbs=(51,) * 5) and hash(FE) == hash(Field("curve25519", P, [51] * 5))


def test_limbs_below() -> None:
    loose = FE.limbs_below(2**54)
    assert loose.limb_max == (2**54 - 1,) * 5
    assert loose.value_max == sum((2**54 - 1) << 51 * i for i in range(5))
    uneven = FE.limbs_below([2**52, 2**51, 2**51, 2**51, 2**50])
    assert uneven.limb_max[0] == 2**52 - 1 and uneven.limb_max[4] == 2**50 - 1
    assert FE.limbs_below(2**64).limb_max == (2**64 - 1,) * 5


def test_below_has_the_digits_of_the_largest_value() -> None:
    canonical = FE.below(P)
    assert canonical.value_max == P - 1
    assert canonical.limb_max == (2**51 - 1,) * 5
    small = FE.below(2**60)
    assert small.limb_max == (2**51 - 1, 2**9 - 1, 0, 0, 0)
    assert FE.below(2**268).limb_max == (2**51 - 1,) * 4 + (2**64 - 1,)
    assert P256.below(P256.modulus).limb_max == (2**64 - 1,) * 3 + (2**64 - 2**32 + 1,)


def test_contracts_on_integers() -> None:
    canonical = FE.below(P)
    top = [(P - 1) >> at & 2**51 - 1 for at in FE.positions]
    assert canonical.fault(top) is None and canonical.value(top) == P - 1
    assert canonical.fault([top[0] + 1, *top[1:]]) == f"the value is {P:#x}, allowed are 0..{P - 1:#x}"
    fault = canonical.fault([-1, 0, 0, 0, 0])
    assert fault is not None and fault.startswith("limb 0 is -0x1")
    scaled = FE.limbs_below(2**54, multiple_of=8)
    assert scaled.limb_max == (2**54 - 8,) * 5
    assert scaled.fault([4, 0, 0, 0, 0]) == "limb 0 is 0x4, not a multiple of 8"
    assert scaled.residue([16, 0, 0, 0, 0]) == 2


def test_residues_in_montgomery_form() -> None:
    contract = P256.below(P256.modulus)
    assert P256.unscale * 2**256 % P256.modulus == 1 and FE.unscale == 1
    limbs = [int(limb) for limb in P256.limbs_of(7 * 2**256 % P256.modulus)]
    assert contract.residue(limbs) == 7
    assert P256.plain.below(P256.modulus).residue(limbs) == 7 * 2**256 % P256.modulus
    assert P256.plain.montgomery is None and P256.plain.plain is P256.plain and FE.plain is FE


@pytest.mark.parametrize("field", [FE, UNEVEN, P256])
def test_limbs_of_integers(field: Field) -> None:
    seed = 20260401
    rng = Random(seed)
    for _ in range(200):
        value = rng.choice([0, 1, field.modulus, (1 << field.positions[-1] + 64) - 1, rng.getrandbits(255)])
        limbs = field.limbs_of(value)
        assert limbs.value == value, (seed, value)
        assert all(limb >> width == 0 for limb, width in zip(limbs[:-1], field.limbs, strict=False))
        assert list(field.element(value)) == list(limbs) == list(field.limbs_of(limbs))
    element = field.element([1] * len(field.limbs))
    assert element.field == field and isinstance(element[0], Exact)
    assert element.value == sum(1 << at for at in field.positions)
    with pytest.raises(AsmgenError, match="has no limbs"):
        field.limbs_of(-1)
    with pytest.raises(AsmgenError, match="more than a 64-bit word holds"):
        field.limbs_of(1 << field.positions[-1] + 64)


def test_elements_need_their_limbs() -> None:
    with pytest.raises(AsmgenError, match="3 limbs, but an element of curve25519 has 5"):
        FE.element([1, 2, 3])
    with pytest.raises(AsmgenError, match="a float is no element of curve25519"):
        FE.element(1.5)


def test_contracts_are_values() -> None:
    assert FE.limbs_below(2**52) == FE.limbs_below([2**52] * 5)
    assert isinstance(FE.below(P), Element) and len({FE.below(P), FE.below(P)}) == 1
