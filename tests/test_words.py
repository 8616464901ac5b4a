"""asmgen.words: every operation's meaning, and programs run on integers."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import pytest

from asmgen.contracts import Bytes, Count, Parameter, Signature
from asmgen.field import Field
from asmgen.words import MASK, Bit, LoopOp, Op, Program, Word, meaning, run

SEED = 20260401
EDGES = (0, 1, 2, 2**32 - 1, 2**63 - 1, 2**63, MASK - 1, MASK)

#: What holds of an operation's results, without a word of how they come about: kind -> (operands, law).
LAWS: dict[str, tuple[str, Callable[[Sequence[int], int, Sequence[int]], bool]]] = {
    "mul": ("ww", lambda x, k, r: r[0] + (r[1] << 64) == x[0] * x[1]),
    "add": ("wwb", lambda x, k, r: r[0] + (r[1] << 64) == sum(x)),
    "sub": ("wwb", lambda x, k, r: r[0] - (r[1] << 64) == x[0] - x[1] - x[2]),
    "shl": ("w", lambda x, k, r: (x[0] << k) - r[0] == x[0] >> (64 - k) << 64),
    "shr": ("w", lambda x, k, r: 0 <= x[0] - (r[0] << k) < 1 << k),
    "sar": ("w", lambda x, k, r: 0 <= signed(x[0]) - (signed(r[0]) << k) < 1 << k),
    "funnel": ("ww", lambda x, k, r: r[0] == (x[0] * 2**64 + x[1]) // 2**k % 2**64),
    "and": ("ww", lambda x, k, r: r[0] + (x[0] | x[1]) == x[0] + x[1]),
    "or": ("ww", lambda x, k, r: r[0] + (x[0] & x[1]) == x[0] + x[1]),
    "xor": ("ww", lambda x, k, r: r[0] + 2 * (x[0] & x[1]) == x[0] + x[1]),
    "select": ("bww", lambda x, k, r: r[0] == x[0] * x[1] + (1 - x[0]) * x[2]),
    "word": ("b", lambda x, k, r: r[0] == x[0]),
    "mask": ("b", lambda x, k, r: r[0] == -x[0] % 2**64),
    "nonzero": ("w", lambda x, k, r: r[0] == (1 if x[0] else 0)),
    "flip": ("b", lambda x, k, r: r[0] + x[0] == 1),
    "swap": ("w", lambda x, k, r: r[0].to_bytes(8, "big") == x[0].to_bytes(8, "little")),
}


def signed(word: int) -> int:
    return word - 2**64 if word >> 63 else word


@pytest.mark.parametrize("kind", LAWS)
def test_operations_keep_their_laws(kind: str) -> None:
    operands, law = LAWS[kind]
    rng = random.Random(f"{SEED} {kind}")
    for _ in range(300):
        words = [rng.choice(EDGES) if rng.random() < 0.5 else rng.getrandbits(64) for _ in operands]
        ins = [word & 1 if each == "b" else word for word, each in zip(words, operands, strict=True)]
        k = rng.randrange(1, 64)
        results = list(meaning(kind, ins, k))
        assert all(0 <= result <= MASK for result in results)
        assert law(ins, k, results), (kind, ins, k, results)


def test_an_operation_that_is_not_there() -> None:
    with pytest.raises(KeyError, match="no operation nand"):
        list(meaning("nand", [1, 2]))


def test_names() -> None:
    assert str(Word(7, name="a[0]")) == "a[0].7" and str(Word(7)) == "w.7" and str(Bit(8)) == "c.8"


ONE = Field("one", 2**61 - 1, limbs=[61]).limbs_below(2**64)


def looped() -> Program:
    """out = a * 3^n, or 5 when n = 0; returns [a = 0]."""
    a, n, state, low, high, result = (Word(i) for i in range(6))
    some, none, bit = Bit(6), Bit(7), Word(8, 1)
    loop = LoopOp(n, (state,), (a,), (Op("mul", (state, 3), (low, None)),), (low,), (), (5,), (result,))
    ops = (
        Op("load", (), (a,), place=("a", 0)), Op("scalar", (), (n,), place=("n", 0)), loop,
        Op("store", (result,), place=("out", 0)), Op("nonzero", (a,), (some,)), Op("flip", (some,), (none,)),
        Op("word", (none,), (bit,)),
    )  # fmt: skip
    inputs = (Parameter("a", ONE), Parameter("n", Count))
    return Program(Signature("s", "f", (Parameter("out", ONE),), inputs, returns_bit=True), ops, bit)


@pytest.mark.parametrize("n", [0, 1, 2, 41])
def test_loops(n: int) -> None:
    for a in (0, 1, MASK):
        assert run(looped(), {"a": [a], "n": [n]}) == ({"out": [a * 3**n & MASK if n else 5]}, int(a == 0))


def test_bytes_that_are_no_whole_number_of_words() -> None:
    """A copy of 11 bytes: the last 8 of them once more, from the third on."""
    text = Bytes(11, "little")
    first, last = Word(0), Word(1)
    ops = (
        Op("load", (), (first,), place=("a", 0)), Op("load", (), (last,), 3, place=("a", 0)),
        Op("store", (first,), place=("out", 0)), Op("store", (last,), (), 3, place=("out", 0)),
    )  # fmt: skip
    program = Program(Signature("s", "f", (Parameter("out", text),), (Parameter("a", text),)), ops)
    words = [0x0807060504030201, 0x0B0A09]
    assert run(program, {"a": words}) == ({"out": words}, None)


def test_a_word_that_was_not_stored() -> None:
    program = Program(Signature("s", "f", (Parameter("out", ONE),), ()), ())
    with pytest.raises(ValueError, match="word 0 of out was not stored"):
        run(program, {})
