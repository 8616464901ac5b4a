"""asmgen.passes.fuse: what one reader can take in, and what must stay a value of its own."""

from __future__ import annotations

from asmgen.contracts import Signature
from asmgen.passes.fuse import first_readers, regions, taken_in
from asmgen.words import Bit, LoopOp, Op, Program, Word

NOTHING = Signature("s", "f", (), ())


def words(count: int) -> list[Word]:
    return [Word(index) for index in range(count)]


def sums_take_shifts(reader: Op, op: Op, word: Word) -> bool:
    return reader.kind == "add" and op.kind == "shl" and reader.ins[1] is word


def program(*ops: Op | LoopOp, returns: Word | None = None) -> Program:
    return Program(NOTHING, ops, returns)


def test_the_only_reader_takes_a_result_in() -> None:
    a, b, shifted, total = words(4)
    shift, add = Op("shl", (a,), (shifted,), 3), Op("add", (b, shifted), (total, None))
    assert taken_in(program(shift, add), sums_take_shifts) == {shifted: shift}
    wrong_side = Op("add", (shifted, b), (total, None))
    assert taken_in(program(shift, wrong_side), sums_take_shifts) == {}
    other = Op("sub", (b, shifted), (total, None))
    assert taken_in(program(shift, other), sums_take_shifts) == {}


def test_a_result_with_two_readers_stays() -> None:
    a, b, shifted, one, two = words(5)
    shift = Op("shl", (a,), (shifted,), 3)
    adds = Op("add", (a, shifted), (one, None)), Op("add", (b, shifted), (two, None))
    assert taken_in(program(shift, *adds), sums_take_shifts) == {}
    twice = Op("add", (shifted, shifted), (one, None))
    assert taken_in(program(shift, twice), sums_take_shifts) == {}


def test_what_is_returned_or_leaves_its_region_stays() -> None:
    a, b, shifted, total = words(4)
    shift, add = Op("shl", (a,), (shifted,), 3), Op("add", (b, shifted), (total, None))
    assert taken_in(program(shift, add, returns=shifted), sums_take_shifts) == {}
    n, state, result = Word(10), Word(11), Word(12)
    loop = LoopOp(n, (state,), (b,), (add,), (total,), (), (b,), (result,))
    assert taken_in(program(shift, loop), sums_take_shifts) == {}
    inside = LoopOp(n, (state,), (b,), (shift, add), (total,), (), (b,), (result,))
    assert taken_in(program(inside), sums_take_shifts) == {shifted: shift}
    kept = LoopOp(n, (state,), (b,), (shift, add), (shifted,), (), (b,), (result,))
    assert taken_in(program(kept), sums_take_shifts) == {}


def test_a_reader_takes_one_in_and_is_not_taken_in_itself() -> None:
    a, b, c, first, second, total = words(6)
    both = Op("shl", (a,), (first,), 3), Op("shl", (b,), (second,), 4), Op("add", (first, second), (total, None))
    found = taken_in(program(*both), lambda reader, op, word: reader.kind == "add" and op.kind == "shl")
    assert found == {first: both[0]}

    chain = Op("shl", (a,), (first,), 1), Op("shl", (first,), (second,), 2), Op("add", (c, second), (total, None))
    found = taken_in(program(*chain), lambda reader, op, word: op.kind == "shl")
    assert found == {first: chain[0]}  # the second shift has taken in the first: no sum can take in both


def test_regions_are_straight_lines_with_what_leaves_them() -> None:
    a, n, state, inner, result, empty = words(6)
    body, none, load = Op("shl", (state,), (inner,), 1), Op("shl", (a,), (empty,), 2), Op("load", (), (a,))
    loop = LoopOp(n, (state,), (a,), (body,), (inner,), (none,), (empty,), (result,))
    (first, leaves), (second, leave), (outside, outer) = regions(program(load, loop, returns=result))
    assert (list(first), leaves) == ([body], {inner})
    assert (list(second), leave) == ([none], {empty})
    assert list(outside) == [load] and {result, n, a} <= outer


def test_first_readers_of_bits() -> None:
    a, one, two = words(3)
    carry, other = Bit(8), Bit(9)
    add = Op("add", (a, a), (one, carry))
    first, second = Op("word", (carry,), (two,)), Op("mask", (carry,), (one,))
    assert first_readers(program(add, first, second)) == {carry: first}
    assert other not in first_readers(program(add))
