"""P-256, its group order: integers modulo the number of points, in Montgomery form, in four words of 64 bits."""

from asmgen import Bit, Bytes, Count, Field, Small, Table, kernel, power, program, repeat
from asmgen import select as pick

N = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
fe = Field("p256_order", N, limbs=[64] * 4, montgomery=2**256)
element = fe.below(N)
plain = fe.plain.below(N)
words = fe.below(2**256)  # any four words

MINUS_INVERSE = -pow(N, -1, 2**128) % 2**128


def reduced(total):
    """total / 2^256 modulo N, below N.

    Twice a multiple of N is added that makes the low two words zero: two words of the quotient at a time wait less on
    each other than one, for some more products. The upper half of `total` comes in at the end.
    """
    low, high = total.split(256)
    for _ in range(2):
        q = (low.split(128)[0] * MINUS_INVERSE).split(128)[0]
        low = (low + q * N).divide_exact(2**128)
    return (low + high).reduce_once(N)


@kernel
def mul(a: element, b: element) -> element:
    return reduced(a.value * b.value)


@kernel
def sqr(a: element) -> element:
    return reduced(a.value * a.value)


@kernel
def square_n(a: element, n: Count) -> element:
    """a^(2^n): the loop is inside, the words stay in registers."""
    return repeat(n, sqr, a)


@kernel
def mul_small(a: element, c: Small(2**32)) -> element:
    """The words above 2^256 come back times 2^256 - N; the sum is below 2N, as c is below 2^32."""
    low, q = (a.value * c).split(256)
    return (low + q * (2**256 - N)).reduce_once(N)


@kernel
def add(a: element, b: element) -> element:
    return (a.value + b.value).reduce_once(N)


@kernel
def sub(a: element, b: element) -> element:
    difference = a.value - b.value
    return difference + pick(difference.at_least(0), 0, N)


@kernel
def neg(a: element) -> element:
    return pick(a.value.is_zero(), 0, N) - a.value


@kernel
def canon(a: words) -> element:
    return a.value.reduce_once(N)


@kernel
def to_mont(a: plain) -> element:
    return reduced(a.value * (2**512 % N))


@kernel
def from_mont(a: element) -> plain:
    return reduced(a.value)


@kernel
def to_bytes(a: element) -> Bytes(32, "big"):
    return reduced(a.value)


@kernel
def from_bytes(s: Bytes(32, "big")) -> tuple[element, Bit]:
    """1 for the one encoding of an element, otherwise 0 and zeros."""
    beyond = s.value.at_least(N)
    return reduced(pick(beyond, 0, s.value) * (2**512 % N)), 1 - beyond


@kernel
def select(bit: Bit, a: element, b: element) -> element:
    """a if the bit is 1, else b, in constant time."""
    return pick(bit, a, b)


@kernel
def lookup(table: Table(element, 16), index: Small(16)) -> element:
    """table[index]: every entry is read, each up to that one takes the place of those before."""
    entry = table[0]
    for i in range(1, 16):
        entry = select(index.at_least(i), table[i], entry)
    return entry


@kernel
def is_zero(a: element) -> Bit:
    return a.value.is_zero()


@kernel
def equal(a: element, b: element) -> Bit:
    return (a.value - b.value).is_zero()


@program
def invert(a: element) -> element:
    """1 / a, and 0 for 0: a^(N - 2)."""
    return power(a, N - 2)
