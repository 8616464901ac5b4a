"""Polynomials are exact and canonical; intervals hold what they say."""

from __future__ import annotations

import random
from itertools import product

import pytest

from asmgen.polynomial import ZERO, Interval, Poly, add_product, below, integer_text, point

SEED = 20260401


def random_poly(source: random.Random, atoms: int = 4) -> Poly:
    total = Poly.of(source.randint(-3, 3))
    for _ in range(source.randrange(5)):
        term = Poly.of(source.choice([-1, 1, 19, 2**64, -(2**51), source.getrandbits(70)]))
        for _ in range(source.randrange(1, 4)):
            term = term * Poly.atom(source.randrange(atoms))
        total = total + term
    return total


def test_arithmetic_agrees_with_integers() -> None:
    source = random.Random(SEED)
    for _ in range(2000):
        x, y = random_poly(source), random_poly(source)
        at = {atom: source.randint(-(2**65), 2**65) for atom in range(4)}
        a, b, c = x.evaluate(at), y.evaluate(at), source.randint(-(2**64), 2**64)
        for poly, value in [
            (x + y, a + b),
            (x - y, a - b),
            (x * y, a * b),
            (-x, -a),
            (x + c, a + c),
            (c - x, c - a),
            (c * x, c * a),
            (x << 13, a << 13),
            (Poly.sum([x, y, x]), 2 * a + b),
        ]:
            assert poly.evaluate(at) == value, SEED
            assert all(poly.terms.values()), "a zero coefficient stays"
            assert all(list(monomial) == sorted(monomial) for monomial in poly.terms), "atoms out of order"
        assert x.evaluate([at[atom] for atom in range(4)]) == a


def test_equal_polynomials_are_one() -> None:
    source = random.Random(SEED)
    for _ in range(500):
        x, y, z = (random_poly(source) for _ in range(3))
        left, right = (x + y) * z, z * y + x * z
        assert left == right and hash(left) == hash(right), SEED
        assert x - x == ZERO and not x - x and (x - x).constant == 0
        assert (x == x + 1) is False


def test_normal_form_is_shared_by_all_multiples() -> None:
    source = random.Random(SEED)
    for _ in range(500):
        x = random_poly(source)
        core, factor, constant = x.normal
        assert core * factor + constant == x, SEED
        if core:
            assert (x * -76 + 5).normal.core == core
            assert min(core.terms) in core.terms and core.terms[min(core.terms)] > 0
            assert () not in core.terms


def test_constant_coefficients_and_atoms() -> None:
    x, y = Poly.atom(3), Poly.atom(1)
    assert Poly.of(7).constant == 7 and Poly.of(0).constant == 0 and x.constant is None and (x + 1).constant is None
    assert sorted((2 * x * y - 5).coefficients) == [-5, 2]
    assert (x * y + x).atoms == [1, 3]
    assert (x * y).mentions({1}) and not (x * y).mentions({2})


def test_substitute_and_exact_quotient() -> None:
    source = random.Random(SEED)
    for _ in range(300):
        x = random_poly(source)
        at = {atom: source.randint(-9, 9) for atom in range(4)}
        part = x.substitute({0: at[0], 2: at[2]})
        assert not part.mentions({0, 2}) and part.evaluate(at) == x.evaluate(at), SEED
        assert (x * 12).exact_quotient(12) == x
    assert Poly.atom(0).exact_quotient(2) is None
    assert Poly.atom(0).substitute({1: 5}) == Poly.atom(0)


def test_add_product_in_place() -> None:
    terms = dict((Poly.atom(0) * Poly.atom(1)).terms)
    add_product(terms, Poly.atom(0).terms, (1,), -1)
    assert terms == {}


@pytest.mark.parametrize("seed", range(3))
def test_intervals_hold_exactly_what_they_should(seed: int) -> None:
    source = random.Random(SEED + seed)
    for _ in range(300):
        a, c = source.randint(-9, 9), source.randint(-9, 9)
        x, y = Interval(a, a + source.randrange(5)), Interval(c, c + source.randrange(5))
        xs, ys = range(x.low, x.high + 1), range(y.low, y.high + 1)
        assert x.plus(y) == (min(xs) + min(ys), max(xs) + max(ys))
        assert x.minus(y) == (min(xs) - max(ys), max(xs) - min(ys))
        products = [p * q for p, q in product(xs, ys)]
        assert x.times(y) == (min(products), max(products)), (SEED, x, y)
        factor, offset = source.choice([-5, -1, 1, 3]), source.randint(-4, 4)
        images = [factor * p + offset for p in xs]
        assert x.scaled(factor, offset) == (min(images), max(images))
        inside = [p for p in range(-60, 60) if x.holds(factor * p + offset)]
        divided = x.divided(factor, offset)
        assert divided.empty if not inside else divided == (min(inside), max(inside))
        assert x.shifted(1) == (min(p >> 1 for p in xs), max(p >> 1 for p in xs))
        assert x.join(y) == (min(a, c), max(x.high, y.high))
        common = [p for p in xs if p in ys]
        assert x.meet(y).empty if not common else x.meet(y) == (min(common), max(common))
        assert x.within(y) == all(p in ys for p in xs)
        assert x.width == len(xs) - 1
    assert point(3) == (3, 3) and below(5) == (0, 31)


def test_text_for_people() -> None:
    x, y = Poly.atom(0), Poly.atom(1)
    names = {0: "a", 1: "b"}.__getitem__
    assert (x * y - (x << 64) + 19).text(names) == "a*b - 2^64*a + 19"
    assert (5 - x * y - (y << 1)).text(names) == "-a*b - 2*b + 5"
    assert ZERO.text(names) == "0"
    assert repr(x - 3) == "Poly(x0 - 3)"
    assert [integer_text(v) for v in (7, -7, 2**64, 2**255 - 19, 2**51 + 3, -(2**70), 0x123456789)] == [
        "7",
        "-7",
        "2^64",
        "2^255 - 19",
        "2^51 + 3",
        "-2^70",
        "0x123456789",
    ]
    assert integer_text(1 - 2**64) == "-(2^64 - 1)"
