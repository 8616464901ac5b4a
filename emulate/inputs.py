"""Edge-biased inputs within a contract, the same for the same seed on every machine.

Vectors come in blocks of `BLOCK`. A block depends on the signature, the seed and its number alone, so any one vector
can be made again without those before its block. Within a block each run of `RUN` vectors has one kind for each
input: uniform limbs, limbs at edges, limbs at 0 and at the most allowed, limbs that hand a carry all the way up,
whole values around multiples of p and powers of two (also with their limbs unreduced), a mixture limb by limb, and
second inputs that make the sum or the product with the first a value at an edge.
"""

from __future__ import annotations

import random
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from operator import le
from typing import TypeAlias

from asmgen.contracts import Bytes, Contract, Element, Signature
from emulate.aliasing import Case, cases, pointers

BLOCK = 1024
RUN = 64
#: Random words of a block: one a vector, and what the driver reads beyond.
JUNK_WORDS = BLOCK + 512

#: One input of a call: the limbs of an element, the bytes of a byte string, or a number.
Input = tuple[int, ...] | bytes | int

Column: TypeAlias = "array[int]"  # of typecode Q

_KINDS = ("uniform", "edges", "extremes", "carries", "whole", "mixed")
_WEIGHTS = (4, 4, 1, 1, 4, 4)
_RELATIONS = ("", "sum", "product")
_RELATION_WEIGHTS = (13, 2, 1)
_MASK = 2**64 - 1


@dataclass(frozen=True)
class Block:
    """Vectors `start` to `start + count - 1` of a seed, column by column.

    `columns[i]` holds one array of words for each word of input i; bytes stand in memory order, padded with zeros.
    `junk` are the random words for registers, flags and outputs at entry.
    """

    signature: Signature
    seed: int
    start: int
    count: int
    columns: tuple[tuple[Column, ...], ...]
    junk: Column

    def case(self, index: int) -> Case:
        """How vector `start + index` shares and places its buffers."""
        every = cases(self.signature)
        return every[(self.start + index) % len(every)]

    def vector(self, index: int) -> tuple[Input, ...]:
        """The inputs of vector `start + index`."""
        return tuple(
            _input(parameter.contract, [column[index] for column in columns])
            for parameter, columns in zip(self.signature.inputs, self.columns, strict=True)
        )


def vectors(signature: Signature, count: int, seed: int) -> Iterator[tuple[Input, ...]]:
    """`count` vectors, each a tuple of inputs in script order, aliased inputs equal as in `cases(signature)`."""
    for block in blocks(signature, seed, count):
        for index in range(block.count):
            yield block.vector(index)


def blocks(signature: Signature, seed: int, count: int, first: int = 0) -> Iterator[Block]:
    """Vectors from block `first` on until vector `count - 1`."""
    generator = Generator(signature, seed)
    for number in range(first, -(-count // BLOCK)):
        yield generator.block(number, min(BLOCK, count - number * BLOCK))


class Generator:
    """Makes the blocks of a signature and a seed."""

    def __init__(self, signature: Signature, seed: int) -> None:
        self.signature = signature
        self.seed = seed
        moduli = tuple(
            dict.fromkeys(
                parameter.contract.field.modulus
                for parameter in signature.parameters
                if isinstance(parameter.contract, Element)
            )
        )
        self._shapes = [_shape(parameter.contract, moduli) for parameter in signature.inputs]

    def block(self, number: int, count: int = BLOCK) -> Block:
        """Block `number`, cut to its first `count` vectors."""
        rng = random.Random(f"{self.seed} {number}")
        runs = [self._run(rng) for _ in range(BLOCK // RUN)]
        columns = []
        for index, shape in enumerate(self._shapes):
            pieces = zip(*(run[index] for run in runs), strict=True)
            columns.append(shape.finish([array("Q", b"".join(column)) for column in pieces]))
        self._alias(number * BLOCK, columns)
        junk = array("Q", rng.randbytes(8 * JUNK_WORDS))
        junk[::7] = array("Q", _pick(rng, _JUNK_EDGES, len(junk[::7])))
        cut = tuple(tuple(column[:count] for column in group) for group in columns)
        return Block(self.signature, self.seed, number * BLOCK, count, cut, junk)

    def _run(self, rng: random.Random) -> list[list[bytes]]:
        """RUN values for each input, in units of the shape."""
        relation = rng.choices(_RELATIONS, _RELATION_WEIGHTS)[0]
        made: list[list[bytes]] = []
        first: _Shape | None = None
        for shape in self._shapes:
            if first is not None and relation and shape.digits == first.digits:
                made.append(shape.related(rng, relation, made[self._shapes.index(first)], first))
            elif first is None and len(shape.digits) > 1:
                first = shape
                made.append(shape.invertible(rng) if relation == "product" else shape.run(rng))
            else:
                made.append(shape.run(rng))
        return made

    def _alias(self, start: int, columns: list[tuple[Column, ...]]) -> None:
        """Give inputs in one buffer one value: the first one's when contracts agree, else the smaller limb of each."""
        every = cases(self.signature)
        outputs = len(pointers(self.signature)) - sum(parameter.by_pointer for parameter in self.signature.inputs)
        pointed = [index for index, parameter in enumerate(self.signature.inputs) if parameter.by_pointer]
        for number, case in enumerate(every):
            rows = slice((number - start) % len(every), None, len(every))
            slots = case.mode.slots[outputs:]
            for slot in sorted(set(slots)):
                group = [index for index, other in zip(pointed, slots, strict=True) if other == slot]
                if len(group) == 1:
                    continue
                contracts = [self.signature.inputs[index].contract for index in group]
                values = [columns[index] for index in group]
                shared = [
                    columns_of[0][rows]
                    if all(contract == contracts[0] for contract in contracts)
                    else array("Q", map(min, *(column[rows] for column in columns_of)))
                    for columns_of in zip(*values, strict=True)
                ]
                for group_columns in values:
                    for column, value in zip(group_columns, shared, strict=True):
                        column[rows] = value


def values(contract: Contract, columns: Sequence[Column]) -> list[int]:
    """The integer of each vector: sum of the limbs at their positions, the number of a byte string, or the scalar itself."""
    if isinstance(contract, Element):
        return _sums(columns, contract.field.positions)
    if isinstance(contract, Bytes):
        numbers = _sums(columns, range(0, 64 * len(columns), 64))
        if contract.order == "little":
            return numbers
        return [int.from_bytes(number.to_bytes(contract.length, "little"), "big") for number in numbers]
    return columns[0].tolist()


def _sums(columns: Sequence[Column], positions: Sequence[int]) -> list[int]:
    """sum of limb << position of each row, all rows at once in one long integer with a slot of the limbs' words for each.

    A limb moves down from bit 64 i of its slot to its position, which is never higher.
    """
    if len(columns) == 1:
        return columns[0].tolist()
    words, rows = len(columns), len(columns[0])
    flat = array("Q", bytes(8 * words * rows))
    for index, column in enumerate(columns):
        flat[index::words] = column
    limbs = int.from_bytes(flat.tobytes(), "little")
    total = 0
    for index, position in enumerate(positions):
        total += (limbs & _comb(words, rows) << 64 * index) >> 64 * index - position
    memory = total.to_bytes(8 * words * rows, "little")
    return [int.from_bytes(memory[at : at + 8 * words], "little") for at in range(0, len(memory), 8 * words)]


@lru_cache(maxsize=64)
def _comb(words: int, rows: int) -> int:
    """All ones in the first word of each slot."""
    return int.from_bytes((b"\xff" * 8).ljust(8 * words, b"\0") * rows, "little")


def _input(contract: Contract, words: list[int]) -> Input:
    if isinstance(contract, Element):
        return tuple(words)
    if isinstance(contract, Bytes):
        return b"".join(word.to_bytes(8, "little") for word in words)[: contract.length]
    return words[0]


def _pick(rng: random.Random, pool: Sequence[bytes], count: int) -> bytes:
    """`count` entries of a pool of 256."""
    return b"".join(map(pool.__getitem__, rng.randbytes(count)))


def _fill(pool: Sequence[int]) -> list[bytes]:
    """256 entries that repeat the pool, each as it stands in memory: that is the quick way to make columns."""
    return [pool[index % len(pool)].to_bytes(8, "little") for index in range(256)]


_JUNK_EDGES = _fill([0, _MASK, 1, 1 << 63, 0xFF, 0xFFFFFFFF])


@dataclass
class _Shape:
    """What an input may be: limb i of `digits[i]` bits at most `most[i]`, the value at most `top`, all in units of `unit`.

    `scale` times a value is what the product of two values is compared with (R of Montgomery form); p is `moduli[0]`.
    """

    digits: tuple[int, ...]
    most: tuple[int, ...]
    top: int
    unit: int
    moduli: tuple[int, ...]
    scale: int = 1
    reverse: int = 0  #: length of a big-endian byte string
    numbers: tuple[int, ...] = ()  #: values to prefer, for scalars

    def __post_init__(self) -> None:
        self.positions = [sum(self.digits[:index]) for index in range(len(self.digits))]
        limbs = list(zip(self.digits, self.most, strict=True))
        self.edges = [_edges(digit, most, self._parts(index)) for index, (digit, most) in enumerate(limbs)]
        self.carries = [_carries(digit, most) for digit, most in limbs]
        self.extremes = [_fill([0, most, 0, most, max(0, most - 1), min(1, most)]) for most in self.most]
        self.cuts = [(at, (1 << digit) - 1) for at, (digit, _) in zip(self.positions, limbs, strict=True)]
        self.cuts[-1] = (self.positions[-1], -1)
        self.inverses = self._inverses()
        self.factors = [_packed(row) for row in self.inverses]
        whole = self._whole()
        self.whole = [_packed(row) for row in whole]
        if any(most >> digit for digit, most in limbs[:-1]):
            self.whole += [_packed(self.spread(row)) for row in whole]
        # A value can only be too large when its top limb is above this.
        below = sum(most << at for most, at in zip(self.most[:-1], self.positions, strict=False))
        self.safe = (self.top - below) >> self.positions[-1]

    # Columns of RUN values.

    def run(self, rng: random.Random) -> list[bytes]:
        """Values of one kind."""
        if self.numbers:
            return [array("Q", rng.choices(self.numbers, k=RUN)).tobytes()]
        kind = rng.choices(_KINDS, _WEIGHTS)[0]
        if kind == "whole":
            return self._columns(rng.choices(self.whole, k=RUN))
        if kind == "mixed":
            kinds = rng.choices(_KINDS[:4], (4, 2, 1, 1), k=len(self.most))
        else:
            kinds = [kind] * len(self.most)
        return [self._column(rng, kind, index) for index, kind in enumerate(kinds)]

    def invertible(self, rng: random.Random) -> list[bytes]:
        """Values whose inverses modulo p `related` knows."""
        return self._columns(rng.choices(self.factors, k=RUN))

    def related(self, rng: random.Random, relation: str, first: list[bytes], shape: _Shape) -> list[bytes]:
        """Values whose sum, difference or product with those of `first` lies at an edge."""
        p = self.moduli[0]
        around = (0, 1, p - 1, p, p + 1, 2 * p - 1, 2 * p, 1 << sum(self.digits), rng.randrange(p))
        goals = rng.choices(around, k=RUN)
        columns = [array("Q", column) for column in first]
        if relation == "product":
            inverses = map(shape.inverses.__getitem__, zip(*columns, strict=True))
            wanted = [goal * self.scale * inverse % p for goal, inverse in zip(goals, inverses, strict=True)]
        else:
            sign = rng.choice((1, -1))
            values = _sums(columns, self.positions)
            wanted = [sign * (goal - value) for goal, value in zip(goals, values, strict=True)]
        zero = (0,) * len(self.most)
        return self._columns([_packed(self.cut(value) or self.cut(value % p) or zero) for value in wanted])

    def _column(self, rng: random.Random, kind: str, index: int) -> bytes:
        if kind == "uniform":
            return _uniform(rng, self.most[index])
        if kind == "edges":
            return _pick(rng, self.edges[index][rng.getrandbits(2)], RUN)
        return _pick(rng, self.extremes[index] if kind == "extremes" else self.carries[index], RUN)

    def _columns(self, rows: Sequence[bytes]) -> list[bytes]:
        flat = array("Q", b"".join(rows))
        return [flat[index :: len(self.most)].tobytes() for index in range(len(self.most))]

    # Values.

    def cut(self, value: int) -> tuple[int, ...] | None:
        """The limbs of a value, the top one taking what is left; None when they break the bounds."""
        if not 0 <= value <= self.top:
            return None
        limbs = tuple([value >> at & mask for at, mask in self.cuts])
        return limbs if all(map(le, limbs, self.most)) else None

    def spread(self, limbs: tuple[int, ...]) -> tuple[int, ...]:
        """The same value with as much as possible in the lower limbs."""
        moved = list(limbs)
        for index in range(len(moved) - 1, 0, -1):
            digit = self.digits[index - 1]
            units = min(moved[index], (self.most[index - 1] - moved[index - 1]) >> digit)
            if units > 0:
                moved[index] -= units
                moved[index - 1] += units << digit
        return tuple(moved)

    def finish(self, columns: list[Column]) -> tuple[Column, ...]:
        """Hold values to the top by lowering limbs from the highest on; then from units to words in memory."""
        highest = columns[-1]
        if max(highest) > self.safe:
            for index, high in enumerate(highest):
                if high > self.safe:
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

    def _parts(self, index: int) -> list[int]:
        """Limb `index` of the small multiples of the moduli."""
        parts = [
            multiple * p >> self.positions[index] & (1 << self.digits[index]) - 1
            for p in self.moduli
            for multiple in (1, 2, 4)
        ]
        return parts + [multiple * part for part in parts for multiple in (2, 4, 8)]

    def _whole(self) -> list[tuple[int, ...]]:
        """Values at and beside powers of two, multiples of p, and constants of a fold, that the bounds allow."""
        near = (0, 1, 2, 18, 19, 20, 38, 977)
        powers = [1 << k for k in range(self.top.bit_length() + 1)]
        some = {power + d for power in powers for d in (-1, 0, 1)} | {self.top - d for d in (*near, *powers)}
        for p in self.moduli:
            last = self.top // p
            multiples = {m for m in (*range(17), last // 3, last // 2, last - 1, last) if 0 <= m <= last}
            some |= {m * p + s * d for m in multiples for d in near for s in (1, -1)}
            some |= {m * p + s * d for m in (1, 2, last) for d in powers for s in (1, -1)}
            fold = (1 << p.bit_length()) - p
            some |= {k * fold + s * d for k in (1, 2, 3) for d in near for s in (1, -1)} | {p // 2, p // 2 + 1}
            some |= {(1 << p.bit_length()) - s * fold - d for d in powers for s in (1, 2)}
            some |= {s * self.scale * d % p for d in near for s in (1, -1)}
        return [cut for value in sorted(some) if (cut := self.cut(value)) is not None]

    def _inverses(self) -> dict[tuple[int, ...], int]:
        p = self.moduli[0] if self.moduli else 3
        rng = random.Random(p)
        made = {}
        for value in (1, 2, p - 1, p - 2, *(rng.randrange(1, p) for _ in range(60))):
            limbs = self.cut(value)
            if limbs is not None and value % p:
                made[limbs] = pow(value, -1, p)
        return made or {(0,) * len(self.most): 1}


@cache
def _shape(contract: Contract, moduli: tuple[int, ...]) -> _Shape:
    if isinstance(contract, Element):
        unit = contract.multiple_of
        most = tuple(limb // unit for limb in contract.limb_max)
        field = contract.field
        own = (field.modulus, *(p for p in moduli if p != field.modulus))
        return _Shape(tuple(field.limbs), most, contract.value_max // unit, unit, own, field.montgomery or 1)
    if isinstance(contract, Bytes):
        bits = [min(64, 8 * contract.length - at) for at in range(0, 8 * contract.length, 64)]
        most = tuple((1 << width) - 1 for width in bits)
        reverse = contract.length if contract.order == "big" else 0
        return _Shape(tuple(bits), most, (1 << 8 * contract.length) - 1, 1, moduli, reverse=reverse)
    if contract.kind == "count":
        return _Shape((64,), (_MASK,), _MASK, 1, (), numbers=_COUNTS)
    return _Shape((64,), (contract.value_max,), contract.value_max, 1, ())


#: Repetitions: mostly few, for each pass costs time; 1 in 50 above 20.
_COUNTS = (
    0,
    0,
    0,
    0,
    0,
    1,
    1,
    1,
    1,
    1,
    2,
    2,
    2,
    2,
    3,
    3,
    3,
    4,
    4,
    5,
    5,
    6,
    7,
    8,
    9,
    10,
    11,
    12,
    13,
    14,
    15,
    16,
    17,
    18,
    19,
    20,
) + (
    0,
    1,
    2,
    3,
    0,
    1,
    2,
    3,
    4,
    5,
    0,
    1,
    2,
    31,
    100,
)


def _edges(digit: int, most: int, parts: Sequence[int]) -> list[list[bytes]]:
    """Edge values of a limb, with some of random width, in four pools."""
    some = {0, 1, 2, most, most - 1, most - 2, most >> 1, (most >> 1) + 1}
    for k in (digit - 1, digit, digit + 1, 8, 16, 31, 32, 33, 48, 52, 63, 64, most.bit_length() - 1):
        some |= {(1 << max(k, 0)) + d for d in (-20, -19, -2, -1, 0, 1, 2, 19)}
    some |= {0x5555555555555555, 0xAAAAAAAAAAAAAAAA, 0xFFFFFFFF00000000, 0xFFFFFFFF, 0x00000001FFFFFFFE}
    for part in parts:
        some |= {part + d for d in (-1, 0, 1)} | {most - part}
    kept = sorted(value for value in some if 0 <= value <= most)
    rng = random.Random(f"edges {digit} {most}")
    kept += [rng.randrange(1 << rng.randrange(most.bit_length() + 1)) & most for _ in range(len(kept) // 2 + 1)]
    kept = [value for value in kept if value <= most]
    rng.shuffle(kept)
    return [_fill(kept[turn::4] or kept) for turn in range(4)]


def _carries(digit: int, most: int) -> list[bytes]:
    """Mostly limbs of all ones, through which a carry runs, and a few beside them."""
    ones = min(most, (1 << digit) - 1)
    beside = (ones - 1, ones + 1, ones - 18, ones - 19, 0, most, most - most % (ones + 1))
    allowed = [value for value in beside if 0 <= value <= most]
    return _fill([ones] * (2 * len(allowed)) + allowed)


def _uniform(rng: random.Random, most: int) -> bytes:
    """RUN limbs, uniform in 0..most when that is 2^k - 1, nearly so otherwise."""
    words = rng.getrandbits(64 * RUN) & _repeated((1 << most.bit_length()) - 1)
    column = words.to_bytes(8 * RUN, "little")
    if most & most + 1:
        return array("Q", [limb if limb <= most else limb >> 1 for limb in array("Q", column)]).tobytes()
    return column


def _packed(row: Sequence[int]) -> bytes:
    return b"".join([limb.to_bytes(8, "little") for limb in row])


@cache
def _repeated(mask: int) -> int:
    return sum(mask << 64 * index for index in range(RUN))


def _reversed(columns: list[Column], length: int) -> list[Column]:
    """The bytes of each value in the other order, in memory words."""
    rows = []
    for words in zip(*columns, strict=True):
        memory = b"".join(word.to_bytes(8, "little") for word in words)[:length][::-1]
        rows.append(memory.ljust(8 * len(columns), b"\0"))
    flat = array("Q", b"".join(rows))
    return [flat[index :: len(columns)] for index in range(len(columns))]
