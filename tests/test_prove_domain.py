"""The numbers of proofs: what rows make of unknown numbers, evaluated beside integers."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from asmgen.polynomial import Interval, Poly
from asmgen.prove import leaves
from asmgen.prove.cells import Fact
from asmgen.prove.domain import Polynomials
from asmgen.prove.space import CaseSpace
from asmgen.targets import amd64_meaning, arm64_meaning
from asmgen.targets.arm64_meaning import just
from asmgen.targets.row import Integers, Meaning


@pytest.mark.parametrize(
    ("shift", "meant"),
    [
        (amd64_meaning.variable_left, lambda x, k: (x << k % 64) % 2**64),
        (amd64_meaning.variable_right, lambda x, k: x >> k % 64),
        (just(arm64_meaning.shift_by("lsl")), lambda x, k: (x << k % 64) % 2**64),
        (just(arm64_meaning.shift_by("lsr")), lambda x, k: x >> k % 64),
    ],
)
def test_shifts_by_an_unknown_count_are_right_for_each_count(shift: Meaning, meant: Callable[[int, int], int]) -> None:
    """Unknown counts go bit by bit, known ones at once; both give the same."""
    space = CaseSpace()
    domain = Polynomials(space)
    x, count = space.atom("x", 0, 2**64 - 1), space.atom("count", 0, 2**64 - 1)
    (made,) = shift(domain, [domain.entered(x), domain.entered(count)], {}).values
    rng = random.Random(20260401)
    for k in (*range(64), 64, 127, 2**64 - 1):
        for value in (0, 2**64 - 1, rng.randrange(2**64)):
            wanted = meant(value, k)
            inputs = {number: 0 for number in range(len(space._atoms))}
            known = space.assignment(inputs | {x.atoms[0]: value, count.atoms[0]: k})
            assert domain.norm(made).evaluate(known) == wanted, (value, k)
            assert shift(Integers(), [value, k], {}).values == (wanted,)
            (one,) = shift(domain, [domain.entered(x), k], {}).values
            assert domain.norm(one).evaluate(space.assignment(known)) == wanted


def test_a_sum_of_cells_is_split_where_it_lies_and_not_across() -> None:
    """Cells side by side, with offsets of their own, against integers."""
    rng = random.Random(20260401)
    laid_out = 0
    for _ in range(300):
        space = CaseSpace()
        domain = Polynomials(space)
        total, at = Poly.of(0), 0
        for number in range(4):
            low = rng.choice((0, -1, -255, -3, 5))
            cell = domain.entered(space.atom(f"x{number}", low, low + 2 ** rng.choice((7, 8, 8, 9)) - 1))
            total, at = total + ((cell - low) << at), at + 8
        total += rng.choice((0, 0, 1, 255, 256, -256))
        k = rng.choice((8, 16, 24))
        pieces = domain._laid_out(total, k)
        if pieces is None:
            continue
        laid_out += 1
        low_part, high_part = pieces
        for _ in range(8):
            values = {n: rng.choice((*space._range(n), rng.randint(*space._range(n)))) for n in range(4)}
            value, low, high = (domain.norm(each).evaluate(values) for each in (total, low_part, high_part))
            assert (low, high) == (value % 2**k, value >> k)
    assert 30 < laid_out < 270  # both happen


def test_a_carry_that_nothing_shows_is_asked_about_and_not_assumed() -> None:
    """x + y carries for large ones, whatever the values that are carried along; with what excludes it, it does not."""
    for known, carries in ((2**64 - 1, True), (2**63 - 1, False)):
        space = CaseSpace()
        domain = Polynomials(space)
        x, y = (domain.entered(space.atom(name, 0, 2**64 - 1)) for name in "xy")
        for each in (x, y):
            domain.ledger.facts.append(Fact(each, Interval(0, known)))
        space._alive = [0]  # the values that are carried along are all zero
        domain.asks = len(leaves.TRIES)
        _, high = domain.split(x + y, 64)
        assert (domain.norm(high).constant is None) == carries


def test_the_solver_is_believed_only_where_it_says_that_there_is_no_other_way() -> None:
    space = CaseSpace()
    domain = Polynomials(space)
    x, y = (domain.entered(space.atom(name, 0, 2**64 - 1)) for name in "xy")
    low, high = domain.split(x + y, 64)
    total = low + (high << 64) - x

    def within(form: Poly, most: int) -> bool:
        return leaves.within(domain.ledger, space, form, Interval(0, most), float("inf"))

    assert within(total, 2**64 - 1) and not within(total, 2**64 - 2)
    assert leaves._ask("(declare-const x Int)(assert (> (* x x) 2))(assert (< x 0))", 1) != "unsat"


def test_words_that_logic_gives_back_are_those_that_integers_give() -> None:
    """(a xor b) xor b is a, and 0 xor b is b; of x or -x it is known that the highest bit says whether x is zero."""
    space = CaseSpace()
    domain = Polynomials(space)
    a, b = (domain.entered(space.atom(name, 0, 2**64 - 1)) for name in "ab")
    changed = domain.bitwise("xor", a, b, 64)
    minus, _ = domain.split(-a, 64)
    made = [
        (domain.bitwise("xor", changed, b, 64), lambda a, b: a),
        (domain.bitwise("xor", b, changed, 64), lambda a, b: a),
        (domain.bitwise("xor", 0, b, 64), lambda a, b: b),
        (domain.bitwise("or", a, minus, 64), lambda a, b: a | -a % 2**64),
        (domain.bitwise("or", minus, a, 64), lambda a, b: a | -a % 2**64),
        (domain.bitwise("or", a, b, 64), lambda a, b: a | b),
    ]
    assert domain.norm(made[0][0]) == domain.norm(a) and domain.norm(made[2][0]) == domain.norm(b)
    for values in space._witnesses:
        x, y = (domain.norm(each).evaluate(values) for each in (a, b))
        for form, wanted in made:
            assert domain.norm(form).evaluate(values) == wanted(x, y)
    top = domain.norm(domain.split(made[3][0], 63)[1])
    assert top == 1 - domain.norm(domain.is_zero(a))
    assert domain.norm(domain.split(made[5][0], 63)[1]).constant is None
    assert space.interval(domain.norm(made[3][0])).high >= 2**64 - 1  # x = 1 and -1


def test_nothing_is_said_of_words_that_are_only_alike() -> None:
    """A word and what is 1 less than its negative; words that were joined by another operation."""
    space = CaseSpace()
    domain = Polynomials(space)
    a, b = (domain.entered(space.atom(name, 0, 2**64 - 1)) for name in "ab")
    near, _ = domain.split(-a - 1, 64)
    found = domain.norm(domain.bitwise("or", a, near, 64))
    both = domain.norm(domain.bitwise("xor", domain.bitwise("or", a, b, 64), b, 64))
    assert both not in (domain.norm(a), domain.norm(b))
    for values in space._witnesses:
        x, y = (domain.norm(each).evaluate(values) for each in (a, b))
        assert found.evaluate(values) == x | (-x - 1) % 2**64
        assert both.evaluate(values) == (x | y) ^ y
