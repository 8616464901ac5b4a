"""asmgen.passes.builder: what is written computes what was asked for, within the bounds that are claimed."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import pytest

from asmgen.contracts import Parameter, Signature
from asmgen.field import Field
from asmgen.passes.builder import Builder, Part, derived, most
from asmgen.words import MASK, Bit, LoopOp, Op, Program, Term, Word, run

SEED = 20260401
COUNT = 6
IN = Field("in", 2**383 - 421, limbs=[64] * COUNT).limbs_below(2**64)
EDGES = (0, 1, 2, MASK, MASK - 1, 2**63, 2**32)


def value(parts: Sequence[int]) -> int:
    return sum(part << 64 * index for index, part in enumerate(parts))


class Written:
    """Inputs of random sizes, what a builder writes about them, and both run on integers."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.builder = Builder()
        self.sizes = [rng.choice((1, 7, 51, 63, 64, 64, 64)) for _ in range(COUNT)]
        self.words = [self.builder.load("a", i, (1 << size) - 1) for i, size in enumerate(self.sizes)]

    def part(self, *, bits: bool = True) -> Part:
        """A word, a constant, or a carry that is still in its flag."""
        kind = self.rng.randrange(8)
        if kind == 0 and bits:
            bit = self.builder.nonzero([self.rng.choice(self.words)])
            return bit if isinstance(bit, int) or self.rng.random() < 0.5 else self.builder.flip(bit)
        if kind == 1:
            return self.rng.choice(EDGES)
        return self.rng.choice(self.words)

    def number(self, length: int) -> list[Part]:
        return [self.part() for _ in range(length)]

    def check(self, made: Sequence[Part], given: Sequence[Part], law: Callable[..., bool]) -> None:
        """law(results, operands) on edge-biased inputs; no word is beyond its bound."""
        terms: list[Term] = [self.builder.as_word(part) for part in (*made, *given)]
        for index, term in enumerate(terms):
            self.builder.store("out", index, term)
        out = Field("out", 2**64 - 59, limbs=[64] * len(terms)).limbs_below(2**64)
        parameters = ((Parameter("out", out),), (Parameter("a", IN),))
        program = Program(Signature("s", "f", *parameters), self.builder.finish(None))
        for _ in range(8):
            words = [
                self.rng.choice((0, 1, (1 << size) - 1, self.rng.getrandbits(size), min(2**32, (1 << size) - 1)))
                for size in self.sizes
            ]
            found = run(program, {"a": words})[0]["out"]
            assert all(x <= most(term) for x, term in zip(found, terms, strict=True)), (SEED, words)
            assert law(found[: len(made)], found[len(made) :]), (SEED, words, found)


@pytest.mark.parametrize("turn", range(40))
def test_chains_add_and_subtract_numbers(turn: int) -> None:
    rng = random.Random(f"{SEED} chain {turn}")
    written = Written(rng)
    size, offset, subtract = rng.randint(1, 5), 0, rng.random() < 0.5
    total, row = written.number(rng.randint(1, size)), written.number(rng.randint(1, size))
    offset = rng.randint(0, size - 1)
    made = written.builder.chain(total, row, offset, size, subtract)
    sign = -1 if subtract else 1

    def law(results: Sequence[int], operands: Sequence[int]) -> bool:
        x, y = value(operands[: len(total)]), value(operands[len(total) :])
        return value(results) == (x + sign * (y << 64 * offset)) % 2 ** (64 * size)

    assert len(made) == size
    written.check(made, [*total, *row], law)


@pytest.mark.parametrize("turn", range(20))
def test_differences_give_the_borrow(turn: int) -> None:
    rng = random.Random(f"{SEED} difference {turn}")
    written = Written(rng)
    length = rng.randint(1, 4)
    x, y = written.number(length), written.number(length)
    made, borrow = written.builder.difference(x, y)

    def law(results: Sequence[int], operands: Sequence[int]) -> bool:
        left, right = value(operands[:length]), value(operands[length:])
        return value(results[:-1]) - (results[-1] << 64 * length) == left - right

    written.check([*made, borrow], [*x, *y], law)


@pytest.mark.parametrize("turn", range(20))
def test_shifts_of_numbers(turn: int) -> None:
    rng = random.Random(f"{SEED} shift {turn}")
    written = Written(rng)
    parts, k = written.number(rng.randint(1, 4)), rng.choice((0, 1, 13, 51, 63))
    size = 64 * len(parts)
    left = written.builder.shift_left(parts, k)
    right = written.builder.shift_right(parts, k, signed=False)
    signed = written.builder.shift_right(parts, k, signed=True)

    def law(results: Sequence[int], operands: Sequence[int]) -> bool:
        x, third = value(operands), len(parts)
        negative = x - (x >> (size - 1) << size)
        thirds = [value(results[at : at + third]) for at in range(0, 3 * third, third)]
        return thirds == [(x << k) % 2**size, x >> k, (negative >> k) % 2**size]

    written.check([*left, *right, *signed], parts, law)


@pytest.mark.parametrize("turn", range(30))
def test_single_words(turn: int) -> None:
    rng = random.Random(f"{SEED} word {turn}")
    written = Written(rng)
    builder, k = written.builder, rng.randrange(1, 64)
    x, y = written.part(bits=False), written.part(bits=False)
    bit = builder.as_bit(rng.choice([0, 1, builder.mask(rng.choice(written.words), 1), builder.nonzero([x])]))
    assert not isinstance(x, Bit) and not isinstance(y, Bit)
    bound = most(x) * most(y)
    product = builder.product(x, y, 2, bound)
    low = builder.product(x, y, 1, bound)
    apart = builder.united(builder.mask(x, k), builder.shift_left([builder.mask(y, 64 - k)], k)[0])
    others = [builder.mask(x, k), builder.select(bit, x, y), builder.nonzero([x, y]), builder.flip(bit), apart]

    def law(results: Sequence[int], operands: Sequence[int]) -> bool:
        left, right, chosen = operands
        wanted = [
            left % 2**k,
            left if chosen else right,
            left + right > 0,
            1 - chosen,
            left % 2**k | right << k & MASK,
        ]
        pieces = [value(results[: len(product)]), results[len(product)], *results[len(product) + 1 :]]
        return pieces == [left * right, left * right & MASK, *(int(each) for each in wanted)]

    written.check([*product, *low, *others], [x, y, bit], law)


def test_identical_operations_are_written_once() -> None:
    builder = Builder()
    a, b = builder.load("a", 0, MASK), builder.load("a", 1, MASK)
    assert builder.load("a", 0, MASK) is a
    assert builder.product(a, b, 2, MASK**2) == builder.product(b, a, 2, MASK**2)
    assert builder.op("shl", a, k=3) is builder.op("shl", a, k=3) is not builder.op("shl", a, k=4)
    bit = builder.nonzero([a])
    assert builder.nonzero([a]) is bit and builder.flip(builder.flip(bit)) is bit
    assert len(builder.ops) == 7


def test_what_constants_decide_is_not_written() -> None:
    builder = Builder()
    a = builder.load("a", 0, 2**51 - 1)
    assert builder.product(3, 5, 2, 15) == [15, 0]
    assert builder.product(a, 0, 1, 0) == [0]
    assert builder.mask(a, 51) is a and builder.mask(2**60 + 3, 51) == 3
    assert builder.select(1, a, 7) is a and builder.select(builder.nonzero([a]), 7, 7) == 7
    assert builder.chain([a], [0, 0], 0, 2) == [a, 0]
    assert builder.chain([5], [MASK], 0, 2) == [4, 1]
    assert builder.nonzero([0, 3, a]) == 1 and builder.nonzero([0]) == 0 and builder.flip(1) == 0
    assert [op.kind for op in builder.ops if isinstance(op, Op)] == ["load", "nonzero"]


def test_carries_are_made_only_where_they_can_be_one() -> None:
    builder = Builder()
    a, b = builder.load("a", 0, 2**63 - 1), builder.load("a", 1, 2**63 - 1)
    c = builder.load("a", 2, MASK)
    assert len(builder.chain([a], [b], 0, 2)) == 2
    quiet = builder.ops[-1]
    builder.chain([a, a], [c, b], 0, 3)
    assert isinstance(quiet, Op) and quiet.outs[1] is None
    carries = [op.outs[1] is not None for op in builder.ops if isinstance(op, Op) and op.kind == "add"]
    assert carries == [False, True, False]


def test_a_lowest_word_that_vanishes_leaves_its_carry() -> None:
    """2^64 - x + x: the sum's low word is zero by proof, and carries unless x is zero."""
    builder = Builder()
    x = builder.load("a", 0, MASK)
    negative = builder.op("sub", 0, x)
    low, high = builder.chain([negative, 7], [x], 0, 2, vanish=True)
    assert low == 0 and isinstance(high, Word)
    kinds = [op.kind for op in builder.ops if isinstance(op, Op)]
    assert kinds == ["load", "sub", "nonzero", "add"]


def test_loops_know_what_stands_outside_and_not_the_other_way_round() -> None:
    builder = Builder()
    a = builder.load("a", 0, MASK)
    double = builder.op("shl", a, k=1)
    with builder.scope() as body:
        assert builder.op("shl", a, k=1) is double
        inside = builder.op("shl", a, k=2)
    assert [op.outs[0] for op in body if isinstance(op, Op)] == [inside]
    assert builder.op("shl", a, k=2) is not inside


def test_only_what_is_read_is_kept() -> None:
    builder = Builder()
    a, n = builder.load("a", 0, MASK), builder.scalar("n", MASK)
    builder.op("shl", a, k=9)
    low, high = builder.product(a, 7, 2, 7 * MASK)
    state, result, unread = Word(100), Word(101), Word(102)
    body = (Op("add", (state, a), (Word(103), None)), Op("xor", (state, 1), (Word(104),)))
    kept = body[0].outs[0]
    assert isinstance(kept, Word)
    builder.ops.append(LoopOp(n, (state,), (a,), body, (kept,), (), (0,), (result,)))
    builder.ops.append(LoopOp(n, (unread,), (a,), (), (a,), (), (0,), (Word(105),)))
    builder.store("out", 0, low if isinstance(low, (Word, int)) else 0)
    done = builder.finish(result)
    assert [op.kind for op in done if isinstance(op, Op)] == ["load", "scalar", "mul", "store"]
    (loop,) = (op for op in done if isinstance(op, LoopOp))
    assert loop.body == (body[0],)
    mul = next(op for op in done if isinstance(op, Op) and op.kind == "mul")
    assert mul.outs == (low, None) and high not in mul.outs


@pytest.mark.parametrize(
    ("kind", "names", "name"),
    [
        ("mul", ("a0", "b1"), "a0*b1"), ("mul", ("a" * 10, "b" * 10), ""), ("add", ("a0b0.lo", "x"), "a0b0.lo.."),
        ("add", ("x..", "y"), "x.."), ("shr", ("x",), "x.high"), ("shr", ("x + y",), "(x + y).high"),
        ("funnel", ("high", "low"), "low.high"), ("and", ("x",), "x.low"), ("shl", ("x",), "x<<"), ("swap", ("x",), ""),
        ("add", (), ""),
    ],
)  # fmt: skip
def test_names_say_what_a_word_is_made_of(kind: str, names: tuple[str, ...], name: str) -> None:
    assert derived(kind, [Word(index, name=each) for index, each in enumerate(names)]) == name
