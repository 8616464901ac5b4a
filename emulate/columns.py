"""Many words at once: arrays, byte strings and long integers, for want of vectors in Python."""

from __future__ import annotations

import random
from array import array
from collections.abc import Sequence
from functools import cache, lru_cache
from itertools import repeat
from struct import Struct
from typing import TypeAlias

Column: TypeAlias = "array[int]"  # of typecode Q: the same word of many vectors


def sums(columns: Sequence[Column], positions: Sequence[int]) -> list[int]:
    """The sum of word << position in each row; position i is at most 64 i, and the sums fit the words.

    All rows at once in one long integer, with a slot of as many words for each: a word moves down from bit 64 i of its
    slot to its position.
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
    return list(map(int.from_bytes, _slots(words, rows).unpack(memory), repeat("little")))  # type: ignore[arg-type]


@lru_cache(maxsize=64)
def _comb(words: int, rows: int) -> int:
    """All ones in the first word of each slot."""
    return int.from_bytes((b"\xff" * 8).ljust(8 * words, b"\0") * rows, "little")


@lru_cache(maxsize=64)
def _slots(words: int, rows: int) -> Struct:
    return Struct(f"{8 * words}s" * rows)


def split_rows(rows: Sequence[bytes], words: int) -> list[bytes]:
    """Columns, as bytes, of rows that are `words` words as bytes."""
    flat = array("Q", b"".join(rows))
    return [flat[index::words].tobytes() for index in range(words)]


def pack(row: Sequence[int]) -> bytes:
    """Words as they stand in memory."""
    return _packer(len(row)).pack(*row)


@cache
def _packer(words: int) -> Struct:
    return Struct(f"<{words}Q")


def pool(numbers: Sequence[int]) -> list[bytes]:
    """256 words that repeat the numbers, to `pick` from."""
    return [numbers[index % len(numbers)].to_bytes(8, "little") for index in range(256)]


def pick(rng: random.Random, words: Sequence[bytes], count: int) -> bytes:
    """`count` words from a pool of 256: a random byte each is the quickest choice there is."""
    return b"".join(map(words.__getitem__, rng.randbytes(count)))


def uniform(rng: random.Random, most: int, count: int) -> bytes:
    """`count` words, uniform in 0..most when that is 2^k - 1, nearly so otherwise."""
    words = rng.getrandbits(64 * count) & _repeated((1 << most.bit_length()) - 1, count)
    column = words.to_bytes(8 * count, "little")
    if most & most + 1:
        return array("Q", [word if word <= most else word >> 1 for word in array("Q", column)]).tobytes()
    return column


@lru_cache(maxsize=1024)
def _repeated(word: int, count: int) -> int:
    return int.from_bytes(word.to_bytes(8, "little") * count, "little")
