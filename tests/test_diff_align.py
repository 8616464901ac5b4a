"""Matching by value: the order-keeping part, repeated values, and rows."""

from __future__ import annotations

import random
from itertools import combinations

from asmgen.diff.align import Matches, increasing, nearest_pairs, pairs, rows
from asmgen.diff.lines import Line
from asmgen.diff.steps import Step

SEED = 20260401


def step(offset: int, kind: str, *values: int) -> Step:
    """A step that makes these values with two inputs."""
    none = frozenset[str]()
    line = Line(offset, 1, b"", kind, kind, kind, (), (), none, none, False, False, None, None, None)
    return Step(line, kind, tuple((value, value + 1000) for value in values))


def test_the_longest_part_that_keeps_both_orders_is_found() -> None:
    rng = random.Random(SEED)
    for _ in range(300):
        count = rng.randrange(8)
        found = list(zip(range(count), rng.sample(range(20), count), strict=True))
        chosen = increasing(rng.sample(found, count))
        assert set(chosen) <= set(found)
        assert all(a < c and b < d for (a, b), (c, d) in zip(chosen, chosen[1:], strict=False))
        longest = max(
            size for size in range(count + 1) for part in combinations(found, size)
            if all(one[1] < other[1] for one, other in zip(part, part[1:], strict=False))
        )  # fmt: skip
        assert len(chosen) == longest, f"seed {SEED}: {found}"


def test_of_several_occurrences_those_nearest_to_the_skeleton_are_taken() -> None:
    assert nearest_pairs([5], [1, 21, 40], [(4, 20), (6, 22)]) == [(5, 21)]
    assert nearest_pairs([1, 21, 40], [5], [(20, 4), (22, 6)]) == [(21, 5)]
    assert nearest_pairs([1, 2], [7, 9], []) == [(1, 7), (2, 9)]
    rng = random.Random(SEED)
    for _ in range(200):
        mine, yours = (sorted(rng.sample(range(60), rng.randrange(1, 6))) for _ in range(2))
        found = nearest_pairs(mine, yours, [(10, 12), (40, 35)])
        assert len(found) == min(len(mine), len(yours))
        assert all(a < c and b < d for (a, b), (c, d) in zip(found, found[1:], strict=False))


def test_equal_values_are_one_step_whatever_computes_them() -> None:
    ours = [step(0, "products", 5, 6), step(1, "other", 7), step(2, "moves", 7), step(3, "stores", 7)]
    theirs = [step(10, "moves", 6), step(11, "products", 6, 5), step(12, "with carry", 7), step(13, "stores", 7)]
    assert pairs(ours, theirs) == [(0, 1), (1, 2), (3, 3)]


def test_a_value_is_matched_once() -> None:
    ours, theirs = [step(0, "other", 3)], [step(10, "other", 3), step(11, "other", 3)]
    assert len(pairs(ours, theirs)) == 1


def test_of_equal_values_the_same_class_comes_first() -> None:
    ours = [step(0, "other", 3), step(1, "with carry", 3)]
    theirs = [step(10, "with carry", 3), step(11, "other", 3)]
    assert pairs(ours, theirs) == [(0, 1), (1, 0)]


def test_loops_are_aligned_by_iteration() -> None:
    body = [step(at, "other", 100 * turn + at) for turn in range(5) for at in range(3)]
    turned = [step(10 + at, "other", 100 * turn + at) for turn in range(5) for at in (2, 0, 1)]
    matches = Matches()
    matches.add(body, turned)
    assert {at: matches.of(0, at) for at in range(3)} == {0: [10], 1: [11], 2: [12]}
    assert matches.executed[0] == {0: 5, 1: 5, 2: 5}


def test_what_is_mostly_unmatched_has_no_counterpart() -> None:
    matches = Matches()
    matches.add([step(0, "other", turn) for turn in range(5)], [step(10, "other", 1)])
    assert matches.of(0, 0) == [] and matches.of(1, 10) == [0]


def test_every_line_has_one_row() -> None:
    found = list(rows([0, 1, 2, 3], [10, 11, 12], {0: 11, 1: 10, 2: 12}))
    assert [a for a, _ in found if a is not None] == [0, 1, 2, 3]
    assert [b for _, b in found if b is not None] == [10, 11, 12]
    assert (2, 12) in found and sum(a is not None and b is not None for a, b in found) == 2
