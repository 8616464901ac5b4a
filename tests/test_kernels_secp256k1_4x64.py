"""The shipped script of secp256k1 in four words: values, promises, and how long its routines are."""

from __future__ import annotations

import pytest
from plain import TARGETS, PlainTests, element, given
from sizes import products, sizes
from vectors import emulated

from asmgen.emit.prose import bounds
from emulate.compare import judge

P = 2**256 - 2**32 - 977
LOOSE = ("mul_loose", "sqr_loose", "select", "lookup")


class TestSecp256k1(PlainTests):
    script, p = "secp256k1_4x64", P
    without = ("swap", "absolute")
    more = {"mul_loose": lambda a, b: (a * b,), "sqr_loose": lambda a: (a * a,)}
    programs = {"invert": 30, "sqrt": 30}
    # The fewest known on arm64, fully reduced, are 101 and 79.
    most = {
        ("mul", "arm64"): 101, ("sqr", "arm64"): 78, ("mul_loose", "arm64"): 98, ("sqr_loose", "arm64"): 75,
        ("square_n", "arm64"): 90, ("mul", "amd64"): 100, ("sqr", "amd64"): 88, ("square_n", "amd64"): 116,
    }  # fmt: skip

    def test_promises(self) -> None:
        """Any four words are taken where it costs nothing; all that is not called loose, or only moved, is reduced."""
        for name, kernel in self.kernels.items():
            if kernel.signature.outputs and name != "to_bytes":
                assert given(kernel).value_max == (2**256 - 1 if name in LOOSE else P - 1), name
            if name not in ("add", "sub", "neg", "lookup", "select", "from_bytes"):
                assert element(kernel).value_max == 2**256 - 1, name

    def test_loose_and_reduced_differ_by_the_last_subtraction(self) -> None:
        for name in ("mul", "sqr"):
            reduced, loose = (sizes(self.kernels[each], "arm64") for each in (name, f"{name}_loose"))
            assert 1 <= reduced.instructions - loose.instructions <= 5
            assert reduced.names["sbc"] == 1 and loose.names["sbc"] == 0

    def test_the_header_says_which_it_is(self) -> None:
        reduced, loose = (bounds(self.kernels[name].signature)[-1] for name in ("mul", "mul_loose"))
        assert "out" in reduced and "out" in loose and reduced != loose

    @pytest.mark.parametrize("target", TARGETS)
    @pytest.mark.parametrize("name", ["mul", "mul_loose"])
    def test_the_second_fold_carries(self, name: str, target: str) -> None:
        """Squares of which the fold of the fold carries once more: one in 2^223 does by chance."""
        kernel = self.kernels[name]
        excess = 2**32 + 977
        for value in (2**256 - excess - 2**32, 2**256 - excess - 2**32 + 2, 2**256 - 2**32, 2**256 - 1, P, P - 1):
            cut = self.limbs(element(kernel), value)
            assert cut is not None
            for _, outputs in emulated(kernel, (cut, cut), target):
                assert not judge(kernel, (cut, cut), outputs), value

    def test_products(self) -> None:
        """16 and 10 products of words, and one by the excess for each word to be folded, one for the last quotient."""
        for target, factor in (("amd64", 1), ("arm64", 2)):
            assert products(self.kernels["mul"], target) == factor * (16 + 5)
            assert products(self.kernels["sqr"], target) == factor * (10 + 5)

    def test_nothing_is_spilled_on_arm64(self) -> None:
        assert sizes(self.kernels["mul"], "arm64").slots == sizes(self.kernels["sqr"], "arm64").slots == 0

    def test_square_roots(self) -> None:
        sqrt = self.kernels["sqrt"]
        for x in (0, 1, 2, 3, 4, 5, 7, P - 1, P - 4, P, 2**256 - 1):
            root, found = sqrt(x)
            assert found == (pow(x, (P - 1) // 2, P) in (0, 1)), x
            assert root.value == pow(x, (P + 1) // 4, P), x
