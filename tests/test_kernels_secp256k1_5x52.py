"""The shipped script of secp256k1 in five limbs: the bounds of libsecp256k1, values, and how long its routines are."""

from __future__ import annotations

from random import Random

import pytest
from plain import SEED, TARGETS, PlainTests, element, given
from sizes import products, sizes
from vectors import emulated

from asmgen.errors import AsmgenError
from asmgen.nodes import ordered
from emulate.compare import judge

P = 2**256 - 2**32 - 977


def magnitude(m: int) -> tuple[int, ...]:
    """The largest limbs of an element of magnitude m."""
    return (*[2 * m * 2**52 - 1] * 4, 2 * m * 2**48 - 1)


PRODUCT = (*[2**52 - 1] * 4, 2**49 - 1)


class TestSecp256k1(PlainTests):
    script, p = "secp256k1_5x52", P
    without = ("swap", "absolute")
    more = {
        "normalize_weak": lambda a: (a,), "mul_int": lambda a, c: (a * c,), "is_odd": lambda a: (a % 2,),
        "to_storage": lambda a: (a,), "from_storage": lambda a: (a,),
        **{f"negate_{m}": lambda a: (-a,) for m in range(2, 8)},
    }  # fmt: skip
    programs = {"invert": 20, "sqrt": 20}
    empty = "normalize_weak"
    # gcc -O2 makes 171 and 128 of libsecp256k1's C on arm64, 229 and 186 on amd64; of ours 161 and 120, 235 and 166.
    most = {
        ("mul", "arm64"): 154, ("sqr", "arm64"): 120, ("square_n", "arm64"): 143,
        ("mul", "amd64"): 155, ("sqr", "amd64"): 140, ("square_n", "amd64"): 168,
    }  # fmt: skip

    def test_promises(self) -> None:
        """Magnitude 8 is what products take; what they give is magnitude 1 and less."""
        kernels = self.kernels
        assert magnitude(8) == (*[2**56 - 1] * 4, 2**52 - 1)
        for name in ("mul", "sqr", "square_n", "mul_small", "is_zero", "is_odd", "to_bytes", "select", "invert"):
            assert element(kernels[name], name == "select").limb_max == magnitude(8), name
        for name in ("mul", "sqr", "square_n", "mul_small", "normalize_weak"):
            assert given(kernels[name]).limb_max == PRODUCT, name
        for m in range(1, 8):
            negate = kernels["neg" if m == 1 else f"negate_{m}"]
            assert (element(negate).limb_max, given(negate).limb_max) == (magnitude(m), magnitude(m + 1))
        add, sub, mul_int = kernels["add"], kernels["sub"], kernels["mul_int"]
        assert (element(add).limb_max, element(add, 1).limb_max) == (magnitude(4), magnitude(4))
        assert (element(sub).limb_max, element(sub, 1).limb_max) == (magnitude(4), magnitude(3))
        assert element(mul_int).limb_max == magnitude(1)
        assert all(given(each).limb_max == magnitude(8) for each in (add, sub, mul_int))
        assert given(kernels["canon"]).value_max == P - 1
        for name in ("canon", "normalize_weak"):
            assert min(element(kernels[name]).limb_max) >= max(magnitude(32)), "the largest that the library makes"

    def test_no_column_overflows(self) -> None:
        """The largest columns that products make, of all sums in them."""
        for name in ("mul", "sqr"):
            whole, halves = (traced for _, traced in self.kernels[name].alternatives())
            assert max(node.interval.high for node in ordered(whole.outputs[0])) < 2**128
            sums = [node for node in ordered(halves.outputs[0]) if node.op == "high"]
            assert max(node.interval.high for node in sums) < 2**60

    @pytest.mark.parametrize("target", TARGETS)
    @pytest.mark.parametrize("name", ["mul", "sqr", "square_n"])
    def test_limbs_at_the_bound(self, name: str, target: str) -> None:
        """Every limb at its bound or at nothing, in every pattern for one operand."""
        kernel, most, rng = self.kernels[name], magnitude(8), Random(SEED)
        for pattern in range(32):
            a = tuple(limb if pattern >> k & 1 else 0 for k, limb in enumerate(most))
            b = tuple(rng.choice([0, 1, limb]) for limb in most)
            inputs = {"mul": (a, b), "sqr": (a,), "square_n": (a, 3)}[name]
            for _, outputs in emulated(kernel, inputs, target):
                assert not judge(kernel, inputs, outputs), inputs

    def test_canon_of_every_pattern(self) -> None:
        canon, edges = self.kernels["canon"], [0, 1, 2**52 - 1, 2**52, 0xFFFFEFFFFFC2F, 0xFFFFEFFFFFC2E, 2**63 - 1]
        rng = Random(SEED)
        for _ in range(1500):
            limbs = [rng.choice(edges) for _ in range(4)] + [rng.choice([0, 2**48 - 1, 2**48, 2**63 - 1])]
            assert canon(limbs).value == sum(limb << 52 * k for k, limb in enumerate(limbs)) % P, limbs

    def test_more_than_magnitude_8_is_refused(self) -> None:
        with pytest.raises(AsmgenError, match="allowed"):
            self.kernels["mul"](list(magnitude(9)), 1)

    def test_each_target_has_the_way_that_is_shorter_there(self) -> None:
        """25 and 15 products; the ones with halves take no carry at all."""
        for name, count in (("mul", 25), ("sqr", 15)):
            assert products(self.kernels[name], "amd64") == count + 6
            assert products(self.kernels[name], "arm64") == 2 * (count + 5) + 1
            assert not {"adc", "adcs"} & set(sizes(self.kernels[name], "arm64").names)

    def test_storage(self) -> None:
        store, back = self.kernels["to_storage"], self.kernels["from_storage"]
        for value in (0, 1, P - 1, 2**255, 2**52 - 1, 2**208):
            words = store(value)
            assert list(words) == [value >> at & 2**64 - 1 for at in range(0, 256, 64)] and back(words).value == value

    def test_square_roots(self) -> None:
        sqrt = self.kernels["sqrt"]
        for x in (0, 1, 2, 3, 4, 5, 7, P - 1, P - 4, P, 2**256 - 1):
            root, found = sqrt(x)
            assert found == (pow(x, (P - 1) // 2, P) in (0, 1)), x
            assert root.value % P == pow(x, (P + 1) // 4, P), x
