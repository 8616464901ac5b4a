"""The shipped script of P-384: values, bounds, and how long its routines are."""

from __future__ import annotations

from random import Random

import pytest
from montgomery import SEED, MontgomeryTests
from sizes import products, sizes
from vectors import emulated

from emulate.compare import judge

P = 2**384 - 2**128 - 2**96 + 2**32 - 1

#: Instructions without the mark for indirect branches: well below the fewest known on arm64, 276 and 218, and below
#: what compilers make of C on amd64, 385 and 299.
MOST = {
    ("mul", "arm64"): 252, ("sqr", "arm64"): 190, ("square_n", "arm64"): 200,
    ("mul", "amd64"): 268, ("sqr", "amd64"): 236, ("square_n", "amd64"): 260,
}  # fmt: skip


class TestP384(MontgomeryTests):
    script, p, bits = "p384", P, 384
    programs = {"invert": 20, "sqrt": 20}
    # Twelve words of the square and what folds them are more than the 15 registers of amd64: the counter and one word
    # of the state spend the pass in memory.
    carried = {"amd64": 2, "arm64": 0}

    def test_sizes(self) -> None:
        for (name, target), most in MOST.items():
            assert sizes(self.kernels[name], target).instructions <= most, (name, target)

    def test_products(self) -> None:
        """36 and 21 products of words, and none for the quotients."""
        for target, factor in (("amd64", 1), ("arm64", 2)):
            assert products(self.kernels["mul"], target) == factor * 36
            assert products(self.kernels["sqr"], target) == factor * 21

    def test_nothing_is_spilled(self) -> None:
        assert all(sizes(self.kernels[name], "arm64").slots == 0 for name in ("mul", "sqr", "square_n"))

    def test_quotients(self) -> None:
        """-1 / P modulo 2^128 is 1 + 2^32 + 2^64, which the reduction rests on."""
        assert -pow(P, -1, 2**128) % 2**128 == 1 + 2**32 + 2**64
        assert P == 2**384 - 2**128 - (2**96 - 2**32) - 1

    @pytest.mark.parametrize("target", ["amd64", "arm64"])
    def test_digits_at_their_ends(self, target: str) -> None:
        """32-bit digits of zeros and ones alone: every carry between the digits of the quotients, both ways."""
        rng = Random(SEED)
        from_mont, mul = self.kernels["from_mont"], self.kernels["mul"]
        for _ in range(400):
            x = sum(rng.choice([0, 1, 2**32 - 2, 2**32 - 1, 2**31]) << at for at in range(0, 384, 32)) % P
            words = tuple(x >> at & 2**64 - 1 for at in range(0, 384, 64))
            for kernel, given in ((from_mont, (words,)), (mul, (words, words))):
                _, outputs = next(emulated(kernel, given, target))
                assert not judge(kernel, given, outputs), (kernel, hex(x))

    def test_square_roots(self) -> None:
        sqrt, r = self.kernels["sqrt"], self.r
        for x in (0, 1, 2, 3, 4, 5, P - 1, P - 4, 2**383, SEED):
            root, found = sqrt(x * r % P)
            assert found == (pow(x, (P - 1) // 2, P) in (0, 1)), x
            assert root.value == pow(x, (P + 1) // 4, P) * r % P, x
