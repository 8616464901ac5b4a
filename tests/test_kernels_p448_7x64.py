"""The shipped script of p448 in seven words: values, promises, and how long its routines are."""

from __future__ import annotations

from random import Random

import pytest
from plain import SEED, TARGETS, PlainTests, element, given
from sizes import products
from vectors import emulated

from emulate.compare import judge

P = 2**448 - 2**224 - 1


class TestP448(PlainTests):
    script, p = "p448_7x64", P
    programs = {"invert": 12, "sqrt_ratio": 12, "ladder_step": 150}
    # Fourteen words of the square fill the 15 registers of amd64 alone: the counter and three words of the state spend
    # the pass in memory.
    carried = {"amd64": 4, "arm64": 0}
    # Fully reduced, and below the fewest known in limbs that are not, 287 and 205 on arm64; of our C gcc -O2 makes 568
    # and 418 on amd64.
    most = {
        ("mul", "arm64"): 272, ("sqr", "arm64"): 185, ("square_n", "arm64"): 205, ("add", "arm64"): 42,
        ("mul", "amd64"): 254, ("sqr", "amd64"): 210, ("square_n", "amd64"): 275, ("add", "amd64"): 52,
    }  # fmt: skip

    def test_promises(self) -> None:
        """Any seven words are taken; all that is not only moved is the one value below the modulus."""
        moved = ("select", "lookup", "swap", "ladder_step")
        for name, kernel in self.kernels.items():
            if kernel.signature.outputs and name != "to_bytes":
                assert given(kernel).value_max == (2**448 - 1 if name in moved else P - 1), name
            for parameter in kernel.signature.inputs:
                if parameter.contract.kind == "element":
                    assert parameter.contract.value_max == 2**448 - 1, name

    @pytest.mark.parametrize("target", TARGETS)
    @pytest.mark.parametrize("name", ["mul", "add", "sub"])
    def test_words_of_ones_and_zeros(self, name: str, target: str) -> None:
        """Every pattern of full and empty words in one operand: carries run as far as they can."""
        kernel, rng = self.kernels[name], Random(SEED)
        for pattern in range(128):
            a = tuple(2**64 - 1 if pattern >> k & 1 else 0 for k in range(7))
            b = tuple(rng.choice([0, 1, 2**32, 2**64 - 2**32, 2**64 - 1]) for _ in range(7))
            for inputs in ((a, b), (b, a), (a, a)):
                _, outputs = next(emulated(kernel, inputs, target))
                assert not judge(kernel, inputs, outputs), inputs

    def test_all_pairs_of_edges(self) -> None:
        """Sums, differences and products next to multiples of the modulus, on plain integers."""
        kernels = self.kernels
        edges = [value for value in self.edges if value < 2**448]
        for x in edges:
            for y in edges:
                assert kernels["add"](x, y).value == (x + y) % P, (x, y)
                assert kernels["sub"](x, y).value == (x - y) % P, (x, y)
                assert kernels["mul"](x, y).value == x * y % P, (x, y)

    def test_products(self) -> None:
        for target, factor in (("amd64", 1), ("arm64", 2)):
            assert products(self.kernels["mul"], target) == factor * 49
            assert products(self.kernels["sqr"], target) == factor * 28
        assert element(self.kernels["mul"]).words == 7

    def test_roots(self) -> None:
        sqrt_ratio = self.kernels["sqrt_ratio"]
        for u, v in ((4, 1), (-4, 1), (2, 1), (-2, 1), (0, 1), (0, 0), (1, 0), (9, 4), (3, 5), (7, P - 2)):
            root, square = sqrt_ratio(u % P, v % P)
            ratio = u * pow(v, P - 2, P) % P
            assert root.value % 2 == 0 and root.value**2 % P == (ratio if square else -ratio % P), (u, v)
            assert square == (u % P == 0 or (v % P != 0 and pow(ratio, (P - 1) // 2, P) == 1)), (u, v)
