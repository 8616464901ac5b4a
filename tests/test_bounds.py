"""Bounds are never wrong, and as good as the algorithms that rest on them need.

`ASMGEN_FUZZ=20000` runs that many random programs in place of the default.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pytest

from asmgen import bounds, knowledge
from asmgen.bounds import Impossible, Interval, Poly, Space, lengths
from asmgen.errors import AsmgenError
from asmgen.polynomial import ZERO, below, point

SEED = 20260401
PROGRAMS = int(os.environ.get("ASMGEN_FUZZ", "100"))

P25519 = 2**255 - 19
P256 = 2**256 - 2**224 + 2**192 + 2**96 - 1
P384 = 2**384 - 2**128 - 2**96 + 2**32 - 1
P448 = 2**448 - 2**224 - 1
K256 = 2**256 - 2**32 - 977
ORDER256 = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551


def compose(limbs: Sequence[Poly], width: int = 64) -> Poly:
    return Poly.sum(limb << (width * position) for position, limb in enumerate(limbs))


def element(space: Space, name: str, count: int, high: int, one_atom: bool) -> tuple[Poly, list[Poly]]:
    """A saturated element in [0, high]: one atom and its digits, or words and a bound on their value."""
    if one_atom:
        return space.word_atoms(name, high, [64] * count)
    words = [space.atom(f"{name}[{i}]", 0, 2**64 - 1) for i in range(count)]
    space.learn(compose(words), Interval(0, high))
    return compose(words), words


def limbs_below(space: Space, name: str, *highs: int) -> list[Poly]:
    return [space.atom(f"{name}[{i}]", 0, high - 1) for i, high in enumerate(highs)]


def columns_5x51(a: Sequence[Poly], b: Sequence[Poly]) -> list[Poly]:
    folded = [19 * limb for limb in b]
    return [Poly.sum(a[i] * (b[k - i] if i <= k else folded[5 + k - i]) for i in range(5)) for k in range(5)]


def carry_5x51(space: Space, columns: Sequence[Poly]) -> list[Poly]:
    low, high = zip(*(space.split(column, 51) for column in columns), strict=True)
    return [low[0] + 19 * high[4]] + [low[k] + high[k - 1] for k in range(1, 5)]


def check_on_integers(space: Space, claims: Sequence[tuple[Poly, Interval]], seed: int = SEED, count: int = 50) -> None:
    """The claims hold for random and extreme inputs."""
    source = random.Random(seed)
    inputs = [n for n, atom in enumerate(space._atoms) if atom.numerator is None]
    for index in range(count):
        given = {}
        for number in inputs:
            low, high = space._ranges[number]
            options = (low, high, source.randint(low, high), max(low, high - index))
            given[number] = options[min(index, source.randrange(4))]
        values = space.assignment(given)
        for poly, interval in claims:
            assert interval.holds(poly.evaluate(values)), (seed, given, poly, interval)


# The arithmetic of fields.


def test_curve25519_five_limbs_come_out_below_2_52() -> None:
    space = Space()
    a, b = limbs_below(space, "a", *[2**54] * 5), limbs_below(space, "b", *[2**54] * 5)
    result = carry_5x51(space, carry_5x51(space, columns_5x51(a, b)))
    claims = [(limb, space.interval(limb)) for limb in result]
    assert all(interval.within(below(52)) for _, interval in claims), claims
    assert claims[4][1].high < 2**51 + 2**12
    difference = compose(result, 51) - compose(a, 51) * compose(b, 51)
    assert all(c % P25519 == 0 for c in difference.coefficients)
    check_on_integers(space, claims)


def test_curve25519_limbs_too_large_are_not_proven() -> None:
    space = Space()
    a = limbs_below(space, "a", *[2**76] * 5)
    result = carry_5x51(space, carry_5x51(space, columns_5x51(a, a)))
    assert not all(space.interval(limb, below(52)).within(below(52)) for limb in result)


@pytest.mark.parametrize("bits", [51, 54, 64])
@pytest.mark.parametrize("parallel", [True, False])
def test_canonical_output_of_five_limbs(bits: int, parallel: bool) -> None:
    space = Space()
    limbs = limbs_below(space, "a", *[2**bits] * 5)
    if parallel:
        limbs = carry_5x51(space, limbs)
    else:
        for _ in range(2):
            carry, low = ZERO, []
            for limb in limbs:
                digit, carry = space.split(limb + carry, 51)
                low.append(digit)
            limbs = [low[0] + 19 * carry, *low[1:]]
    x = compose(limbs, 51)
    quotient = space.split(x + 19, 255)[1]
    result = x + 19 * quotient - (quotient << 255)
    assert space.interval(quotient).within(below(1))
    assert space.interval(result) == (0, P25519 - 1)


def test_canonical_output_of_one_value() -> None:
    space = Space()
    x = space.atom("x", 0, 2**255 + 2**60)
    quotient = space.split(x + 19, 255)[1]
    result = x + 19 * quotient - (quotient << 255)
    assert space.interval(result) == (0, P25519 - 1)
    check_on_integers(space, [(result, Interval(0, P25519 - 1))])
    too_much = space.atom("y", 0, 2**256)
    quotient = space.split(too_much + 19, 255)[1]
    assert space.interval(too_much + 19 * quotient - (quotient << 255)).high >= P25519


@pytest.mark.parametrize("one_atom", [True, False])
def test_curve25519_four_words_need_their_second_fold(one_atom: bool) -> None:
    space = Space()
    a, _ = element(space, "a", 4, 2**256 - 1, one_atom)
    b, _ = element(space, "b", 4, 2**256 - 1, one_atom)
    low, high = space.split(a * b, 256)
    once = low + 38 * high
    low, high = space.split(once, 256)
    twice = low + 38 * high
    assert space.interval(twice).within(Interval(0, 2**256 - 1 + 38 * 38))
    assert space.interval(twice).high >= 2**256, "it may carry once more"
    low, high = space.split(twice, 256)
    assert space.interval(low + 38 * high).within(below(256))
    low, high = space.split(twice, 255)
    assert space.interval(low + 19 * high, below(256)).within(Interval(0, 2**255 + 18))
    low, high = space.split(once, 255)
    assert space.interval(low + 19 * high).high < 2**255 + 2**11


@pytest.mark.parametrize("product", [True, False])
def test_early_quotient(product: bool) -> None:
    space = Space()
    if product:
        rest = space.atom("a", 0, 2**256 - 1) * space.atom("b", 0, 2**256 - 1)
    else:
        rest = space.atom("t", 0, 2**512 - 1)
    t = []
    for _ in range(7):
        low, rest = space.split(rest, 64)
        t.append(low)
    t.append(rest)
    quotient = space.split(38 * t[7] + t[3], 63)[1]
    result = compose(t[:4]) + 38 * compose(t[4:]) + 19 * quotient - (quotient << 255)
    interval = space.interval(result)
    assert interval.within(Interval(0, 2**255 + 2**199))
    check_on_integers(space, [(result, interval)])


def test_low_part_of_a_product_without_a_carry() -> None:
    space = Space()
    a, b = limbs_below(space, "a", 2**54)[0], limbs_below(space, "b", 2**54)[0]
    shifted = space.split((a << 10) * b, 64)[1]
    assert shifted == space.split(a * b, 54)[1], "two atoms for one floor"
    assert space.interval(a * b - (shifted << 54)) == below(54)


def test_carry_free_columns() -> None:
    space = Space()
    a, b = limbs_below(space, "a", *[2**52] * 5), limbs_below(space, "b", *[2**52] * 5)
    pairs = [(a[i], b[4 - i]) for i in range(5)]
    highs = Poly.sum(space.split((x << 12) * y, 64)[1] for x, y in pairs)
    low = Poly.sum(x * y for x, y in pairs) - (highs << 52)
    assert space.interval(low) == (0, 5 * (2**52 - 1))
    assert space.interval(highs).high < 5 * 2**52


@dataclass(frozen=True)
class Number:
    """A traced integer: its polynomial, and the best of what follows from its parts and from the polynomial."""

    space: Space
    poly: Poly
    interval: Interval

    @staticmethod
    def of(space: Space, poly: Poly, known: Interval | None = None) -> Number:
        return Number(space, poly, space.interval(poly, known=known))

    def __add__(self, other: Number) -> Number:
        return Number.of(self.space, self.poly + other.poly, self.interval.plus(other.interval))

    def __mul__(self, other: Number | int) -> Number:
        if isinstance(other, int):
            return Number.of(self.space, self.poly * other, self.interval.scaled(other))
        return Number.of(self.space, self.poly * other.poly, self.interval.times(other.interval))

    def __lshift__(self, k: int) -> Number:
        return self * (1 << k)

    def low(self, k: int) -> Number:
        return Number.of(self.space, self.space.split(self.poly, k)[0], below(k))

    def divide(self, m: int) -> Number:
        quotient = self.space.divide(self.poly, m)
        assert quotient is not None, "not proven to be a multiple"
        return Number.of(self.space, quotient, self.interval.divided(m))


@pytest.mark.parametrize(
    ("order", "one_atom"),
    [(order, one_atom) for order in ("whole product first", "row by row") for one_atom in (True, False)]
    + [("word by word", True)],
)
@pytest.mark.parametrize("modulus", [P256, P384, ORDER256, P25519], ids=["p256", "p384", "order", "p25519"])
def test_montgomery(modulus: int, order: str, one_atom: bool) -> None:
    space = Space()
    count = -(-modulus.bit_length() // 64)
    (a, a_words), (b, b_words) = (element(space, name, count, modulus - 1, one_atom) for name in "ab")
    x, y = Number.of(space, a), Number.of(space, b)
    inverse = -pow(modulus, -1, 2**64) % 2**64
    total = x * y if order == "whole product first" else Number.of(space, ZERO)
    for i in range(count):
        if order == "row by row":
            total = total + x * Number.of(space, b_words[i])
        if order == "word by word":
            for j in range(count):
                total = total + (Number.of(space, a_words[j]) * Number.of(space, b_words[i]) << 64 * j)
        q = (total.low(64) * inverse).low(64)
        total = (total + q * modulus).divide(2**64)
    assert space.interval(total.poly, Interval(0, 2 * modulus - 1)).within(Interval(0, 2 * modulus - 1))
    reached = space.at_least(total.poly, modulus)
    result = space.select(reached, total.poly - modulus, total.poly)
    assert space.interval(result) == (0, modulus - 1)
    difference = (total.poly << 64 * count) - a * b
    assert all(c % modulus == 0 for c in difference.coefficients)
    check_on_integers(space, [(total.poly, Interval(0, 2 * modulus - 1))], count=4 if one_atom else 0)


def test_montgomery_divides_by_coefficients_alone() -> None:
    """P-256: -1/P mod 2^64 is 1, so that the quotient is the low word itself."""
    space = Space()
    total = space.word_atoms("a", P256 - 1, [64] * 4)[0] * space.word_atoms("b", P256 - 1, [64] * 4)[0]
    for _ in range(4):
        total_or_none = space.divide(total + space.split(total, 64)[0] * P256, 2**64)
        assert total_or_none is not None
        total = total_or_none
    assert space.interval(total).within(Interval(0, 2 * P256 - 1))
    assert space.divide(total + 1, 2**64) is None


def test_montgomery_two_quotient_words_at_once() -> None:
    space = Space()
    a, b = (space.word_atoms(name, ORDER256 - 1, [64] * 4)[0] for name in "ab")
    total = a * b
    inverse = -pow(ORDER256, -1, 2**128) % 2**128
    for _ in range(2):
        q = space.split(space.split(total, 128)[0] * inverse, 128)[0]
        divided = space.divide(total + q * ORDER256, 2**128)
        assert divided is not None
        total = divided
    assert space.interval(total).within(Interval(0, 2 * ORDER256 - 1))


def test_secp256k1_five_limbs() -> None:
    """The order of steps of libsecp256k1's portable code, with its bounds."""
    space = Space()
    a, b = (limbs_below(space, name, *[2**56] * 4, 2**52) for name in "ab")
    fold = (2**32 + 977) << 4

    def column(k: int) -> Poly:
        return Poly.sum(a[i] * b[k - i] for i in range(max(0, k - 4), min(5, k + 1)))

    low, high = space.split(column(8), 64)
    t3, d = space.split(column(3) + fold * low, 52)
    t4, d = space.split(d + column(4) + (fold << 12) * high, 52)
    t4, top = space.split(t4, 48)
    u, d = space.split(d + column(5), 52)
    r0, c = space.split(column(0) + ((u << 4) + top) * (fold >> 4), 52)
    u, d = space.split(d + column(6), 52)
    r1, c = space.split(c + column(1) + u * fold, 52)
    low, high = space.split(d + column(7), 64)
    r2, c = space.split(c + column(2) + fold * low, 52)
    r3, c = space.split(c + (fold << 12) * high + t3, 52)
    result = [r0, r1, r2, r3, c + t4]
    claims = [(limb, space.interval(limb)) for limb in result]
    assert [interval.high.bit_length() for _, interval in claims] == [52, 52, 52, 52, 49]
    assert all(interval.low == 0 for _, interval in claims)
    difference = compose(result, 52) - compose(a, 52) * compose(b, 52)
    assert all(c % K256 == 0 for c in difference.coefficients)
    check_on_integers(space, claims)


@pytest.mark.parametrize("one_atom", [True, False])
def test_secp256k1_four_words_both_candidates_one_select(one_atom: bool) -> None:
    space = Space()
    fold = 2**256 - K256
    (a, _), (b, _) = (element(space, name, 4, 2**256 - 1, one_atom) for name in "ab")
    low, high = space.split(a * b, 256)
    low, high = space.split(low + fold * high, 256)
    r = low + fold * high
    assert space.interval(r).high >= 2**256, "the second fold may carry: a = b = 2^256 - 2^33 - 977 shows it"
    low, high = space.split(r, 256)
    assert space.interval(low + fold * high).within(below(256)), "the third cannot"
    y, carry = space.split(r + fold, 256)
    result = space.select(carry, y, r)
    assert space.interval(result) == (0, K256 - 1)
    difference = a * b - r
    assert all(c % K256 == 0 for c in difference.coefficients)


def karatsuba_448(a: Sequence[Poly], b: Sequence[Poly], of: Callable[[Poly], Poly]) -> list[Poly]:
    """Columns at 2^(56k) of a product modulo p448, by three products of halves; `of` maps each limb product."""

    def product(x: Sequence[Poly], y: Sequence[Poly]) -> list[Poly]:
        return [Poly.sum(of(x[i] * y[k - i]) for i in range(max(0, k - 3), min(4, k + 1))) for k in range(7)]

    low, high = product(a[:4], b[:4]), product(a[4:], b[4:])
    both = product([a[i] + a[i + 4] for i in range(4)], [b[i] + b[i + 4] for i in range(4)])
    columns = [ZERO] * 8
    for k in range(7):
        plain, cross = low[k] + high[k], both[k] - low[k]
        columns[k % 8] += plain + (cross if k >= 4 else ZERO)
        columns[(k + 4) % 8] += cross
    return columns


def test_p448_karatsuba() -> None:
    space = Space()
    a, b = (limbs_below(space, name, *[2**58] * 8) for name in "ab")
    result = karatsuba_448(a, b, lambda product: product)
    difference = compose(result, 56) - compose(a, 56) * compose(b, 56)
    assert all(c % P448 == 0 for c in difference.coefficients)
    assert all(space.interval(column).low == 0 for column in result), "the subtraction cannot go below zero"
    for _ in range(2):
        low, high = zip(*(space.split(column, 56) for column in result), strict=True)
        result = [low[k] + high[k - 1] + (high[7] if k == 4 else ZERO) for k in range(8)]
    claims = [(limb, space.interval(limb)) for limb in result]
    assert all(interval.within(below(57)) for _, interval in claims), claims
    check_on_integers(space, claims)


def test_p448_karatsuba_of_high_parts_needs_a_bias() -> None:
    """Of floors the differences go below zero, by no more than there are terms: a small bias mends it."""
    space = Space()
    a, b = (limbs_below(space, name, *[2**56] * 8) for name in "ab")
    columns = karatsuba_448(a, b, lambda product: space.split(product << 6, 62)[1])
    bounds_of = [space.interval(column) for column in columns]
    assert all(-16 <= interval.low for interval in bounds_of), bounds_of
    assert any(interval.low < 0 for interval in bounds_of)
    claims = [(column + 16, space.interval(column + 16)) for column in columns]
    assert all(interval.within(Interval(0, 2**61)) for _, interval in claims), claims
    check_on_integers(space, claims)


# Words and carries, as machine code has them.


@pytest.mark.parametrize("one_atom", [True, False])
@pytest.mark.parametrize("count", [2, 4])
def test_schoolbook_in_words_is_the_product(count: int, one_atom: bool) -> None:
    """Two carry chains a row; the carries out of rows are proven to be zero, and the words sum to a * b exactly."""
    space = Space()
    (a, a_words), (b, b_words) = (element(space, name, count, 2 ** (64 * count) - 1, one_atom) for name in "ab")

    def add(*words: Poly) -> tuple[Poly, Poly]:
        known = [space.interval(word, view=lengths) for word in words]
        space.note(Poly.sum(words), Interval(sum(i.low for i in known), sum(i.high for i in known)))
        return space.split(Poly.sum(words), 64)

    out = [ZERO] * (2 * count)
    for i in range(count):
        lows, highs = zip(*(space.split(word * b_words[i], 64) for word in a_words), strict=True)
        for offset, parts in ((i, lows), (i + 1, highs)):
            carry = ZERO
            for j in range(count):
                out[offset + j], carry = add(out[offset + j], parts[j], carry)
            if offset == i:
                out[i + count], carry = add(out[i + count], carry)
            assert space.interval(carry) == (0, 0)
    assert compose(out) == a * b


def test_equal_carries_are_one_atom() -> None:
    space = Space()
    x, y = limbs_below(space, "x", 2**64, 2**64)
    carry = space.split(x + y, 64)[1]
    assert space.at_least(x + y, 2**64) == carry
    assert space.at_least(2**64 - 1 - x - y, 0) == 1 - carry
    borrow = -space.split(x - y, 64)[1]
    assert borrow == 1 - space.at_least(x - y, 0) == space.at_least(y - x, 1)
    assert space.split(3 * x, 66)[1] == space.split(12 * x, 68)[1]
    assert space.split(space.split(x, 3)[1], 5)[1] == space.split(x, 8)[1]
    assert space.split(-x, 13)[1] == -1 - space.split(x - 1, 13)[1]
    assert space.split(x + (y << 20), 20)[1] == space.split(x, 20)[1] + y
    assert space.split(space.split(x, 10)[1] * 7 + y, 3)[1] == space.split(space.split(x, 10)[1] * 7 + y, 3)[1]


def test_two_values_make_everything_affine_in_one_bit() -> None:
    space = Space()
    bit = space.at_least(space.atom("x", 0, 99), 50)
    mask = bit * (2**64 - 1)
    assert space.split(mask, 5) == (31 * bit, (2**59 - 1) * bit)
    assert space.split(-bit, 64) == ((2**64 - 1) * bit, -bit)
    assert space.interval(bit * bit - bit) == (0, 0)
    assert space.select(bit, Poly.of(5), Poly.of(9)) == 9 - 4 * bit


def test_constant_floors() -> None:
    space = Space()
    x = space.atom("x", 2**20 + 5, 2**20 + 9)
    assert space.split(x, 20) == (x - 2**20, Poly.of(1))
    assert space.split(Poly.of(-1), 8) == (Poly.of(255), Poly.of(-1))
    assert space.split(x, 0) == (ZERO, x)


# Facts, cases, multiples.


def test_multiples_stay_multiples() -> None:
    space = Space()
    x = space.atom("x", 0, 2**20, multiple_of=2**13)
    assert space.interval(x) == (0, 2**20)
    assert space.split(x, 13)[0] == ZERO
    quotient = space.divide(x * 3, 2**13)
    assert quotient is not None and space.interval(quotient) == (0, 3 * 2**7)
    assert space.divide(x, 2**14) is None
    with pytest.raises(AsmgenError, match="x has no possible value"):
        space.atom("x", 1, 5, multiple_of=8)


def test_word_atoms_are_the_digits() -> None:
    space = Space()
    value, words = space.word_atoms("a", P256 - 1, [64] * 4)
    assert compose(words) == value and len(value) == 1
    assert space.interval(value) == (0, P256 - 1)
    assert [space.interval(word).high for word in words] == [2**64 - 1] * 3 + [(P256 - 1) >> 192]
    limbs = space.word_atoms("b", P25519 - 1, [51] * 5)[1]
    assert all(space.interval(limb) == below(51) for limb in limbs)
    with pytest.raises(AsmgenError, match="does not fit in 128 bits"):
        space.word_atoms("c", 2**128, [64, 64])


def test_learned_facts_bound_what_holds_them() -> None:
    space = Space()
    words = limbs_below(space, "a", *[2**64] * 4)
    space.learn(compose(words), Interval(0, P25519 - 1))
    assert space.interval(compose(words) * 3 + 1) == (1, 3 * P25519 - 2)
    assert space.interval(compose(words) - words[0]).high < 2**255
    with pytest.raises(AsmgenError, match="cannot be in"):
        space.learn(compose(words), Interval(-5, -1))


def test_divide_uses_facts() -> None:
    space = Space()
    x, y = limbs_below(space, "x", 2**64, 2**64)
    assert space.divide(6 * x + 9 * y, 3) == 2 * x + 3 * y
    assert space.divide(x + y, 7) is None
    space.learn(x + 2 * y, point(14))
    quotient = space.divide(x + 9 * y, 7)
    assert quotient is not None and quotient * 7 - (x + 9 * y) == 14 - (x + 2 * y)


def test_what_holds_under_a_bit() -> None:
    space = Space()
    x = space.atom("x", 0, 2 * P256 - 1)
    reached = space.at_least(x, P256)
    assert space.interval_under(x, {reached: 1}) == (P256, 2 * P256 - 1)
    assert space.under(reached, 0).interval(x) == (0, P256 - 1)
    assert space.under(1 - reached, 1).interval(x) == (0, P256 - 1)
    assert space.interval_under(x + reached, {reached: 0}) == (0, P256 - 1)
    digit = space.split(x, 255)[1]
    assert space.interval_under(x, {digit: 3}) == (3 << 255, 2 * P256 - 1)
    with pytest.raises(Impossible):
        space.under(digit, 4)
    with pytest.raises(AsmgenError, match="a bit is needed"):
        space.as_bit(digit)


def test_nested_cases() -> None:
    space = Space()
    x, y = (space.atom(name, 0, 2**64 - 1) for name in "xy")
    small, smaller = space.at_least(x, 100), space.at_least(x + y, 1000)
    assert space.interval_under(y, {small: 0, smaller: 1}).low == 901
    assert space.interval_under(x, {small: 1, smaller: 0}) == (100, 999)
    with pytest.raises(Impossible):
        space.interval_under(x, {small: 1, space.at_least(x, 200): 1, space.at_least(x, 50): 0})


def test_select_of_the_impossible_is_no_select() -> None:
    space = Space()
    x = space.atom("x", 0, 9)
    assert space.select(space.at_least(x, 0), x, x + 1) == x
    assert space.select(space.at_least(x, 10), x, x + 1) == x + 1


def test_enough_tries_harder() -> None:
    """Rows without the bounds of their parts: order of P-256, each total below 2P."""
    space = Space()
    (a, _), (b, words) = (element(space, name, 4, ORDER256 - 1, False) for name in "ab")
    total = ZERO
    inverse = -pow(ORDER256, -1, 2**64) % 2**64
    wanted = Interval(0, 2 * ORDER256 - 1)
    first = []
    for word in words:
        total = total + a * word
        q = space.split(space.split(total, 64)[0] * inverse, 64)[0]
        divided = space.divide(total + q * ORDER256, 2**64)
        assert divided is not None
        total = divided
        first.append(space.interval(total).within(wanted))
        assert space.interval(total, wanted).within(wanted)


def test_atoms_explain_themselves() -> None:
    space = Space()
    a, b = space.atom("a", 0, 2**54 - 1), space.atom("b", 0, 2**54 - 1)
    floor = space.split(a * b << 10, 64)[1]
    assert space.define(a) == "a in [0, 2^54 - 1]"
    assert space.define(floor) == "h2 = floor((a*b) / 2^54) in [0, 2^54 - 2]"
    assert space.explain(a - 2 * floor).splitlines() == [
        "a - 2*h2",
        "  where a in [0, 2^54 - 1]",
        "  where h2 = floor((a*b) / 2^54) in [0, 2^54 - 2]",
    ]


def test_same_questions_same_answers() -> None:
    """Nothing depends on hash order, identity or time."""

    def answers() -> list[str]:
        space = Space()
        a = limbs_below(space, "a", *[2**54] * 5)
        result = carry_5x51(space, carry_5x51(space, columns_5x51(a, a)))
        return [space.explain(limb) + str(space.interval(limb)) for limb in result]

    assert answers() == answers()


# Random programs.


@dataclass
class Program:
    """A random computation; what is claimed of it is checked on integers."""

    seed: int
    space: Space = field(default_factory=Space)
    inputs: list[tuple[int, int, int]] = field(default_factory=list)
    values: list[Poly] = field(default_factory=list)
    claims: list[tuple[Poly, Interval]] = field(default_factory=list)
    meanings: list[tuple[Poly, Callable[[dict[int, int]], int]]] = field(default_factory=list)
    cases: list[tuple[Poly, int, Poly, Interval | None]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.source = random.Random(self.seed)
        self.word = self.source.choice([4, 8, 16, 51, 64])
        for index in range(self.source.randrange(1, 4)):
            self.input(f"x{index}")
        for _ in range(14):
            getattr(self, self.source.choice(OPERATIONS))(self.pick(), self.pick())
        self.claim()

    def input(self, name: str) -> None:
        source, word = self.source, self.word
        if source.random() < 0.25:
            count = source.randrange(2, 4)
            least, most = 2 ** (word * (count - 1)), 2 ** (word * count) - 1
            high = source.choice([most, source.randint(least, most)])
            value, words = self.space.word_atoms(name, high, [word] * count)
            self.values += [value, *words]
            self.meanings.append((compose(words, word), value.evaluate))
            self.inputs.append((value.atoms[0], 0, high))
        else:
            low = source.choice([0, 0, 0, -source.randrange(2**word)])
            high = source.choice([2**word - 1, low + source.randrange(4), max(low, source.randrange(2**word))])
            m = source.choice([1, 1, 1, 2, 12])
            value = self.space.atom(name, low * m, high * m, m)
            self.values.append(value)
            self.inputs.append((value.atoms[0], low, high))

    def pick(self) -> Poly:
        """Mostly something recent."""
        back = int(self.source.expovariate(0.3)) if self.source.random() < 0.7 else self.source.randrange(10**6)
        return self.values[-1 - back % len(self.values)]

    def keep(self, poly: Poly, known: Interval | None = None) -> None:
        if len(poly) <= 60:
            self.values.append(poly)
            if known is not None or self.source.random() < 0.5:
                self.space.interval(poly, known=known)

    def add(self, x: Poly, y: Poly) -> None:
        known = None
        if self.source.random() < 0.5:
            known = self.space.interval(x).plus(self.space.interval(y))
        self.keep(x + y, known)

    def sub(self, x: Poly, y: Poly) -> None:
        self.keep(x - y)

    def mul(self, x: Poly, y: Poly) -> None:
        degree = sum(max((len(monomial) for monomial in factor.terms), default=0) for factor in (x, y))
        if len(x) * len(y) <= 40 and degree <= 4:
            self.keep(x * y, self.source.choice([None, self.space.interval(x).times(self.space.interval(y))]))

    def shift(self, x: Poly, _: Poly) -> None:
        self.keep(x << self.source.randrange(self.word))

    def scale(self, x: Poly, _: Poly) -> None:
        full = 2**self.word - 1
        factor = self.source.choice([-1, 2, 19, 38, -19, full, self.source.randint(1, full)])
        self.keep(x * factor + self.source.choice([0, 1, -1, self.source.randint(0, full)]))

    def split(self, x: Poly, _: Poly) -> None:
        k = self.source.choice([1, 2, self.word - 1, self.word, self.word, self.word, 2 * self.word])
        low, high = self.space.split(x, k)
        self.meanings.append((low, lambda at: x.evaluate(at) % 2**k))
        self.meanings.append((high, lambda at: x.evaluate(at) >> k))
        self.values.append(low)
        self.keep(high)

    def divide(self, x: Poly, _: Poly) -> None:
        m = self.source.choice([2**self.word, 2, 4, 3, 12])
        quotient = self.space.divide(x, m)
        if quotient is None:
            k = self.word
            x = x - self.space.split(x, k)[0]
            m = 2**k
            quotient = self.space.divide(x, m)
            assert quotient is not None, self.seed
        self.meanings.append((quotient * m, x.evaluate))
        self.keep(quotient)

    def montgomery(self, x: Poly, _: Poly) -> None:
        k = self.word
        modulus = self.source.randrange(2 ** (2 * k)) | 1
        q = self.space.split(self.space.split(x, k)[0] * (-pow(modulus, -1, 2**k) % 2**k), k)[0]
        quotient = self.space.divide(x + q * modulus, 2**k)
        assert quotient is not None, self.seed
        self.keep(quotient)

    def at_least(self, x: Poly, _: Poly) -> None:
        interval = self.space.interval(x)
        m = self.source.randint(interval.low, interval.high + 1)
        bit = self.space.at_least(x, m)
        self.meanings.append((bit, lambda at: x.evaluate(at) >= m))
        self.values.append(bit)

    def select(self, x: Poly, y: Poly) -> None:
        bits = [bit for bit in self.values if self.space.interval(bit).within(below(1))]
        if not bits:
            return
        bit = self.source.choice(bits)
        if len(bit) * max(len(x), len(y)) <= 60:
            result = self.space.select(bit, x, y)
            self.meanings.append((result, lambda at: x.evaluate(at) if bit.evaluate(at) else y.evaluate(at)))
            self.keep(result)

    def claim(self) -> None:
        """Bounds of everything, asked in every way, and everything that the space came to know on its way."""
        few = [bit for bit in self.values if bit.constant is None and self.space.interval(bit).within(below(2))]
        for bit in few[:3]:
            for value in range(2):
                x = self.pick()
                try:
                    interval: Interval | None = self.space.interval_under(x, {bit: value})
                except Impossible:
                    interval = None
                self.cases.append((bit, value, x, interval))
        for poly in self.values:
            enough = self.source.choice([None, None, below(self.word)])
            self.claims.append((poly, self.space.interval(poly, enough)))
        self.claims += self.space._known.items()

    def biased(self, low: int, high: int) -> int:
        source = self.source
        edge = (1 << source.randrange(high.bit_length() + 1)) + source.randrange(-1, 2)
        options = [low, high, low + source.randrange(3), high - source.randrange(3), edge, source.randint(low, high)]
        return min(high, max(low, source.choice(options)))

    def check(self, vectors: int = 12) -> int:
        """The number of values checked."""
        checked = 0
        for _ in range(vectors):
            at = self.space.assignment({atom: self.biased(low, high) for atom, low, high in self.inputs})
            for poly, interval in self.claims:
                assert interval.holds(poly.evaluate(at)), (self.seed, poly, interval, poly.evaluate(at))
            for poly, meaning in self.meanings:
                assert poly.evaluate(at) == meaning(at), (self.seed, poly)
            for bit, value, poly, found in self.cases:
                if bit.evaluate(at) == value:
                    assert found is not None and found.holds(poly.evaluate(at)), (self.seed, bit, value, poly, found)
            checked += len(self.claims) + len(self.meanings) + len(self.cases)
        return checked


OPERATIONS = "add sub mul shift scale split split split divide montgomery at_least select".split()


def test_random_programs_hold_what_is_claimed() -> None:
    checked = sum(Program(SEED + index).check() for index in range(PROGRAMS))
    assert checked >= 200 * PROGRAMS, checked


def fails(programs: int = 60) -> bool:
    """Whether random programs show a fault."""
    for index in range(programs):
        try:
            Program(SEED + index).check()
        except (AssertionError, AsmgenError):
            return True
    return False


def short_by_one(k: int) -> Interval:
    return Interval(0, (1 << k) - 2)


def drops_the_constant(poly: Poly, k: int) -> tuple[Poly, Poly]:
    return original_reduce(poly - poly.terms.get((), 0), k)


def forgets_the_offset(remainder: Poly, offset: Interval, scale: int) -> knowledge.State:
    state = original_reduced(remainder, offset, scale)
    return state._replace(offset=Interval(state.offset.low, state.offset.low))


def forgets_signs(interval: Interval, exponent: int) -> Interval:
    return Interval(interval.low**exponent, interval.high**exponent)


original_reduce, original_reduced = bounds._reduce, knowledge._reduced


@pytest.mark.parametrize(
    ("module", "name", "fault"),
    [
        (bounds, "below", short_by_one),
        (knowledge, "below", short_by_one),
        (bounds, "_reduce", drops_the_constant),
        (knowledge, "_reduced", forgets_the_offset),
        (knowledge, "_power", forgets_signs),
    ],
    ids=["low parts", "cases", "floors", "search", "powers"],
)
def test_unsound_shortcuts_are_found(monkeypatch: pytest.MonkeyPatch, module: object, name: str, fault: object) -> None:
    monkeypatch.setattr(module, name, fault)
    assert fails()


def test_without_a_fault_nothing_is_found() -> None:
    assert not fails(20)
