"""p448: integers modulo 2^448 - 2^224 - 1 in seven words.

Any seven words are taken, the one value below the modulus is given back.
"""

from asmgen import Bit, Bytes, Count, Field, Small, Table, kernel, power, program, repeat
from asmgen import select as pick

EXCESS = 2**224 + 1  # 2^448 less the modulus
P = 2**448 - EXCESS

fe = Field("p448", P, limbs=[64] * 7)
loose = fe.below(2**448)
canonical = fe.below(P)


def settled(x):
    """x modulo P, for x up to 2^640: a quotient q is known but for one, so q + 1 is tried and one taken back."""
    rest, q = x.split(448)
    q = q + 1
    more, carry = (rest + (q + (q << 224))).split(448)
    return more - pick(carry, 0, EXCESS)


def reduced(x):
    """x modulo P, for x below 2^896: with x = low + 2^448 high and high = h0 + 2^224 h1 that is
    low + high + h1 + 2^224 (h0 + h1)."""
    low, high = x.split(448)
    upper = high.split(224)[1]
    return settled(low + high + (upper + (high << 224).split(448)[0]) + (upper << 224))


@kernel
def mul(a: loose, b: loose) -> canonical:
    return reduced(a.value * b.value)


@kernel
def sqr(a: loose) -> canonical:
    x = a.value
    return reduced(x * x)


@kernel
def canon(a: loose) -> canonical:
    return a.value.reduce_once(P)


@kernel
def square_n(a: loose, n: Count) -> canonical:
    """a^(2^n): the loop is inside, the words stay in registers."""
    return repeat(n, sqr, a, empty=canon)


@kernel
def mul_small(a: loose, c: Small(2**32)) -> canonical:
    return settled(c * a.value)


@kernel
def add(a: loose, b: loose) -> canonical:
    return settled(a.value + b.value)


@kernel
def sub(a: loose, b: loose) -> canonical:
    return settled(a.value - b.value + 2 * P)


@kernel
def neg(a: loose) -> canonical:
    return settled(2 * P - a.value)


@kernel
def to_bytes(a: loose) -> Bytes(56, "little"):
    return a.value.reduce_once(P)


@kernel
def from_bytes(s: Bytes(56, "little")) -> tuple[canonical, Bit]:
    """1 for the one encoding of an element, otherwise 0 and zeros."""
    beyond = s.value.at_least(P)
    return pick(beyond, 0, s.value), 1 - beyond


@kernel
def select(bit: Bit, a: loose, b: loose) -> loose:
    """a if the bit is 1, else b, in constant time."""
    return pick(bit, a, b)


@kernel
def lookup(table: Table(loose, 16), index: Small(16)) -> loose:
    """table[index]: every entry is read, each up to that one takes the place of those before."""
    entry = table[0]
    for i in range(1, 16):
        entry = select(index.at_least(i), table[i], entry)
    return entry


@kernel
def swap(bit: Bit, a: loose, b: loose) -> tuple[loose, loose]:
    """(b, a) if the bit is 1, else (a, b), in constant time."""
    return pick(bit, b, a), pick(bit, a, b)


@kernel
def is_zero(a: loose) -> Bit:
    return a.value.reduce_once(P).is_zero()


@kernel
def equal(a: loose, b: loose) -> Bit:
    return (a.value.reduce_once(P) - b.value.reduce_once(P)).is_zero()


@kernel
def absolute(a: loose) -> canonical:
    x = a.value.reduce_once(P)
    return pick(x.split(1)[0], P - x, x)


@program
def invert(a: loose) -> canonical:
    """1 / a, and 0 for 0: a^(P - 2)."""
    return power(a, P - 2)


@program
def sqrt_ratio(u: loose, v: loose) -> tuple[canonical, Bit]:
    """RFC 8032, 5.2.3: u^3 v (u^5 v^3)^((P - 3) / 4) is a root of u / v or of -u / v."""
    uv = mul(u, v)
    u3v = mul(sqr(u), uv)
    root = mul(u3v, power(mul(u3v, sqr(uv)), (P - 3) // 4))
    return absolute(root), equal(mul(v, sqr(root)), u)


@program
def ladder_step(bit: Bit, x1: loose, x2: loose, z2: loose, x3: loose, z3: loose) -> tuple[loose, loose, loose, loose]:
    """RFC 7748, 5: x2 and z2 change places with x3 and z3 if the bit is 1, then one step; x1 is the base point's."""
    x2, x3 = swap(bit, x2, x3)
    z2, z3 = swap(bit, z2, z3)
    plus, minus = add(x2, z2), sub(x2, z2)
    one, other = mul(sub(x3, z3), plus), mul(add(x3, z3), minus)
    plus, minus = sqr(plus), sqr(minus)
    between = sub(plus, minus)
    return (
        mul(plus, minus),
        mul(between, add(plus, mul_small(between, 39081))),
        sqr(add(one, other)),
        mul(x1, sqr(sub(one, other))),
    )
