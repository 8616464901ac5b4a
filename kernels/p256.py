"""P-256: integers modulo its prime, in Montgomery form, in four words of 64 bits."""

from asmgen import Bit, Bytes, Count, Field, Small, Table, choose, keep, kernel, power, program, repeat
from asmgen import select as pick

P = 2**256 - 2**224 + 2**192 + 2**96 - 1
fe = Field("p256", P, limbs=[64] * 4, montgomery=2**256)
element = fe.below(P)
plain = fe.plain.below(P)
words = fe.below(2**256)  # any four words

TOP = P >> 192


def by_product(q):
    return q * TOP


def by_shifts(q):
    """TOP is 2^64 + 1 - 2^32."""
    return keep((q << 64) + q - (q << 32))


times_top = choose("top", by_product, by_shifts)


def reduced(total):
    """total / 2^256 modulo P, below P.

    The lowest word q goes four times: q * P is added. That is q * TOP * 2^192 + q * 2^96 - q, whose last part takes the
    word away. The upper half of `total` comes in at the end.
    """
    low, high = total.split(256)
    for _ in range(4):
        q, rest = low.split(64)
        low = rest + ((q << 32) + (times_top(q) << 128))
    return (low + high).reduce_once(P)


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
    """The words above 2^256 come back times 2^256 - P; the sum is below 2P, as c is below 2^32."""
    low, q = (a.value * c).split(256)
    return (low + ((q << 224) - (q << 192) - (q << 96) + q)).reduce_once(P)


@kernel
def add(a: element, b: element) -> element:
    return (a.value + b.value).reduce_once(P)


@kernel
def sub(a: element, b: element) -> element:
    difference = a.value - b.value
    return difference + pick(difference.at_least(0), 0, P)


@kernel
def neg(a: element) -> element:
    return pick(a.value.is_zero(), 0, P) - a.value


@kernel
def canon(a: words) -> element:
    return a.value.reduce_once(P)


@kernel
def to_mont(a: plain) -> element:
    return reduced(a.value * (2**512 % P))


@kernel
def from_mont(a: element) -> plain:
    return reduced(a.value)


@kernel
def to_bytes(a: element) -> Bytes(32, "big"):
    return reduced(a.value)


@kernel
def from_bytes(s: Bytes(32, "big")) -> tuple[element, Bit]:
    """1 for the one encoding of an element, otherwise 0 and zeros."""
    beyond = s.value.at_least(P)
    return reduced(pick(beyond, 0, s.value) * (2**512 % P)), 1 - beyond


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
    """1 / a, and 0 for 0: a^(P - 2)."""
    return power(a, P - 2)


@program
def sqrt(a: element) -> tuple[element, Bit]:
    """a^((P + 1) / 4), and whether it is a square root of a: one is, if there are any."""
    root = power(a, (P + 1) // 4)
    return root, equal(sqr(root), a)
