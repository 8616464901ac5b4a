"""asmgen.passes.demand: as many words of each node as are needed, no more."""

from __future__ import annotations

import random

import pytest

from asmgen import Count, Field, kernel, repeat
from asmgen.bounds import Interval
from asmgen.kernel import Kernel
from asmgen.nodes import Node, ordered
from asmgen.passes.demand import demand, invariant, reach, words_for

fe = Field("four", 2**255 - 19, limbs=[64] * 4)
full = fe.limbs_below(2**64)


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (0, 0, 1), (0, 1, 1), (0, 2**64 - 1, 1), (0, 2**64, 2), (0, 2**128 - 1, 2), (5, 2**128, 3), (-1, 0, 1),
        (-1, 2**63 - 1, 1), (-1, 2**63, 2), (-(2**63), 0, 1), (-(2**63) - 1, 0, 2), (-5, 2**127 - 1, 2),
        (-5, 2**127, 3),
    ],
)  # fmt: skip
def test_words_for_an_interval(low: int, high: int, words: int) -> None:
    assert words_for(Interval(low, high)) == words


def test_words_hold_both_ends_and_one_less_does_not() -> None:
    rng = random.Random(20260401)
    for _ in range(2000):
        ends = [rng.choice((-1, 1)) * rng.getrandbits(rng.randrange(1, 260)) for _ in range(2)]
        low, high = min(ends), max(ends)
        words = words_for(Interval(low, high))

        def held(size: int, low: int = low, high: int = high) -> bool:
            if low >= 0:
                return high < 2 ** (64 * size)
            return -(2 ** (64 * size - 1)) <= low and high < 2 ** (64 * size - 1)

        assert held(words) and (words == 1 or not held(words - 1)), (low, high)


def needs(function: Kernel) -> dict[str, set[int]]:
    """Words that are needed of the nodes, by their operation, when one word of each limb of the result is."""
    traced = function.trace()
    found: dict[str, set[int]] = {}
    for node, count in demand([(node, 1) for nodes in traced.outputs for node in nodes]).items():
        if node.op not in ("const", "limb"):
            found.setdefault(node.op, set()).add(count)
    return found


@kernel(computes=lambda a, b: 0)
def low_half(a: full, b: full) -> full:
    """The product's lowest word: one word of everything before it."""
    low, _ = (a.value * b.value).split(64)
    return [low, 0, 0, 0]


@kernel(computes=lambda a, b: 0)
def high_part(a: full, b: full) -> full:
    """Bits 130 to 193 of a product: everything below them, nothing above."""
    _, high = (a.value * b.value).split(130)
    return [high.split(64)[0], 0, 0, 0]


@kernel(computes=lambda a, b: 0)
def shifted(a: full, b: full) -> full:
    """Of x * 2^70, two words take one word of x."""
    x = (a.value << 70).split(128)[0]
    return [x.split(64)[0], x.split(64)[1], 0, 0]


@kernel(computes=lambda a, b: 0)
def compared(a: full, b: full) -> full:
    """Whether x is at least m rests on all of x."""
    return [a.value.at_least(2**200), 0, 0, 0]


def test_low_words_of_a_product_need_low_words_of_its_factors() -> None:
    assert needs(low_half)["mul"] == {1} and needs(low_half)["add"] <= {1}


def test_a_floor_needs_what_is_below_it() -> None:
    found = needs(high_part)
    assert found["mul"] == {4} and found["high"] == {1}  # bits 0 to 193 reach into the fourth word


def test_a_shift_needs_less() -> None:
    assert max(needs(shifted)["shl"]) == 2
    traced = shifted.trace()
    need = demand([(node, 1) for nodes in traced.outputs for node in nodes])
    (shift,) = (node for node in need if node.op == "shl" and node.data == 70)
    assert need[shift] == 2 and need[shift.args[0]] == 1


def test_a_comparison_needs_all() -> None:
    traced = compared.trace()
    need = demand([(node, 1) for nodes in traced.outputs for node in nodes])
    (compare,) = (node for node in need if node.op == "at_least")
    assert need[compare] == 1 and need[compare.args[0]] == 4


@kernel(computes=lambda a, b, n: 0)
def looped(a: full, b: full, n: Count) -> full:
    """The body takes b's sum from outside; the case of no pass computes a product that the body does not need."""
    outside = b[0] + b[1]

    def body(state: list[Node]) -> list[object]:
        low, _ = (state[0] + outside).split(64)  # type: ignore[operator]
        return [low, state[2], state[3], state[1]]

    return repeat(n, body, a, empty=lambda state: [(b[2] * b[3]).split(64)[0], 0, 0, 0], invariant=full)


def test_loops_bring_what_their_bodies_take_from_outside() -> None:
    traced = looped.trace()
    roots = [node for nodes in traced.outputs for node in nodes]
    loop = next(node.data[0] for node in ordered(roots) if node.op == "result")
    taken = invariant(loop)
    assert [node.op for node in taken] == ["add"]
    inside = reach(roots)
    assert taken[0] in inside and not any(node.op == "mul" for node in inside)
    assert [node.serial for node in inside] == sorted(node.serial for node in inside)
    assert demand([(node, 1) for node in roots])[taken[0]] == words_for(taken[0].interval) == 2
