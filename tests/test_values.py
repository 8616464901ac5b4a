"""Traced numbers and exact ones: the same script, the same values; bounds that hold; nodes shared and folded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import pytest

from asmgen import Field, keep, select
from asmgen.contracts import Parameter
from asmgen.elements import Limbs
from asmgen.errors import AsmgenError
from asmgen.nodes import Node, evaluate, ordered
from asmgen.polynomial import Interval, Poly
from asmgen.promises import enter
from asmgen.trace import LONG, Trace
from asmgen.values import Exact, Number

P = 2**255 - 19
FE = Field("curve25519", P, limbs=[51] * 5)
LOOSE = FE.limbs_below(2**54)
SAMPLES = 60


def entered(trace: Trace, name: str = "a") -> Limbs:
    nodes = enter(trace, Parameter(name, LOOSE))
    return Limbs([Number(trace, node, FE) for node in nodes], FE)


EXPRESSIONS: dict[str, Callable[[Any, Any], Any]] = {
    "sums": lambda a, b: [a[0] + b[1], 3 + a[0], a[0] + 3, sum([a[0], a[1], a[2]])],
    "differences": lambda a, b: [a[0] - b[1], 3 - a[0], a[0] - 3, -a[0], +a[1]],
    "products": lambda a, b: [a[0] * b[1], 19 * a[0], a[0] * 19, a[0] * a[0], (a[0] - b[0]) * (b[1] - a[1])],
    "shifts": lambda a, b: [a[0] << 0, a[0] << 51, (a[0] - b[0]) << 3],
    "splits": lambda a, b: [*(a[0] * b[0]).split(51), *(a[0] * b[0]).split(64), *a[0].split(0), *a[0].split(60)],
    "splits of negatives": lambda a, b: [*(a[0] - b[0]).split(20), *(a[0] * b[0] - a[1] * b[1]).split(64)],
    "splits of splits": lambda a, b: [*(a[0] * b[0]).split(80)[0].split(30), *(a[0] * b[0]).split(30)[1].split(40)],
    "exact divisions": lambda a, b: [(a[0] << 9).divide_exact(2**4), (a[0] - a[0].split(7)[0]).divide_exact(2**7)],
    "reductions": lambda a, b: [a[0].reduce_once(2**53), (a[0] + 5).reduce_once(2**54),
                                a[0].split(9)[0].reduce_once(300)],
    "bits": lambda a, b: [a[0].at_least(5), a[0].at_least(0), (a[0] - b[0]).at_least(0), (a[0] - 7).is_zero(),
                          (a[0] - b[0]).is_zero(), a[0].split(1)[0]],
    "comparisons": lambda a, b: [(a[0] - b[0]).at_least(0), (b[0] - a[0]).at_least(1)],
    "selections": lambda a, b: [select(a[0].at_least(2**53), a[1], b[1]), select(a[0].split(1)[0], 5, a[1]),
                                select((a[0] - b[0]).at_least(0), a[0] - b[0], b[0] - a[0])],
    "selected elements": lambda a, b: [*select(a[0].split(1)[0], a, b), *select(b[0].split(1)[0], [a[0]], [b[0]])],
    "kept": lambda a, b: [keep(a[0] * b[0]), *keep(a), *keep([a[0], b[0] + 1])],
    "values": lambda a, b: [a.value, a.value * b.value, (a.value - b.value).split(255)[1]],
    "words": lambda a, b: [*a.value.words(5), *(a.value * b.value).words(9), *a.words(7)],
    "limbs": lambda a, b: [*FE.limbs_of((a.value * b.value).split(260)[0]), *FE.limbs_of(5)],
    "an early quotient": lambda a, b: [(x := a.value + 19 * b.value) - ((x >> 255 if isinstance(x, int) else
                                       x.split(255)[1]) << 255)],
}  # fmt: skip


def inputs(rng: Random) -> list[int]:
    top = 2**54 - 1
    edges = [0, 1, top, top - 1, 2**51, 2**51 - 1]
    return [rng.choice([*edges, rng.randint(0, top), rng.getrandbits(20)]) for _ in range(5)]


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_traced_and_exact_agree(name: str) -> None:
    seed = 20260401
    rng = Random(seed)
    trace = Trace()
    a, b = entered(trace, "a"), entered(trace, "b")
    traced = [x.node if isinstance(x, Number) else trace.const(x) for x in EXPRESSIONS[name](a, b)]
    limbs = [number.node for number in (*a, *b)]
    for _ in range(SAMPLES):
        left, right = inputs(rng), inputs(rng)
        if rng.random() < 0.3:
            right = list(left)
        exact = EXPRESSIONS[name](Limbs(list(map(Exact, left)), FE), Limbs(list(map(Exact, right)), FE))
        assert all(isinstance(value, int) for value in exact)
        given = dict(zip(limbs, left + right, strict=True))
        assert evaluate(traced, given) == exact, (seed, left, right)
        for node in ordered(traced):
            (value,) = evaluate([node], given)
            assert node.interval.holds(value), (seed, node, node.interval, value)
            assert trace.space.evaluate(node.poly, dict(enumerate(left + right))) == value


def numbers() -> tuple[Trace, Sequence[Number]]:
    trace = Trace()
    return trace, list(entered(trace))


def test_identical_values_are_one_node() -> None:
    _, a = numbers()
    assert (a[0] * a[1]).node is (a[1] * a[0]).node
    assert (a[0] + a[1]).node is (a[1] + a[0]).node
    assert (a[0] - a[1]).node is not (a[1] - a[0]).node
    assert (19 * a[0]).node is (a[0] * 19).node
    assert (a[0] * a[1]).split(51)[1].node is (a[1] * a[0]).split(51)[1].node
    assert keep(a[0]).node is keep(a[0]).node is keep(keep(a[0])).node is not a[0].node


def test_nothing_is_made_for_nothing() -> None:
    trace, a = numbers()
    assert (0 + a[0]).node is (a[0] + 0).node is (1 * a[0]).node is (a[0] << 0).node is (a[0] - 0).node is a[0].node
    assert a[0].split(54)[0].node is a[0].node and a[0].split(54)[1].node is trace.const(0)
    assert (0 * a[0]).node is trace.const(0)
    assert (a[0] - a[0]).node is trace.const(0)
    assert a[0].at_least(0).node is trace.const(1) and a[0].at_least(2**54).node is trace.const(0)
    assert a[0].split(20)[0].split(30)[0].node is a[0].split(20)[0].node
    assert a[0].split(20)[1].split(10)[1].node is a[0].split(30)[1].node
    assert a[0].reduce_once(2**54).node is a[0].node
    assert select(a[0].split(1)[0], a[1], a[1]).node is a[1].node
    assert (trace.const(3) is trace.const(3)) and (Number(trace, trace.const(3)) * 5).node is trace.const(15)


def test_lowering_follows_what_is_written() -> None:
    """No product is spread, no sum reordered, no shift turned into a product."""
    _, a = numbers()
    node = ((a[0] + a[1]) * (a[2] << 3) + a[3] * 2).node
    product, doubled = node.args
    assert (node.op, product.op, doubled.op) == ("add", "mul", "mul")
    assert [arg.op for arg in product.args] == ["add", "shl"] and [arg.op for arg in doubled.args] == ["limb", "const"]
    serials = [each.serial for each in ordered([node])]
    assert all(arg.serial < each.serial for each in ordered([node]) for arg in each.args) and len(set(serials)) == 10


def test_bounds_merge_what_cancels() -> None:
    _, a = numbers()
    x = a[0] * a[1]
    low, high = x.split(51)
    assert (low + (high << 51) - x).node.op == "const"
    low54 = x - ((a[0] << 10) * a[1]).split(64)[1] * 2**54
    assert low54.interval == (0, 2**54 - 1)
    difference = a[0] - a[1]
    assert select(difference.at_least(0), difference, difference + 2**54).interval == (0, 2**54 - 1)


def test_divisibility_by_coefficients() -> None:
    """Montgomery's zero word: t + q * p with q = t * (-1 / p) mod 2^64 is a multiple of 2^64."""
    trace, a = numbers()
    modulus = 2**255 - 31
    inverse = pow(-modulus, -1, 2**64)
    total = a[0] * a[1]
    quotient = (total.split(64)[0] * inverse).split(64)[0]
    assert (total + quotient * modulus).divide_exact(2**64).node.op == "divide"
    with pytest.raises(AsmgenError, match="not proven to be a multiple"):
        (total + quotient * (modulus + 2)).divide_exact(2**64)
    assumed = (a[0] * a[0] + a[0] * a[1]).divide_exact(2, assume=True)
    assert assumed.interval.high == 2 * (2**54 - 1) ** 2 // 2


def test_long_polynomials_are_cut_and_stay_true() -> None:
    """Past a length only the interval of a value is known; it still holds."""
    trace = Trace()
    a, b = entered(trace, "a"), entered(trace, "b")
    x = sum((each for each in a), Number(trace, trace.const(1)))
    y = sum((each for each in b), Number(trace, trace.const(1)))
    product = x * y
    power = product
    for _ in range(3):
        power = power * product
    assert len(power.node.poly) <= LONG
    largest = (5 * (2**54 - 1) + 1) ** 8
    assert power.interval == (1, largest)
    given = {number.node: 2**54 - 1 for number in (*a, *b)}
    assert evaluate([power.node], given) == [largest]


def test_what_is_proven_later_stays_with_the_node() -> None:
    trace = Trace()
    node = trace.new("limb", (), ("a", 0), Poly.of(5), Interval(0, 9))
    assert trace.proven(node, Interval(0, 9)) == (0, 9)
    assert trace.proven(node, Interval(0, 5)) == node.interval == (5, 5)


def test_nodes_know_their_line() -> None:
    trace, a = numbers()
    node = (a[0] * a[1]).node
    assert node.source is not None and node.source.text == "node = (a[0] * a[1]).node"
    assert (node.name, (19 * a[2]).node.name, a[3].node.name) == ("a0a1", "a2x19", "a3")


def test_numbers_are_shown_with_their_bounds() -> None:
    _, a = numbers()
    assert repr(a[0]) == "<a0 in 0..2^54 - 1>"
    assert repr(a[0] - a[1]) == "<sub in -(2^54 - 1)..2^54 - 1>"
    assert repr(a[0].node) == "<limb a0>"


def test_words_of_traced_numbers_cover_the_bounds() -> None:
    _, a = numbers()
    assert len(a[0].words()) == 1 and len((a[0] * a[1]).words()) == 2 and len((a[0] * a[1]).words(4)) == 4
    assert [word.interval.high for word in (a[0] * a[1]).words(3)][2] == 0


def test_exact_numbers_stay_exact() -> None:
    x = Exact(-5)
    sums: list[object] = [x + 1, 1 + x, x - 1, 1 - x, 3 * x, x * 3, x << 2, -x]
    assert all(type(each) is Exact for each in (*sums, *x.split(2), x.at_least(0), x.is_zero()))
    assert x.split(2) == (3, -2) and Exact(0).is_zero() == 1 and Exact(4).divide_exact(4) == 1
    assert Exact(5).words() == [5] and Exact(2**64).words() == [0, 1] and Exact(0).words(3) == [0, 0, 0]


def test_elements_are_sequences() -> None:
    a = FE.element([1, 2, 3, 4, 5])
    first, *rest = a
    assert first == 1 and rest == [2, 3, 4, 5] and a[-1] == 5 and a[1:3] == [2, 3] and len(a) == 5
    assert a == [1, 2, 3, 4, 5] and a != [1, 2, 3, 4, 6] and repr(a) == "<limbs 1, 2, 3, 4, 5>"
    assert list(zip(a, a, strict=True))[1] == (2, 2)


def test_one_trace_does_not_use_another() -> None:
    _, a = numbers()
    _, b = numbers()
    with pytest.raises(AsmgenError, match="a value of another kernel"):
        a[0] + b[0]


def test_reachable_inputs_only() -> None:
    """A trace keeps what the outputs rest on: an unused product is not among it."""
    trace, a = numbers()
    _ = a[0] * a[1]
    kept: list[Node] = list(ordered([(a[2] + a[3]).node]))
    assert [node.name for node in kept] == ["a2", "a3", ""]
