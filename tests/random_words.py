"""Random word programs: every operation, carries read in every way, shapes that C writes in 128 bits, near misses."""

from __future__ import annotations

import random
from collections.abc import Callable

from asmgen.contracts import Bit as OneBit
from asmgen.contracts import Bytes, Count, Parameter, Signature, Small
from asmgen.emit.c_demand import readers
from asmgen.field import Field
from asmgen.passes.builder import live
from asmgen.words import MASK, Bit, LoopOp, Op, Program, Term, Word

LIMBS = 4
FIELD = Field("wide", 2**255 - 19, [64] * LIMBS)
ANY = FIELD.limbs_below(2**64)
LENGTH = 20  #: bytes: two words and a half
NOTHING = Signature("random", "nothing", (), ())
INTERESTING = (0, 1, 2, 19, 2**31, 2**32 - 1, 2**32, 2**51 - 1, 2**63 - 1, 2**63, MASK - 1, MASK)


def word_of(rng: random.Random) -> int:
    """A 64-bit number, often near an edge."""
    return rng.choice(INTERESTING) if rng.random() < 0.4 else rng.getrandbits(rng.choice((8, 32, 51, 64)))


class _Writer:
    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.serial = 0
        self.ops: list[Op | LoopOp] = []
        self.words: list[Word] = []
        self.bits: list[Bit] = []

    def word(self) -> Word:
        self.serial += 1
        return Word(self.serial, name=self.rng.choice(("", "", "low", "a[1]", "x")))

    def bit(self) -> Bit:
        self.serial += 1
        return Bit(self.serial)

    def any(self) -> Term:
        """A word, seldom a constant; later ones more often."""
        if self.rng.random() < 0.12:
            return word_of(self.rng)
        return self.words[int(len(self.words) * self.rng.random() ** 0.6)]

    def write(self, kind: str, *ins: Term | Bit, outs: int = 1, k: int = 0) -> list[Word]:
        made = [self.word() for _ in range(outs)]
        self.ops.append(Op(kind, ins, tuple(made), k))
        self.words += made
        return made

    def sum(
        self, kind: str, x: Term, y: Term, carry: Bit | None = None, *, out: bool = True
    ) -> tuple[Word, Bit | None]:
        """An addition or subtraction, with a carry out or without."""
        made, bit = self.word(), self.bit() if out else None
        ins = (x, y) if carry is None else (x, y, carry)
        self.ops.append(Op(kind, ins, (made, bit)))
        self.words.append(made)
        return made, bit

    def step(self) -> None:
        """One operation or shape."""
        choices: list[Callable[[], None]] = [
            self.logic, self.shift, self.product, self.pair, self.pair, self.columns, self.chain, self.slice,
            self.choice, self.choice, self.doubled, self.near, self.near,
        ]  # fmt: skip
        self.rng.choice(choices)()

    def logic(self) -> None:
        if self.rng.random() < 0.2:
            self.write("swap", self.any())
        else:
            self.write(self.rng.choice(("and", "or", "xor")), self.any(), self.any())

    def shift(self) -> None:
        kind = self.rng.choice(("shl", "shr", "sar", "funnel"))
        ins = [self.any(), self.any()] if kind == "funnel" else [self.any()]
        self.write(kind, *ins, k=self.rng.randrange(1, 64))

    def product(self) -> None:
        low, high = self.word(), self.word()
        outs = self.rng.choice(((low, high), (low, high), (low, None), (None, high)))
        self.ops.append(Op("mul", (self.any(), self.any()), outs))
        self.words += [out for out in outs if out is not None]

    def pair(self) -> None:
        """Two sums tied by a carry, which others may read too; something may come between."""
        kind = self.rng.choice(("add", "add", "sub"))
        low, carry = self.sum(kind, self.any(), self.any())
        assert carry is not None
        if self.rng.random() < 0.25:
            self.step()
        x = low if self.rng.random() < 0.1 else self.any()
        y: Term = 0 if self.rng.random() < 0.3 else self.any()
        high, _ = self.sum(kind, x, y, carry, out=False)
        self.follow(high, low)
        if self.rng.random() < 0.15:
            self.bits.append(carry)

    def follow(self, high: Word, low: Word) -> None:
        """What may be done with a number of two words."""
        if self.rng.random() < 0.6:
            k = self.rng.randrange(1, 64)
            (below,) = self.write("funnel", high, low, k=k)
            (above,) = self.write(self.rng.choice(("shr", "sar")), high, k=k)
            if self.rng.random() < 0.6:
                total, carry = self.sum("add", below, self.any())
                self.sum("add", self.rng.choice((0, self.any())), above, carry, out=False)

    def doubled(self) -> None:
        """A number of two words shifted left, then used as one."""
        low, high = self.write("mul", self.any(), self.any(), outs=2)
        k = self.rng.randrange(1, 64)
        (below,) = self.write("shl", low, k=k)
        (above,) = (
            self.write("funnel", high, low, k=64 - k) if self.rng.random() < 0.7 else self.write("shr", low, k=64 - k)
        )
        _, carry = self.sum("add", below, self.any())
        assert carry is not None
        self.sum("add", above, self.any(), carry, out=False)

    def near(self) -> None:
        """Almost one of the shapes above, or one at its edge."""
        kind = self.rng.choice(("add", "sub"))
        low, high = self.write("mul", self.any(), self.any(), outs=2)
        l2, h2 = self.write("mul", self.any(), self.any(), outs=2)
        k = self.rng.randrange(2, 63)
        match self.rng.randrange(6):
            case 0:  # halves crossed over
                _, carry = self.sum(kind, low, l2)
                self.sum(kind, h2, high, carry, out=False)
            case 1:  # a carry as a word or mask
                _, carry = self.sum(kind, self.any(), self.any())
                assert carry is not None
                self.write(self.rng.choice(("word", "mask")), carry)
            case 2:  # words alone, the top a small constant
                _, carry = self.sum(kind, self.any(), self.any())
                self.sum(kind, self.rng.choice((0, 0, 1)), self.rng.choice((0, 1)), carry, out=False)
            case 3:  # two shifts that are not one
                (below,) = self.write("shl", low, k=k)
                (above,) = self.write("funnel", high, low, k=self.rng.choice((64 - k, k, 63 - k)))
                _, carry = self.sum(kind, below, self.any())
                self.sum(kind, above, self.any(), carry, out=False)
            case 4:  # of different numbers
                (below,) = self.write("shl", low, k=k)
                (above,) = self.write("funnel", high, l2, k=64 - k)
                _, carry = self.sum(kind, below, self.any())
                self.sum(kind, above, self.any(), carry, out=False)
            case 5:
                (below,) = self.write("shl", low, k=k)
                (above,) = self.write("shr", self.rng.choice((low, l2)), k=64 - k)
                _, carry = self.sum(kind, below, self.any())
                self.sum(kind, above, self.any(), carry, out=False)

    def columns(self) -> None:
        """A sum of products in two words."""
        low, high = self.write("mul", self.any(), self.any(), outs=2)
        for _ in range(self.rng.randrange(1, 4)):
            l2, h2 = self.write("mul", self.any(), self.any(), outs=2)
            kind = "sub" if self.rng.random() < 0.2 else "add"
            ins = (l2, low) if kind == "add" and self.rng.random() < 0.3 else (low, l2)
            new, carry = self.sum(kind, *ins)
            tops = (h2, high) if kind == "add" and self.rng.random() < 0.3 else (high, h2)
            high, _ = self.sum(kind, *tops, carry, out=False)
            low = new
        self.follow(high, low)

    def chain(self) -> None:
        """Three words or more, the last carry kept or dropped."""
        kind = self.rng.choice(("add", "sub"))
        carry: Bit | None = None
        for left in reversed(range(self.rng.randrange(2, 5))):
            _, carry = self.sum(kind, self.any(), self.any(), carry, out=left > 0 or self.rng.random() < 0.5)
        if carry is not None:
            self.bits.append(carry)

    def slice(self) -> None:
        """Bits out of a product."""
        low, high = self.write("mul", self.any(), self.any(), outs=2)
        self.write("funnel", high, low, k=self.rng.randrange(1, 64))

    def choice(self) -> None:
        """Bits made and read."""
        if not self.bits or self.rng.random() < 0.4:
            bit = self.bit()
            self.ops.append(Op("nonzero", (self.any(),), (bit,)))
            self.bits.append(bit)
        bit = self.rng.choice(self.bits)
        kind = self.rng.choice(("select", "select", "word", "mask", "flip", "carry"))
        if kind == "select":
            self.write("select", bit, self.any(), self.any())
        elif kind in ("word", "mask"):
            self.write(kind, bit)
        elif kind == "carry":
            self.sum(self.rng.choice(("add", "sub")), self.any(), self.any(), bit, out=False)
        else:
            flipped = self.bit()
            self.ops.append(Op("flip", (bit,), (flipped,)))
            self.bits.append(flipped)

    def straight(self, count: int) -> list[Op]:
        """Operations in a list of their own; what they make is not known outside."""
        outer = self.ops, list(self.words), list(self.bits)
        self.ops = []
        for _ in range(count):
            self.step()
        made = [op for op in self.ops if isinstance(op, Op)]
        self.inside = self.words[len(outer[1]) :] or self.words
        self.ops, self.words, self.bits = outer
        return made

    def loop(self, count: Word) -> None:
        width = self.rng.randrange(1, 4)
        initial = tuple(self.any() for _ in range(width))
        state = tuple(self.word() for _ in range(width))
        known = list(self.words)
        self.words = [*known, *state, *state]
        body = self.straight(self.rng.randrange(1, 6))
        moved = [*self.inside, *state] if self.rng.random() < 0.7 else list(state)
        after = tuple(self.rng.choice(moved) for _ in range(width))
        self.words = known
        empty = self.straight(self.rng.randrange(0, 4))
        values = tuple(self.rng.choice(self.inside) for _ in range(width))
        results = tuple(self.word() for _ in range(width))
        self.ops.append(LoopOp(count, state, initial, tuple(body), after, tuple(empty), values, results))
        self.words += results

    def store_all(self) -> None:
        """Every word that nothing has read yet goes into one of the outputs, so that all of the program matters."""
        read = set(readers(Program(NOTHING, tuple(self.ops))))
        left = [word for word in self.words if word not in read]
        places = [*(("out", i) for i in range(LIMBS)), *(("bytes", i) for i in range(3))]
        self.rng.shuffle(places)  # stores between others: what comes later must still see what was read
        for index, place in enumerate(places):
            total: Term = left[index] if index < len(left) else self.any()
            for word in left[index + len(places) :: len(places)]:
                (total,) = self.write("xor", total, word)
            self.ops.append(Op("store", (total,), (), place=place))


def random_program(rng: random.Random, name: str, size: int) -> Program:
    """A program of `random_<name>`: four words and bytes out, from two elements, bytes, a count and numbers."""
    signature = Signature(
        "random", name, (Parameter("out", ANY), Parameter("bytes", Bytes(LENGTH, "little"))),
        (
            Parameter("a", ANY), Parameter("b", ANY), Parameter("given", Bytes(LENGTH, "little")),
            Parameter("n", Count), Parameter("s", Small(2**64)), Parameter("bit", OneBit),
        ),
        returns_bit=True,
    )  # fmt: skip
    writer = _Writer(rng)
    places = [*((name, i) for name in "ab" for i in range(LIMBS)), *(("given", i) for i in range(3))]
    for place in places:
        word = Word(writer.serial, name=f"{place[0]}[{place[1]}]")
        writer.serial += 1
        writer.ops.append(Op("load", (), (word,), place=place))
        writer.words.append(word)
    count = Word(writer.serial, name="n")
    for scalar in (count, Word(writer.serial + 1, name="s"), Word(writer.serial + 2, most=1, name="bit")):
        writer.ops.append(Op("scalar", (), (scalar,), place=(scalar.name, 0)))
        writer.words.append(scalar)
    writer.serial += 3
    for index in range(size):
        if index in (size // 3, size // 2) and rng.random() < 0.4:
            writer.loop(count)
        else:
            writer.step()
    bit = rng.choice(writer.bits) if writer.bits else None
    if bit is None:
        bit = writer.bit()
        writer.ops.append(Op("nonzero", (writer.words[-1],), (bit,)))
    writer.store_all()
    returned = writer.word()
    writer.ops.append(Op("word", (bit,), (returned,)))
    return Program(signature, tuple(live(writer.ops, {returned})), returned)


def random_inputs(rng: random.Random) -> dict[str, list[int]]:
    """Words by parameter; the bytes' last word has four bytes."""
    return {
        "a": [word_of(rng) for _ in range(LIMBS)],
        "b": [word_of(rng) for _ in range(LIMBS)],
        "given": [word_of(rng), word_of(rng), word_of(rng) & 0xFFFFFFFF],
        "n": [rng.randrange(4)],
        "s": [word_of(rng)],
        "bit": [rng.randrange(2)],
    }
