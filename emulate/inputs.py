"""Edge-biased inputs within a contract, the same for the same seed on every machine.

Vectors come in blocks of `BLOCK`. A block depends on the signature, the seed and its number alone, so any one vector
can be made again without those of other blocks. Within a block each run of `RUN` vectors has one kind for each input:
uniform limbs, limbs at edges, limbs at 0 and at the most allowed, limbs that hand a carry all the way up, whole values
around multiples of p and powers of two (also with their limbs unreduced), a mixture limb by limb, multiples of p in
limbs of every kind with a few one bit beside them, and second inputs that make the sum or the product with the first a
value at an edge, or are the first one modulo p in other limbs.
"""

from __future__ import annotations

import random
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from asmgen.contracts import Bytes, Contract, Element, Signature, Table, elements
from emulate.aliasing import Case, cases, pointers
from emulate.columns import Column, pack, pick, pool, sums
from emulate.shapes import RUN, Number, Shape, shapes_of

BLOCK = 1024
#: Random words of a block: one a vector, and what the driver reads beyond.
JUNK_WORDS = BLOCK + 512

#: One argument: the limbs of an element or of all entries of a table, the bytes of a byte string, or a number.
Input = tuple[int, ...] | bytes | int

_RELATIONS = ("", "sum", "product", "same")
_WEIGHTS = (22, 3, 2, 3)
_WEIGHTS_OF_BITS = (10, 3, 2, 15)  #: where one bit is all that comes out
_JUNK_EDGES = pool([0, 2**64 - 1, 1, 1 << 63, 0xFF, 0xFFFFFFFF])


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
            unpack(parameter.contract, [column[index] for column in columns])
            for parameter, columns in zip(self.signature.inputs, self.columns, strict=True)
        )


def vectors(signature: Signature, count: int, seed: int) -> Iterator[tuple[Input, ...]]:
    """`count` vectors, each a tuple of inputs in script order, equal where `cases` puts them in one buffer."""
    generator = Generator(signature, seed)
    for start in range(0, count, BLOCK):
        block = generator.block(start // BLOCK, min(BLOCK, count - start))
        yield from map(block.vector, range(block.count))


class Generator:
    """Makes the blocks of a signature and a seed."""

    def __init__(self, signature: Signature, seed: int) -> None:
        self.signature = signature
        self.seed = seed
        moduli = tuple(dict.fromkeys(element.field.modulus for element in elements(signature.parameters)))
        self._bits = signature.returns_bit and not signature.outputs
        self._shapes = [shapes_of(parameter.contract, moduli) for parameter in signature.inputs]

    def block(self, number: int, count: int = BLOCK) -> Block:
        """Block `number`, cut to its first `count` vectors."""
        rng = random.Random(f"{self.seed} {number}")
        runs = [self._run(rng) for _ in range(BLOCK // RUN)]
        parts = iter([zip(*pieces, strict=True) for pieces in zip(*runs, strict=True)])
        columns = []
        for shapes in self._shapes:
            made = [shape.finish([array("Q", b"".join(column)) for column in next(parts)]) for shape in shapes]
            columns.append(tuple(column for group in made for column in group))
        self._alias(number * BLOCK, columns)
        junk = array("Q", rng.randbytes(8 * JUNK_WORDS))
        junk[::7] = array("Q", pick(rng, _JUNK_EDGES, len(junk[::7])))
        cut = tuple(tuple(column[:count] for column in group) for group in columns)
        return Block(self.signature, self.seed, number * BLOCK, count, cut, junk)

    def _run(self, rng: random.Random) -> list[list[bytes]]:
        """RUN values for each input and each entry of a table, in units of its shape."""
        relation = rng.choices(_RELATIONS, _WEIGHTS_OF_BITS if self._bits else _WEIGHTS)[0]
        made: list[list[bytes]] = []
        first: tuple[Shape, list[bytes]] | None = None
        for shape in (shape for shapes in self._shapes for shape in shapes):
            if first is None and shape.moduli:
                made.append(shape.factors(rng) if relation == "product" else shape.run(rng, self._bits))
                first = shape, made[-1]
            elif first is not None and relation and shape.digits == first[0].digits:
                made.append(shape.related(rng, relation, first[1], first[0]))
            else:
                made.append(shape.run(rng, self._bits))
        return made

    def _alias(self, start: int, columns: list[tuple[Column, ...]]) -> None:
        """Give inputs in one buffer one value: the first one's when contracts agree, else the smaller limb of each.

        That one keeps both contracts: its limbs and so its value are at most those of either.
        """
        contracts = [parameter.contract for parameter in self.signature.inputs]
        pointed = [index for index, parameter in enumerate(self.signature.inputs) if parameter.by_pointer]
        every = cases(self.signature)
        outputs = len(pointers(self.signature)) - len(pointed)
        for number, case in enumerate(every):
            rows = slice((number - start) % len(every), None, len(every))
            slots = case.mode.slots[outputs:]
            for slot in sorted(set(slots)):
                group = [index for index, other in zip(pointed, slots, strict=True) if other == slot]
                if len(group) == 1:
                    continue
                same = all(contracts[index] == contracts[group[0]] for index in group)
                for places in zip(*(columns[index] for index in group), strict=True):
                    values = [place[rows] for place in places]
                    shared = values[0] if same else array("Q", map(min, *values))
                    for place in places:
                        place[rows] = shared


def values(contract: Element | Bytes | Number, columns: Sequence[Column]) -> list[int]:
    """The integer of each vector: the value of an element, the number of a byte string, or the number itself."""
    if isinstance(contract, Element):
        return sums(columns, contract.field.positions)
    if not isinstance(contract, Bytes):
        return columns[0].tolist()
    numbers = sums(columns, range(0, 64 * len(columns), 64))
    if contract.order == "little":
        return numbers
    return [int.from_bytes(number.to_bytes(contract.length, "little"), "big") for number in numbers]


def unpack(contract: Contract, words: Sequence[int]) -> Input:
    """An argument from its words in memory."""
    if isinstance(contract, (Element, Table)):
        return tuple(words)
    if isinstance(contract, Bytes):
        return pack(words)[: contract.length]
    return words[0]
