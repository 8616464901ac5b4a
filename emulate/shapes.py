"""What values an argument may have, and which of them find faults."""

from __future__ import annotations

import random
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import gcd
from operator import le

from asmgen.contracts import BitContract, Bytes, Contract, CountContract, Element, Small, Table
from emulate.columns import Column, pack, pick, pool, split_rows, sums, uniform

Number = CountContract | Small | BitContract

#: Vectors that are of one kind.
RUN = 64

_KINDS = ("uniform", "edges", "extremes", "carries", "whole", "mixed", "zeros")
_WEIGHTS = (4, 4, 1, 1, 5, 4, 2)
_WEIGHTS_OF_BITS = (2, 2, 1, 1, 4, 2, 12)  #: where one bit is all that comes out, and most values give the same one
_NEAR = (0, 1, 2, 18, 19, 20, 38, 977)
_PATTERNS = (0x5555555555555555, 0xAAAAAAAAAAAAAAAA, 0xFFFFFFFF00000000, 0xFFFFFFFF, 0x00000001FFFFFFFE)
_WORD = 2**64 - 1

#: Repetitions: mostly few, for each pass costs time.
_COUNTS = (0,) * 18 + (1,) * 16 + (2,) * 14 + (3,) * 10 + (4, 5) * 4 + (*range(6, 21), 31, 100)


@dataclass
class Shape:
    """Values of limbs: limb i stands at the sum of `digits[:i]` and is at most `most[i]`, the value is at most `top`.

    All in units of `unit`. `moduli` are those of the kernel's fields, this one's first; `scale` is Montgomery's R.
    """

    digits: tuple[int, ...]
    most: tuple[int, ...]
    top: int
    moduli: tuple[int, ...]
    unit: int = 1
    scale: int = 1
    reverse: int = 0  #: length of a big-endian byte string
    numbers: tuple[int, ...] = ()  #: the only values to take, for counts

    def __post_init__(self) -> None:
        self.positions = [sum(self.digits[:index]) for index in range(len(self.digits))]
        self._cuts = [(at, (1 << digit) - 1) for at, digit in zip(self.positions, self.digits, strict=True)]
        self._cuts[-1] = (self.positions[-1], -1)
        limbs = list(zip(self.digits, self.most, strict=True))
        self._edges = [_edges(digit, most, self._parts(index)) for index, (digit, most) in enumerate(limbs)]
        self._carries = [_carries(digit, most) for digit, most in limbs]
        self._extremes = [pool((0, most, 0, most, max(0, most - 1), min(1, most))) for most in self.most]
        whole = self._rows(self._whole())
        main = self._rows(self._main())
        whole += main * (len(whole) // (2 * len(main)) + 1)
        self._values = [pack(row) for row in whole]
        if any(most >> digit for digit, most in limbs[:-1]):
            self._values += [pack(self.spread(row)) for row in whole]
        self._zeros = [pack(row) for row in self._multiples()]
        self.inverses = self._inverses()
        self._factors = [pack(row) for row in self.inverses]
        # Only with its top limb above this can a value be too large.
        below = sum(most << at for most, at in zip(self.most[:-1], self.positions, strict=False))
        self._safe = (self.top - below) >> self.positions[-1]

    # Columns of RUN values.

    def run(self, rng: random.Random, bits: bool = False) -> list[bytes]:
        """Values of one kind; with `bits` mostly zeros modulo p and what lies beside them."""
        if self.numbers:
            return [pack(rng.choices(self.numbers, k=RUN))]
        kind = rng.choices(_KINDS, _WEIGHTS_OF_BITS if bits else _WEIGHTS)[0]
        if kind in ("whole", "zeros"):
            return split_rows(rng.choices(self._values if kind == "whole" else self._zeros, k=RUN), len(self.most))
        kinds = [kind] * len(self.most)
        if kind == "mixed":
            kinds = rng.choices(_KINDS[:4], (4, 2, 1, 1), k=len(self.most))
        return [self._column(rng, kind, index) for index, kind in enumerate(kinds)]

    def _column(self, rng: random.Random, kind: str, index: int) -> bytes:
        if kind == "uniform":
            return uniform(rng, self.most[index], RUN)
        if kind == "edges":
            return pick(rng, self._edges[index][rng.getrandbits(2)], RUN)
        return pick(rng, self._extremes[index] if kind == "extremes" else self._carries[index], RUN)

    def factors(self, rng: random.Random) -> list[bytes]:
        """Values from `inverses`."""
        return split_rows(rng.choices(self._factors, k=RUN), len(self.most))

    def related(self, rng: random.Random, relation: str, first: list[bytes], shape: Shape) -> list[bytes]:
        """Values whose sum or difference with those of `first` lies at an edge, or whose product with its `factors`,
        or that are the same modulo p in other limbs."""
        p = self.moduli[0]
        around = (0, 1, p - 1, p, p + 1, 2 * p - 1, 2 * p, 1 << sum(self.digits), rng.randrange(p))
        goals = rng.choices(around, k=RUN)
        columns = [array("Q", column) for column in first]
        if relation == "product":
            inverses = map(shape.inverses.__getitem__, zip(*columns, strict=True))
            wanted = [goal * self.scale * inverse % p for goal, inverse in zip(goals, inverses, strict=True)]
        elif relation == "same":
            multiples = [rng.randrange(self.top // p + 1) * p + self._off(rng) for _ in range(RUN)]
            wanted = [value % p + more for value, more in zip(sums(columns, self.positions), multiples, strict=True)]
        else:
            sign = rng.choice((1, -1))
            values = sums(columns, self.positions)
            wanted = [sign * (goal - value) for goal, value in zip(goals, values, strict=True)]
        zero = (0,) * len(self.most)
        rows = [self.cut(value) or self.cut(value % p) or zero for value in wanted]
        if relation == "same":
            rows = [self.spread(row, rng) for row in rows]
        return split_rows([pack(row) for row in rows], len(self.most))

    def finish(self, columns: list[Column]) -> tuple[Column, ...]:
        """Hold values to the top by lowering limbs from the highest on; then from units to words in memory."""
        if max(columns[-1]) > self._safe:
            for index, high in enumerate(columns[-1]):
                if high > self._safe:
                    self._lower(columns, index)
        if self.unit != 1:
            columns = [array("Q", [limb * self.unit for limb in column]) for column in columns]
        if self.reverse:
            columns = _reversed(columns, self.reverse)
        return tuple(columns)

    def _lower(self, columns: list[Column], index: int) -> None:
        excess = sum(column[index] << at for column, at in zip(columns, self.positions, strict=True)) - self.top
        for column, at in zip(reversed(columns), reversed(self.positions), strict=True):
            if excess <= 0:
                return
            less = min(column[index], -(-excess >> at))
            column[index] -= less
            excess -= less << at

    # Values.

    def cut(self, value: int) -> tuple[int, ...] | None:
        """The limbs of a value, the top one taking what is left; None when they break the bounds."""
        if not 0 <= value <= self.top:
            return None
        limbs = tuple([value >> at & mask for at, mask in self._cuts])
        return limbs if all(map(le, limbs, self.most)) else None

    def spread(self, limbs: Sequence[int], rng: random.Random | None = None) -> tuple[int, ...]:
        """The same value with as much as possible in the lower limbs, or some of that."""
        moved = list(limbs)
        for index in range(len(moved) - 1, 0, -1):
            digit = self.digits[index - 1]
            units = min(moved[index], (self.most[index - 1] - moved[index - 1]) >> digit)
            if units > 0:
                units = rng.choice((0, 1, units, rng.randint(0, units))) if rng else units
                moved[index] -= units
                moved[index - 1] += units << digit
        return tuple(moved)

    def _parts(self, index: int) -> list[int]:
        """Limb `index` of small multiples of the moduli, and small multiples of the limbs."""
        at, mask = self._cuts[index]
        parts = [multiple * p >> at & mask for p in self.moduli for multiple in (1, 2, 4)]
        return parts + [multiple * part for part in parts for multiple in (2, 4, 8)]

    def _rows(self, values: set[int]) -> list[tuple[int, ...]]:
        """The limbs of those that the bounds allow."""
        return [row for value in sorted(values) if (row := self.cut(value)) is not None]

    def _main(self) -> set[int]:
        """The few values that matter most: a third of all whole ones."""
        some = {0, 1, self.top}
        for p in self.moduli:
            some |= {m * p + d for m in (1, 2, 3, 4, self.top // p) for d in (-1, 0, 1)}
        return some

    def _whole(self) -> set[int]:
        """Values at and beside powers of two, multiples of p, and constants of a fold."""
        powers = [1 << k for k in range(self.top.bit_length() + 1)]
        some = {power + d for power in powers for d in (-1, 0, 1)} | {self.top - d for d in (*_NEAR, *powers)}
        for p in self.moduli:
            last = self.top // p
            multiples = {m for m in (*range(17), last // 3, last // 2, last - 1, last) if 0 <= m <= last}
            some |= {m * p + s * d for m in multiples for d in _NEAR for s in (1, -1)}
            some |= {m * p + s * d for m in (1, 2, last) for d in powers for s in (1, -1)}
            bits = 1 << p.bit_length()
            some |= {k * (bits - p) + s * d for k in (1, 2, 3) for d in _NEAR for s in (1, -1)}
            some |= {bits - k * (bits - p) - d for d in powers for k in (1, 2)} | {p // 2, p // 2 + 1}
            some |= {s * self.scale * d % p for d in _NEAR for s in (1, -1)}
        return some

    def _off(self, rng: random.Random) -> int:
        """Mostly 0, else one bit up or down: what is nearly a multiple of p must not pass for one."""
        return rng.choice((0, 0, 0, 1, -1)) << rng.choice((0, rng.randrange(self.top.bit_length() + 1)))

    def _multiples(self) -> list[tuple[int, ...]]:
        """Multiples of the moduli, and those with one bit added or taken, mostly where limbs and words begin; the limbs
        as they are cut, or with some of their excess in lower ones."""
        rng = random.Random(f"multiples {self.most}")
        bits = self.top.bit_length()
        begins = {at + d for at in (*self.positions, *range(0, bits, 64)) for d in (-1, 0, 1) if 0 <= at + d < bits}
        places = sorted(begins) * 4 + [rng.randrange(bits) for _ in range(100)] if bits else []
        offs = [0] * 200 + [sign << place for place in places for sign in (1, -1)]
        rows = []
        for p in self.moduli:
            for off in offs:
                most = rng.choice((self.top, min(self.top, 16 * p), 0))
                row = self.cut(rng.randrange(most // p + 1) * p + off)
                if row is not None:
                    rows.append(self.spread(row, rng) if rng.getrandbits(1) else row)
        return rows or [(0,) * len(self.most)]

    def _inverses(self) -> dict[tuple[int, ...], int]:
        """Some values by their limbs, with their inverses modulo p."""
        if not self.moduli:
            return {}
        p = self.moduli[0]
        rng = random.Random(p)
        values = (1, 2, p - 1, p - 2, *(rng.randrange(1, p) for _ in range(60)))
        units = [value for value in values if gcd(value, p) == 1]
        made = {row: pow(value, -1, p) for value in units if (row := self.cut(value)) is not None}
        return made or {(0,) * len(self.most): 1}


def shapes_of(contract: Contract, moduli: tuple[int, ...]) -> tuple[Shape, ...]:
    """The shape of an argument of a kernel whose fields have these moduli; of a table, that of each entry."""
    if isinstance(contract, Table):
        return (_shape(contract.element, moduli),) * contract.count
    return (_shape(contract, moduli),)


@cache
def _shape(contract: Element | Bytes | Number, moduli: tuple[int, ...]) -> Shape:
    if isinstance(contract, Element):
        field, unit = contract.field, contract.multiple_of
        most = tuple(limb // unit for limb in contract.limb_max)
        own = (field.modulus, *(p for p in moduli if p != field.modulus))
        return Shape(tuple(field.limbs), most, contract.value_max // unit, own, unit, field.montgomery or 1)
    if isinstance(contract, Bytes):
        digits = tuple(min(64, 8 * contract.length - at) for at in range(0, 8 * contract.length, 64))
        most = tuple((1 << digit) - 1 for digit in digits)
        reverse = contract.length if contract.order == "big" else 0
        return Shape(digits, most, (1 << 8 * contract.length) - 1, moduli, reverse=reverse)
    if contract.kind == "count":
        return Shape((64,), (_WORD,), _WORD, (), numbers=_COUNTS)
    return Shape((64,), (contract.value_max,), contract.value_max, ())


def _edges(digit: int, most: int, parts: Sequence[int]) -> list[list[bytes]]:
    """Edge values of a limb, with some of random width, in four pools."""
    some = {0, 1, 2, most, most - 1, most - 2, most >> 1, (most >> 1) + 1, *_PATTERNS}
    for k in (digit - 1, digit, digit + 1, 8, 16, 31, 32, 33, 48, 52, 63, 64, most.bit_length() - 1):
        some |= {(1 << max(k, 0)) + d for d in (-20, -19, -2, -1, 0, 1, 2, 19)}
    for part in parts:
        some |= {part + d for d in (-1, 0, 1)} | {most - part}
    rng = random.Random(f"edges {digit} {most}")
    values = sorted(some) + [rng.getrandbits(rng.randrange(most.bit_length() + 1)) for _ in range(len(some) // 2)]
    kept = [value for value in values if 0 <= value <= most]
    rng.shuffle(kept)
    return [pool(kept[turn::4] or kept) for turn in range(4)]


def _carries(digit: int, most: int) -> list[bytes]:
    """Mostly limbs of all ones, through which a carry runs, and a few beside them."""
    ones = min(most, (1 << digit) - 1)
    beside = (ones - 1, ones + 1, ones - 18, ones - 19, 0, most, most - most % (ones + 1))
    allowed = [value for value in beside if 0 <= value <= most]
    return pool([ones] * (2 * len(allowed)) + allowed)


def _reversed(columns: list[Column], length: int) -> list[Column]:
    """The bytes of each value in the other order, in memory words."""
    rows = [pack(words)[:length][::-1].ljust(8 * len(columns), b"\0") for words in zip(*columns, strict=True)]
    return [array("Q", column) for column in split_rows(rows, len(columns))]
