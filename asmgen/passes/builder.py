"""Writes word operations: folds constants, finds identical ones once, bounds every word, drops what nobody reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from asmgen.errors import Source
from asmgen.words import MASK, Bit, LoopOp, Op, Term, Word

Part = Word | int | Bit  #: a word of a number; a lone carry stays a bit until someone needs it as a word


def most(part: Part) -> int:
    """The largest value that a part takes."""
    return part if isinstance(part, int) else 1 if isinstance(part, Bit) else part.most


def derived(kind: str, ins: Sequence[Part]) -> str:
    """A name for a result without one, from what it is made of: listings show it."""
    names = [part.name for part in ins if isinstance(part, Word) and part.name]
    if not names:
        return ""
    first = names[0]
    whole = names[-1] if kind == "funnel" else first
    if whole.endswith("..") or any(sign in whole for sign in "+-*<"):
        whole = f"({whole})"
    match kind:
        case "mul":
            factors = [str(part) for part in ins if isinstance(part, int) and part < 1000] + names
            return "*".join(factors) if sum(map(len, names)) <= 16 else ""
        case "add" | "sub" | "or":
            return first if first.endswith("..") else f"{first}.."
        case "shr" | "sar" | "funnel":
            return f"{whole}.high"
        case "and":
            return f"{whole}.low"
        case "shl":
            return f"{first}<<"
    return ""


class Builder:
    """Operations in order, with what is known of them."""

    def __init__(self) -> None:
        self.ops: list[Op | LoopOp] = []
        self.source: Source | None = None
        self.name = ""
        self._memo: dict[tuple[object, ...], tuple[Word, ...]] = {}
        self._bits: dict[tuple[object, ...], Bit] = {}
        self._bit_of: dict[Word, Bit] = {}  #: words that are a bit or its mask
        self._serial = 0
        self._chains = 0

    def _next(self) -> int:
        self._serial += 1
        return self._serial

    def word(self, bound: int | None = None, name: str = "") -> Word:
        """A new word, at most `bound`."""
        return Word(self._next(), MASK if bound is None else min(bound, MASK), name or self.name)

    def new_chain(self) -> int:
        """A number for rows that may run side by side."""
        self._chains += 1
        return self._chains

    @contextmanager
    def scope(self) -> Iterator[list[Op | LoopOp]]:
        """Write into a list of its own (a loop's body); what is made there is not known outside."""
        outer, memo, bits, bit_of = self.ops, self._memo, self._bits, self._bit_of
        # A flag does not live from outside into a loop's body: its bits are made again there.
        self.ops, self._memo, self._bits, self._bit_of = [], dict(memo), {}, {}
        try:
            yield self.ops
        finally:
            self.ops, self._memo, self._bits, self._bit_of = outer, memo, bits, bit_of

    # ---- single operations ----

    def op(self, kind: str, *ins: Term | Bit, k: int = 0, bound: int = MASK) -> Word:
        """An operation with one result, the same one when it was written before."""
        key = (kind, ins, k)
        if key not in self._memo:
            out = self.word(bound, self.name or derived(kind, ins))
            self.ops.append(Op(kind, ins, (out,), k, source=self.source))
            self._memo[key] = (out,)
            if kind in ("mask", "word") and isinstance(ins[0], Bit):
                self._bit_of[out] = ins[0]
        return self._memo[key][0]

    def _input(self, kind: str, name: str, index: int, bound: int, label: str, k: int = 0) -> Word:
        key = (kind, name, index, k)
        if key not in self._memo:
            out = self.word(bound, label)
            self.ops.append(Op(kind, (), (out,), k, place=(name, index), source=self.source))
            self._memo[key] = (out,)
        return self._memo[key][0]

    def load(self, name: str, index: int, bound: int, k: int = 0) -> Word:
        """Word `index` of an input buffer, k bytes further on."""
        return self._input("load", name, index, bound, f"{name}[{8 * index + k}..]" if k else f"{name}[{index}]", k)

    def scalar(self, name: str, bound: int) -> Word:
        """An argument passed by value."""
        return self._input("scalar", name, 0, bound, name)

    def store(self, name: str, index: int, value: Term, k: int = 0) -> None:
        """Word `index` of an output buffer, k bytes further on."""
        self.ops.append(Op("store", (value,), (), k, place=(name, index), source=self.source))

    def as_word(self, part: Part) -> Term:
        """A part as a word."""
        return self.op("word", part, bound=1) if isinstance(part, Bit) else part

    def united(self, x: Part, y: Part) -> Part:
        """x | y of parts that have no bit in common."""
        if 0 in (x, y):
            return y if x == 0 else x
        left, right = self.as_word(x), self.as_word(y)
        if isinstance(left, int) and isinstance(right, int):
            return left | right
        if isinstance(left, int):
            left, right = right, left
        return self.op("or", left, right, bound=(1 << max(most(left), most(right)).bit_length()) - 1)

    def as_bit(self, part: Part) -> Bit | int:
        """A part that is 0 or 1 as a bit."""
        return self.nonzero([part]) if isinstance(part, Word) else part

    def sign(self, part: Part) -> Bit | int:
        """The highest bit of a word."""
        if most(part) < 1 << 63:
            return 0
        if not isinstance(part, Word):
            return 1
        return self.as_bit(self.op("shr", part, k=63, bound=1) if part not in self._bit_of else part)

    def nonzero(self, parts: Sequence[Part]) -> Bit | int:
        """The bit: is any of the parts not zero?"""
        if any(isinstance(part, int) and part for part in parts):
            return 1
        live = [part for part in parts if not isinstance(part, int)]
        if len(live) == 1:
            bit = live[0] if isinstance(live[0], Bit) else self._bit_of.get(live[0])
            if bit is not None:
                return bit
        words = [self.as_word(part) for part in live]
        if not words:
            return 0
        total = words[0]
        for word in words[1:]:
            total = self.op("or", total, word)
        key = ("nonzero", total)
        if key not in self._bits:
            self._bits[key] = Bit(self._next())
            self.ops.append(Op("nonzero", (total,), (self._bits[key],), source=self.source))
        return self._bits[key]

    def flip(self, bit: Bit | int) -> Bit | int:
        """1 - bit."""
        if isinstance(bit, int):
            return 1 - bit
        if ("flip", bit) not in self._bits:
            out = Bit(self._next())
            self.ops.append(Op("flip", (bit,), (out,), source=self.source))
            self._bits["flip", bit], self._bits["flip", out] = out, bit
        return self._bits["flip", bit]

    def select(self, part: Part, x: Part, y: Part) -> Part:
        """x if the bit is 1, else y."""
        bit = self.as_bit(part)
        if isinstance(bit, int):
            return x if bit else y
        if x is y or (isinstance(x, int) and x == y):
            return x
        if isinstance(x, int) and isinstance(y, int) and 0 in (x, y):
            return self.masked(bit if x else self.flip(bit), x or y)
        return self.op("select", bit, self.as_word(x), self.as_word(y), bound=max(most(x), most(y)))

    def masked(self, bit: Bit | int, constant: int) -> Part:
        """The constant if the bit is 1, else 0."""
        assert isinstance(bit, Bit)
        if constant == 1:
            return bit
        mask = self.op("mask", bit)
        return mask if constant == MASK else self.op("and", mask, constant, bound=constant)

    def product(self, x: Term, y: Term, count: int, bound: int) -> list[Part]:
        """The low `count` words of x * y, one or two; `bound` is known of the product."""
        if isinstance(x, int):
            x, y = y, x
        bound = min(bound, most(x) * most(y))
        if isinstance(x, int) and isinstance(y, int):
            constants: list[Part] = [x * y & MASK, x * y >> 64]
            return constants[:count]
        assert isinstance(x, Word)
        if bound == 0:
            return [0]
        if most(x) <= 1 and most(y) <= 1:
            return [x if y == 1 else self.op("and", x, y, bound=1)]
        if isinstance(y, int) and y & (y - 1) == 0:
            k = y.bit_length() - 1
            low = self._shl(x, k, bound) if k else x
            high: Part = self.op("shr", x, k=64 - k, bound=bound >> 64) if k and bound > MASK else 0
            return [low, high][:count]
        low, high = self._mul(x, y, bound)
        return [low] if count == 1 or bound <= MASK else [low, high]

    def _mul(self, x: Term, y: Term, bound: int) -> tuple[Word, Word]:
        key: tuple[object, ...] = ("mul", frozenset((x, y)))
        if key not in self._memo:
            name = self.name or derived("mul", (x, y))
            one = bound <= MASK
            low, high = (name, "") if one else (f"{name}.lo", f"{name}.hi")
            outs = (self.word(min(bound, MASK), low), self.word(min(bound >> 64, MASK - 1), high))
            self.ops.append(Op("mul", (x, y), outs, source=self.source))
            self._memo[key] = outs
        return self._memo[key][0], self._memo[key][1]

    # ---- numbers of several words ----

    def chain(
        self,
        total: Sequence[Part],
        row: Sequence[Part],
        offset: int,
        size: int,
        subtract: bool = False,
        *,
        chain: int | None = None,
        top: int | None = None,
        vanish: bool = False,
    ) -> list[Part]:
        """total ± row * 2^(64 offset) modulo 2^(64 size), in one carry chain.

        `top` bounds the highest word. With `vanish` the lowest word of the sum is zero by proof: it is not made,
        and its carry is whether the old one was not zero.
        """
        result = list(total) + [0] * (size - len(total))
        row = list(row)
        # A lone carry further up becomes a word now, while it is still in its flag: the chain brings a carry of its
        # own.
        for i in range(offset + 1, size):
            if i - offset < len(row):
                result[i], row[i - offset] = self.as_word(result[i]), self.as_word(row[i - offset])
        carry: Bit | int = 0
        for i in range(offset, size):
            x, y = result[i], row[i - offset] if i - offset < len(row) else 0
            if carry == 0 and y == 0:
                if i - offset >= len(row):
                    break
                continue
            if vanish and i == offset and not isinstance(x, int):
                result[i], carry = 0, 0 if subtract else self.nonzero([x])
                continue
            last = i == size - 1
            result[i], carry = self._digit(x, y, carry, last, subtract, chain, top if last else None)
        return result

    def _digit(
        self, x: Part, y: Part, carry: Bit | int, last: bool, subtract: bool, chain: int | None, bound: int | None
    ) -> tuple[Part, Bit | int]:
        """One word of a chain: the sum or difference, and the carry or borrow."""
        if isinstance(x, int) and isinstance(y, int) and isinstance(carry, int):
            value = x - y - carry if subtract else x + y + carry
            return value & MASK, int(not 0 <= value <= MASK)
        if not subtract:
            return self._sum(x, y, carry, last, chain, bound)
        if x == 0 and y == 0:
            assert isinstance(carry, Bit)
            return self.op("mask", carry), carry
        if carry == 1:
            return self._after_one("sub", x, y, last, chain)
        left, right = self.as_word(x), self.as_word(y)
        borrow = None if last else Bit(self._next())
        out = self.word(bound, self.name or derived("sub", (left, right)))
        self._append("sub", left, right, carry, out, borrow, chain)
        return out, 0 if borrow is None else borrow

    def _after_one(self, kind: str, x: Part, y: Part, last: bool, chain: int | None) -> tuple[Part, Bit | int]:
        """x + y + 1 or x - y - 1, where a carry of 1 came out of constants below."""
        if isinstance(y, int):
            if y == MASK:
                return x, 1
            return self._digit(x, y + 1, 0, last, kind == "sub", chain, None)
        first, one = self._digit(x, 1, 0, last, kind == "sub", chain, None)
        second, other = self._digit(first, y, 0, last, kind == "sub", chain, None)
        return second, 0 if last else self.nonzero([self.as_word(one), self.as_word(other)])

    def _sum(
        self, x: Part, y: Part, carry: Bit | int, last: bool, chain: int | None, bound: int | None
    ) -> tuple[Part, Bit | int]:
        if carry == 1:
            return (
                self._after_one("add", y, x, last, chain)
                if isinstance(x, int)
                else self._after_one("add", x, y, last, chain)
            )
        parts = [part for part in (x, y, carry) if not (isinstance(part, int) and part == 0)]
        if len(parts) == 1:
            return parts[0], 0
        bits = [part for part in parts if isinstance(part, Bit)]
        rest = [part for part in parts if not isinstance(part, Bit)]
        while len(bits) > 1 or (bits and not rest):
            rest.append(self.as_word(bits.pop(0)))
        left, right = rest[0], rest[1] if len(rest) > 1 else 0
        highest = sum(most(part) for part in parts)
        carry_out = None if last or highest <= MASK else Bit(self._next())
        name = self.name or derived("add", (left, right))
        out = self.word(min(highest, MASK if bound is None else bound), name)
        self._append("add", self.as_word(left), self.as_word(right), bits[0] if bits else 0, out, carry_out, chain)
        return out, 0 if carry_out is None else carry_out

    def _append(
        self, kind: str, x: Term, y: Term, carry: Bit | int, out: Word, carry_out: Bit | None, chain: int | None
    ) -> None:
        ins: tuple[Term | Bit, ...] = (x, y, carry) if isinstance(carry, Bit) else (x, y)
        self.ops.append(Op(kind, ins, (out, carry_out), source=self.source, chain=chain))

    def difference(self, x: Sequence[Part], y: Sequence[Part]) -> tuple[list[Part], Bit | int]:
        """x - y in as many words as both have, and the borrow out of it."""
        result = self.chain([*x, 0], [*y, 0], 0, len(x) + 1, subtract=True)
        # The word above holds -borrow: it is dropped, the borrow itself is wanted.
        last = result.pop()
        if isinstance(last, int):
            return result, last & 1
        mask = next(op for op in reversed(self.ops) if isinstance(op, Op) and last in op.outs)
        self.ops.remove(mask)  # in place: a loop's body may hold this list
        del self._memo["mask", mask.ins, 0]
        bit = mask.ins[0]
        assert mask.kind == "mask" and isinstance(bit, Bit)
        return result, bit

    def shift_left(self, words: Sequence[Part], k: int) -> list[Part]:
        """words * 2^k modulo their size, 0 <= k < 64."""
        if k == 0:
            return list(words)
        made: list[Part] = []
        below: Term = 0
        for part in words:
            word = self.as_word(part)
            made.append(self._funnel(word, below, 64 - k))
            below = word
        return made

    def shift_right(self, words: Sequence[Part], k: int, signed: bool) -> list[Part]:
        """floor(words / 2^k), 0 <= k < 64."""
        if k == 0:
            return list(words)
        terms = [self.as_word(part) for part in words]
        made: list[Part] = [self._funnel(high, low, k) for low, high in zip(terms, terms[1:], strict=False)]
        top = terms[-1]
        if isinstance(top, int):
            return [*made, (top - (top >> 63 << 64) if signed else top) >> k & MASK]
        return [*made, self.op("sar", top, k=k) if signed else self._shr(top, k)]

    def _shr(self, x: Word, k: int) -> Part:
        return self.op("shr", x, k=k, bound=x.most >> k) if x.most >> k else 0

    def _shl(self, x: Word, k: int, bound: int) -> Word:
        """The low word of x * 2^k, of which `bound` is known."""
        return self.op("shl", x, k=k, bound=min(bound, x.most << k, MASK >> k << k))

    def _funnel(self, high: Term, low: Term, k: int) -> Part:
        if isinstance(high, int) and isinstance(low, int):
            return (high << 64 | low) >> k & MASK
        if high == 0:
            assert isinstance(low, Word)
            return self._shr(low, k)
        if low == 0:
            assert isinstance(high, Word)
            return self._shl(high, 64 - k, MASK)
        return self.op("funnel", high, low, k=k, bound=min(MASK, (most(high) << 64 | most(low)) >> k))

    def mask(self, part: Part, k: int) -> Part:
        """part mod 2^k."""
        if most(part) < 1 << k:
            return part
        if isinstance(part, int):
            return part & ((1 << k) - 1)
        return self.op("and", self.as_word(part), (1 << k) - 1, bound=(1 << k) - 1)

    def clear(self, words: Sequence[Part], k: int) -> list[Part]:
        """Words with the low k bits set to zero, k < 64."""
        if k == 0 or not words:
            return list(words)
        low, keep = words[0], MASK >> k << k
        if isinstance(low, int):
            return [low & keep, *words[1:]]
        return [self.op("and", self.as_word(low), keep, bound=most(low) & keep), *words[1:]]

    # ---- the end ----

    def finish(self, returns: Term | None) -> tuple[Op | LoopOp, ...]:
        """The operations that matter, in order."""
        needed: set[Word | Bit] = set() if returns is None or isinstance(returns, int) else {returns}
        return tuple(live(self.ops, needed))


def live(ops: Sequence[Op | LoopOp], needed: set[Word | Bit]) -> list[Op | LoopOp]:
    """The operations that `needed` and the stores rest on; an output that nobody reads is None. Extends `needed`."""
    kept: list[Op | LoopOp] = []
    for op in reversed(ops):
        if isinstance(op, LoopOp):
            if any(word in needed for word in op.results):
                kept.append(_live_loop(op, needed))
            continue
        if op.kind != "store" and not any(out in needed for out in op.outs):
            continue
        needed.update(term for term in op.ins if not isinstance(term, int))
        outs = tuple(out if out in needed else None for out in op.outs)
        kept.append(op if outs == op.outs else Op(op.kind, op.ins, outs, op.k, op.place, op.source, op.chain))
    return kept[::-1]


def _live_loop(loop: LoopOp, needed: set[Word | Bit]) -> LoopOp:
    inside: set[Word | Bit] = {term for term in (*loop.next, *loop.empty_values) if isinstance(term, Word)}
    body = live(loop.body, inside)
    empty = live(loop.empty, inside)
    needed |= inside
    needed.update(term for term in (loop.count, *loop.initial) if isinstance(term, Word))
    return LoopOp(
        loop.count,
        loop.state,
        loop.initial,
        tuple(op for op in body if isinstance(op, Op)),
        loop.next,
        tuple(op for op in empty if isinstance(op, Op)),
        loop.empty_values,
        loop.results,
        loop.source,
    )
