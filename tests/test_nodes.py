"""asmgen.nodes: the graph of a description, walked and evaluated."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from asmgen import Count, Field, kernel, repeat
from asmgen.bounds import Interval
from asmgen.nodes import LoopNode, Node, evaluate, inputs_of, ordered

SEED = 20260401
ANY: Any = None  #: the polynomial, which neither order nor value rests on

fe = Field("two", 2**127 - 1, limbs=[64, 63])
full = fe.limbs_below(2**64)


def node(op: str, *args: Node, data: Any = None, serial: int = 0) -> Node:
    return Node(op, args, data, ANY, Interval(0, 1), serial)


LAWS: dict[str, tuple[int, Callable[[Sequence[int], int, int], bool]]] = {
    "add": (2, lambda x, k, r: r == x[0] + x[1]),
    "sub": (2, lambda x, k, r: r == x[0] - x[1]),
    "mul": (2, lambda x, k, r: r == x[0] * x[1]),
    "shl": (1, lambda x, k, r: r == x[0] * 2**k),
    "low": (1, lambda x, k, r: 0 <= r < 2**k and (x[0] - r) % 2**k == 0),
    "high": (1, lambda x, k, r: 0 <= x[0] - r * 2**k < 2**k),
    "reduce": (1, lambda x, k, r: r == (x[0] if x[0] < k else x[0] - k)),
    "at_least": (1, lambda x, k, r: r == (1 if x[0] >= k else 0)),
    "is_zero": (1, lambda x, k, r: r == (1 if x[0] == 0 else 0)),
    "keep": (1, lambda x, k, r: r == x[0]),
}


@pytest.mark.parametrize("op", LAWS)
def test_operations_keep_their_laws_negative_numbers_too(op: str) -> None:
    count, law = LAWS[op]
    rng = random.Random(f"{SEED} {op}")
    for _ in range(200):
        leaves = [node("limb", serial=at) for at in range(count)]
        values = [rng.choice((0, 1, -1, 7, -(2**64), rng.getrandbits(70), -rng.getrandbits(70))) for _ in leaves]
        k = rng.randrange(1, 70)
        (result,) = evaluate([node(op, *leaves, data=k)], dict(zip(leaves, values, strict=True)))
        assert law(values, k, result), (op, values, k, result)


def test_choices_and_exact_quotients() -> None:
    bit, x, y = (node("scalar", serial=at) for at in range(3))
    choice, third = node("select", bit, x, y), node("divide", x, data=4)
    assert evaluate([choice, third], {bit: 1, x: -48, y: 9}) == [-48, -3]
    assert evaluate([choice], {bit: 0, x: -48, y: 9}) == [9]
    with pytest.raises(KeyError, match="no value for limb"):
        evaluate([node("limb", data=("a", 0))], {})


def test_arguments_come_first_each_once_in_the_order_of_the_script() -> None:
    @kernel(computes=lambda a: 0)
    def some(a: full) -> full:
        x = a[0] * a[1]
        y = x + a[0]
        return [(x * y).split(64)[0], (y + y).split(64)[0]]

    roots = list(some.trace().outputs[0])
    found = list(ordered(roots))
    assert len(set(found)) == len(found) and found[-1] is roots[-1]
    for at, each in enumerate(found):
        assert set(each.args) <= set(found[:at])
    assert list(ordered([*roots, *roots])) == found
    assert sum(each.op == "mul" and each.args[0].op == each.args[1].op == "limb" for each in found) == 1  # shared


def test_graphs_of_any_depth() -> None:
    x = node("limb")
    total = x
    for _ in range(50_000):
        total = node("add", total, x)
    assert evaluate([total], {x: 3}) == [3 * 50_001]


@kernel(computes=lambda a, n: 0)
def counted(a: full, n: Count) -> full:
    """(a0 + n a1, a1), and for no pass (7, 9)."""
    return repeat(
        n, lambda s: [(s[0] + s[1]).split(64)[0], s[1]], a, empty=lambda s: [7, 9], invariant=full
    )  # fmt: skip


@pytest.mark.parametrize("n", [0, 1, 2, 100])
def test_loops(n: int) -> None:
    roots = list(counted.trace().outputs[0])
    given = {}
    for each in ordered(roots):
        if each.op in ("limb", "scalar"):
            given[each] = {"limb": lambda at: (2**64 - 5, 3)[at[1]], "scalar": lambda at: n}[each.op](each.data)
    assert evaluate(roots, given) == ([(2**64 - 5 + 3 * n) % 2**64, 3] if n else [7, 9])


def test_a_loop_is_not_entered_and_brings_both_of_its_beginnings() -> None:
    roots = list(counted.trace().outputs[0])
    loop: LoopNode = next(each for each in roots if each.op == "result").data[0]
    found = list(ordered(roots))
    assert not set(loop.state) & set(found)
    assert {loop.count, *loop.initial, *loop.empty} <= set(found)
    assert inputs_of(roots[0]) == (loop.count, *loop.initial, *loop.empty)
    assert repr(node("limb", serial=7)) == "<limb 7>"
