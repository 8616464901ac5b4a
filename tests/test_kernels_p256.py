"""The shipped script of P-256: values, bounds, and how long its routines are."""

from __future__ import annotations

import pytest
from montgomery import SEED, MontgomeryTests
from sizes import products, sizes

P = 2**256 - 2**224 + 2**192 + 2**96 - 1

#: Instructions without the mark for indirect branches: at most the fewest known on arm64, and well below what compilers
#: make of C on amd64.
MOST = {
    ("mul", "arm64"): 114, ("sqr", "arm64"): 92, ("square_n", "arm64"): 97,
    ("mul", "amd64"): 124, ("sqr", "amd64"): 109, ("square_n", "amd64"): 128,
}  # fmt: skip


class TestP256(MontgomeryTests):
    script, p = "p256", P
    programs = {"invert": 30, "sqrt": 30}

    def test_sizes(self) -> None:
        for (name, target), most in MOST.items():
            assert sizes(self.kernels[name], target).instructions <= most, (name, target)

    def test_products(self) -> None:
        """16 and 10 products of words, and one a word of the quotient."""
        for target, factor in (("amd64", 1), ("arm64", 2)):
            assert products(self.kernels["mul"], target) == factor * (16 + 4)
            assert products(self.kernels["sqr"], target) == factor * (10 + 4)

    @pytest.mark.parametrize("target", ["amd64", "arm64"])
    def test_nothing_is_spilled(self, target: str) -> None:
        assert sizes(self.kernels["mul"], target).slots == sizes(self.kernels["sqr"], target).slots == 0

    def test_square_roots(self) -> None:
        sqrt, r = self.kernels["sqrt"], pow(2, 256, P)
        for x in (0, 1, 2, 3, 4, 5, P - 1, P - 4, 2**255, SEED):
            root, found = sqrt(x * r % P)
            assert found == (pow(x, (P - 1) // 2, P) in (0, 1)), x
            assert root.value == pow(x, (P + 1) // 4, P) * r % P, x

    def test_the_chains(self) -> None:
        from asmgen.chains import best

        assert (best(P - 2).squarings, best(P - 2).multiplications) <= (255, 12)
        assert (best((P + 1) // 4).squarings, best((P + 1) // 4).multiplications) <= (253, 7)
