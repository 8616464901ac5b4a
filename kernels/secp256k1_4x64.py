"""secp256k1: integers modulo 2^256 - 2^32 - 977 in four words.

Any four words are taken. What is given back is the one value below the modulus, by `mul_loose` and `sqr_loose` any
value below 2^256: they leave out the last conditional subtraction.
"""

from asmgen import Bit, Bytes, Count, Field, Small, Table, kernel, power, program, repeat
from asmgen import select as pick

EXCESS = 2**32 + 977  # 2^256 less the modulus
P = 2**256 - EXCESS

fe = Field("secp256k1", P, limbs=[64] * 4)
loose = fe.below(2**256)
canonical = fe.below(P)


def settled(x):
    """x modulo P, for x up to 2^290: a quotient q is known but for one, so q + 1 is tried and one taken back."""
    rest, q = x.split(256)
    more, carry = (rest + EXCESS * (q + 1)).split(256)
    return more - pick(carry, 0, EXCESS)


def folded(x):
    """x modulo P but below 2^256 only: where the second fold carries, what is left fits two words, and so does one
    EXCESS more."""
    rest, q = x.split(256)
    low, high = rest.split(128)
    low, carry = (low + EXCESS * q).split(128)
    high, carry = (high + carry).split(128)
    return [*(low + pick(carry, EXCESS, 0)).words(2), *high.words(2)]


def product(a, b, finish):
    """a * b with what stands at 2^256 and above put back times EXCESS, then finished: settled or only folded."""
    low, high = (a * b).split(256)
    return finish(low + EXCESS * high)


@kernel
def mul(a: loose, b: loose) -> canonical:
    return product(a.value, b.value, settled)


@kernel(computes=lambda a, b: a * b)
def mul_loose(a: loose, b: loose) -> loose:
    """a * b, not fully reduced."""
    return product(a.value, b.value, folded)


@kernel
def sqr(a: loose) -> canonical:
    x = a.value
    return product(x, x, settled)


@kernel(computes=lambda a: a * a)
def sqr_loose(a: loose) -> loose:
    """a * a, not fully reduced."""
    x = a.value
    return product(x, x, folded)


@kernel
def square_n(a: loose, n: Count) -> canonical:
    """a^(2^n): the loop is inside, the words stay in registers; only what it ends with is fully reduced."""
    return repeat(n, sqr_loose, a).value.reduce_once(P)


@kernel
def mul_small(a: loose, c: Small(2**32)) -> canonical:
    return settled(c * a.value)


@kernel
def add(a: canonical, b: canonical) -> canonical:
    """With EXCESS added, the sum carries just where the modulus comes off."""
    total, carry = (b.value + EXCESS + a.value).split(256)
    return total - pick(carry, 0, EXCESS)


def difference(a, b):
    """a - b, or where that is negative a - b + P, modulo 2^256."""
    rest, sign = (a - b).split(256)
    return rest - pick(sign + 1, 0, EXCESS)


@kernel
def sub(a: canonical, b: canonical) -> canonical:
    return difference(a.value, b.value)


@kernel
def neg(a: canonical) -> canonical:
    return difference(0, a.value)


@kernel
def canon(a: loose) -> canonical:
    return a.value.reduce_once(P)


@kernel
def is_zero(a: loose) -> Bit:
    return a.value.reduce_once(P).is_zero()


@kernel
def equal(a: loose, b: loose) -> Bit:
    return (a.value.reduce_once(P) - b.value.reduce_once(P)).is_zero()


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
def to_bytes(a: loose) -> Bytes(32, "big"):
    return a.value.reduce_once(P)


@kernel
def from_bytes(s: Bytes(32, "big")) -> tuple[canonical, Bit]:
    """1 for the one encoding of an element, otherwise 0 and zeros."""
    beyond = s.value.at_least(P)
    return pick(beyond, 0, s.value), 1 - beyond


@program
def invert(a: loose) -> canonical:
    """1 / a, and 0 for 0: a^(P - 2)."""
    return power(a, P - 2)


@program
def sqrt(a: loose) -> tuple[canonical, Bit]:
    """a^((P + 1) / 4), and whether it is a square root of a: one is, if there are any."""
    root = power(a, (P + 1) // 4)
    return root, equal(sqr(root), a)
