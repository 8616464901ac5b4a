"""The shipped script of p448 in eight limbs: values, promises, and how long its routines are."""

from __future__ import annotations

from random import Random

import pytest
from plain import SEED, TARGETS, PlainTests, element, given
from sizes import products, sizes
from vectors import emulated

from emulate.compare import judge

P = 2**448 - 2**224 - 1
LOOSE, TIGHT = (2**57 + 2**10 - 1,) * 8, (2**56 + 2**9 - 1,) * 8


class TestP448(PlainTests):
    script, p = "p448_8x56", P
    more = {"carry": lambda a: (a,)}
    programs = {"invert": 12, "sqrt_ratio": 12, "ladder_step": 150}
    empty = "carry"
    # The fewest known on arm64 are 287 and 205; gcc -O2 makes 416 and 289 of our C on amd64.
    most = {
        ("mul", "arm64"): 257, ("sqr", "arm64"): 192, ("square_n", "arm64"): 220,
        ("mul", "amd64"): 302, ("sqr", "amd64"): 230, ("square_n", "amd64"): 285,
    }  # fmt: skip

    def test_promises(self) -> None:
        """Products take a sum of two products or differences; all but sums is carried."""
        kernels = self.kernels
        assert all(2 * tight <= loose for tight, loose in zip(TIGHT, LOOSE, strict=True))
        for name in ("mul", "sqr", "square_n", "mul_small"):
            assert (element(kernels[name]).limb_max, given(kernels[name]).limb_max) == (LOOSE, TIGHT), name
        for name in ("add", "sub", "neg"):
            found = element(kernels[name]).limb_max, given(kernels[name]).limb_max
            assert found == (TIGHT, LOOSE if name == "add" else TIGHT), name
        for name in ("carry", "canon", "to_bytes", "is_zero", "absolute"):
            assert element(kernels[name]).limb_max == (2**64 - 1,) * 8, name
        for name in ("canon", "absolute", "from_bytes"):
            assert given(kernels[name]).value_max == P - 1, name

    @pytest.mark.parametrize("target", TARGETS)
    @pytest.mark.parametrize("name", ["mul", "sqr"])
    def test_limbs_at_the_bound(self, name: str, target: str) -> None:
        """Halves at their bounds or at nothing make the largest and the smallest columns."""
        kernel, rng = self.kernels[name], Random(SEED)
        for _ in range(100):
            a, b = (tuple(rng.choice([0, most, most, rng.randint(0, most)]) for most in LOOSE) for _ in range(2))
            for x, y in ((a, b), ((*LOOSE[:4], 0, 0, 0, 0), (*LOOSE[:4], 0, 0, 0, 0)), (LOOSE, LOOSE)):
                inputs = (x, y) if name == "mul" else (x,)
                _, outputs = next(emulated(kernel, inputs, target))
                assert not judge(kernel, inputs, outputs), inputs

    def test_columns_fill_their_word_and_no_more(self) -> None:
        """The way without carries needs every column between 0 and 2^64."""
        for name in ("mul", "sqr"):
            traced = self.kernels[name].trace({"columns": 1})
            columns = [node.args[0] for out in traced.outputs for limb in out for node in limb.args if node.op == "low"]
            assert len(columns) == 8
            assert all(0 <= column.interval.low and column.interval.high < 2**64 for column in columns)
            assert max(column.interval.high for column in columns) > 2**63

    def test_canon_of_every_pattern(self) -> None:
        canon, rng = self.kernels["canon"], Random(SEED)
        edges = [0, 1, 2**56 - 2, 2**56 - 1, 2**56, 2**64 - 1]
        for _ in range(1500):
            limbs = [rng.choice(edges) for _ in range(8)]
            assert canon(limbs).value == sum(limb << 56 * k for k, limb in enumerate(limbs)) % P, limbs
        for value in (P - 1, P, P + 1, 2 * P - 1, 2 * P, 2**448 - 1, 2**448, 2**448 + 2**224):
            assert canon(value).value == value % P

    def test_each_target_has_the_way_that_is_shorter_there(self) -> None:
        """Three products of 16, three squares of 10; the ones with halves take no carry at all."""
        for name, count in (("mul", 48), ("sqr", 30)):
            assert products(self.kernels[name], "amd64") == sizes(self.kernels[name], "amd64").names["mulx"] == count
            assert products(self.kernels[name], "arm64") == 2 * count
            assert not {"adc", "adcs"} & set(sizes(self.kernels[name], "arm64").names)

    def test_roots(self) -> None:
        sqrt_ratio = self.kernels["sqrt_ratio"]
        for u, v in ((4, 1), (-4, 1), (2, 1), (-2, 1), (0, 1), (0, 0), (1, 0), (9, 4), (3, 5), (7, P - 2)):
            root, square = sqrt_ratio(u % P, v % P)
            ratio = u * pow(v, P - 2, P) % P
            assert root.value % 2 == 0 and root.value**2 % P == (ratio if square else -ratio % P), (u, v)
            assert square == (u % P == 0 or (v % P != 0 and pow(ratio, (P - 1) // 2, P) == 1)), (u, v)
