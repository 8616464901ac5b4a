"""Finds the 128-bit numbers in a word program: what a C author would write as `t += (u128)a * b` and `t >> 51`.

A pair of words is one wide number when it comes of a product, or of two additions (or subtractions) tied by one carry
that goes nowhere else. Longer carry chains are left as they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from asmgen.words import Bit, LoopOp, Op, Term, Word


@dataclass(frozen=True)
class Product:
    """x * y, all of it."""

    x: Term
    y: Term


@dataclass(frozen=True)
class Joined:
    """high * 2^64 + low."""

    high: Term
    low: Term


@dataclass(frozen=True)
class Shifted:
    """A wide number or a word, shifted right by k, or left by -k where k is negative; modulo 2^128."""

    value: Wide | Word
    k: int


@dataclass(frozen=True, eq=False)
class Wide:
    """A sum modulo 2^128; each term is (whether it is subtracted, what)."""

    terms: tuple[tuple[bool, Part], ...]


Part = Product | Joined | Shifted | Wide | Word | int


@dataclass(frozen=True)
class Groups:
    """`wides` by the operation where each is made; `followers` have become part of one; `narrow` tells which words are
    bits k..k+63 of a wide number."""

    wides: Mapping[Op, Wide]
    followers: frozenset[Op]
    narrow: Mapping[Word, tuple[Wide, int]]

    def joined(self, other: Groups) -> Groups:
        """Both."""
        return Groups({**self.wides, **other.wides}, self.followers | other.followers, {**self.narrow, **other.narrow})


NONE = Groups({}, frozenset(), {})


class _Finder:
    def __init__(self, ops: Sequence[Op | LoopOp], uses: Mapping[Word | Bit, int]) -> None:
        self.wides: dict[Op, Wide] = {}
        self.followers: set[Op] = set()
        self.narrow: dict[Word, tuple[Wide, int]] = {}
        self.maker: dict[Word | Bit, Op] = {}
        self.place: dict[Word | Bit, int] = {}  # where each is made; a wide number is made at its first operation
        readers = {term: op for op in ops if isinstance(op, Op) for term in op.ins if isinstance(term, Bit)}
        for index, op in enumerate(ops):
            for out in op.results if isinstance(op, LoopOp) else op.outs:
                if out is not None:
                    self.place[out] = index
                    if isinstance(op, Op):
                        self.maker[out] = op
        for index, op in enumerate(ops):
            if isinstance(op, Op) and op not in self.followers:
                self.visit(op, index, uses, readers)

    def visit(self, op: Op, index: int, uses: Mapping[Word | Bit, int], readers: Mapping[Bit, Op]) -> None:
        if op.kind == "mul" and op.outs[1] is not None:
            self.make(op, Wide(((False, Product(_term(op.ins[0]), _term(op.ins[1]))),)), op.outs[0], op.outs[1])
        elif op.kind in ("add", "sub") and len(op.ins) == 2 and len(op.outs) > 1:
            carry = op.outs[1]
            if isinstance(carry, Bit) and uses.get(carry) == 1 and carry in readers:
                self.pair(op, readers[carry], index)
        elif op.kind in ("funnel", "shr"):
            self.slice(op)

    def make(self, op: Op, wide: Wide, low: Word | Bit | None, high: Word | Bit | None) -> None:
        self.wides[op] = wide
        if isinstance(low, Word):
            self.narrow[low] = (wide, 0)
        if isinstance(high, Word):
            self.narrow[high] = (wide, 64)

    def pair(self, first: Op, second: Op, index: int) -> None:
        """Two operations tied by a carry, unless the second one needs what is not there yet at the first."""
        if second.kind == ("word" if first.kind == "add" else "mask"):
            highs: tuple[Term, Term] = (0, 0)
        elif second.kind == first.kind and (len(second.outs) < 2 or second.outs[1] is None):
            highs = (_term(second.ins[0]), _term(second.ins[1]))
        else:
            return
        if any(isinstance(term, Word) and self.place.get(term, -1) >= index for term in highs):
            return
        lows = (_term(first.ins[0]), _term(first.ins[1]))
        x, y = self.join(highs[0], lows[0]), self.join(highs[1], lows[1])
        if first.kind == "add":
            crossed = self.join(highs[1], lows[0]), self.join(highs[0], lows[1])
            if _joined(*crossed) < _joined(x, y):
                x, y = crossed
        self.make(first, Wide(((False, x), (first.kind == "sub", y))), first.outs[0], second.outs[0])
        self.followers.add(second)
        high = second.outs[0]
        if high is not None:
            self.place[high] = index

    def slice(self, op: Op) -> None:
        """A shift that moves bits from a wide number into a word."""
        high = op.ins[0]
        if not isinstance(high, Word) or high not in self.narrow:
            return
        wide, at = self.narrow[high]
        out = op.outs[0]
        if not isinstance(out, Word):
            return
        if op.kind == "shr" and at + op.k < 128:
            if at == 64:
                self.narrow[out] = (wide, at + op.k)
        elif op.kind == "funnel" and isinstance(op.ins[1], Word) and self.narrow.get(op.ins[1]) == (wide, at - 64):
            self.narrow[out] = (wide, at - 64 + op.k)

    def join(self, high: Term, low: Term) -> Part:
        """high * 2^64 + low, as something better when it is."""
        if high == 0:
            return low
        if isinstance(low, Word) and isinstance(high, Word):
            if low in self.narrow and high in self.narrow:
                wide, k = self.narrow[low]
                if self.narrow[high] == (wide, k + 64):
                    return Shifted(wide, k) if k else wide
            return self.grown(high, low) or Joined(high, low)
        return Joined(high, low)

    def grown(self, high: Word, low: Word) -> Part | None:
        """A left shift of one or two words."""
        above, below = self.maker.get(high), self.maker.get(low)
        if above is None or below is None or below.kind != "shl" or above.k != 64 - below.k:
            return None
        word = below.ins[0]
        if not isinstance(word, Word):
            return None
        if above.kind == "shr" and above.ins[0] is word:
            return Shifted(word, -below.k)
        if above.kind == "funnel" and above.ins[1] is word:
            whole = self.join(_term(above.ins[0]), word)
            if isinstance(whole, Wide):
                return Shifted(whole, -below.k)
        return None


def group(ops: Sequence[Op | LoopOp], uses: Mapping[Word | Bit, int]) -> Groups:
    """The wide numbers among straight-line operations; `uses` counts all readers of a value, those elsewhere too."""
    found = _Finder(ops, uses)
    return Groups(found.wides, frozenset(found.followers), found.narrow)


def _term(term: Term | Bit) -> Term:
    if isinstance(term, Bit):
        raise TypeError(f"{term} stands where a word belongs")
    return term


def _joined(*parts: Part) -> int:
    return sum(isinstance(part, Joined) for part in parts)
