"""curve25519: integers modulo 2^255 - 19 in four words of 64 bits."""

from asmgen import Bit, Bytes, Count, Field, Small, Table, choose, kernel, power, program, repeat
from asmgen import select as pick

P = 2**255 - 19
ROOT = pow(2, (P - 1) // 4, P)  # of -1, the even one
fe = Field("curve25519", P, limbs=[64] * 4)
loose = fe.below(2**256)  # any four words
canonical = fe.below(P)


def number(words):
    """The integer that words of 64 bits make."""
    return sum(word << 64 * index for index, word in enumerate(words))


def by_products(high):
    """The halves of 38 * u for the words u of `high`."""
    return zip(*((38 * word).split(64) for word in high.words(4)))


def by_sums(high):
    """The low halves as twice 19 * u, which is two sums where there are shifted operands."""
    words = high.words(4)
    return [(2 * (19 * word)).split(64)[0] for word in words], [(38 * word).split(64)[1] for word in words]


def from_two_words(total):
    """How often 2^255 goes into `total`, and the rest."""
    return total.split(255)


def from_top(total):
    """The quotient as twice what is above 2^256 and the bit below it."""
    low, top = total.split(256)
    rest, bit = low.split(255)
    return rest, 2 * top + bit


halves = choose("halves", by_products, by_sums)
divided = choose("quotient", from_two_words, from_top)


def fold(total, reduced=False):
    """Eight words to four: some value below 2^256, or with `reduced` the one below P.

    2^256 is 38. With the low halves of 38 * high and the topmost high half in, it is seen how often 2^255 goes into the
    sum. The other high halves add less than 2^200 to what is left, so they may come late, in one chain with 19 * q.
    """
    low, high = total.split(256)
    lows, highs = halves(high)
    rest, q = divided(low + number([*lows, highs[3]]))
    late = number([0, *highs[:3]])
    if not reduced:
        return rest + (19 * q + late)
    return finished(rest + (19 * q + 19 + late))


def finished(x):
    """The one value of x - 19 below P, for x from 19 on and below 2^255 + P: bit 255 says whether P comes off."""
    rest, reached = x.split(255)
    return rest - pick(reached, 0, 19)


def reduced(x):
    """The one value of x below P, for x below 2^256."""
    rest, q = x.split(255)
    return finished(rest + (19 * q + 19))


def difference(a, b):
    """a - b and P as often as makes it positive, at most three times."""
    x = a.value - b.value
    times = 1 - x.split(255)[1]
    return x + (times << 255) - 19 * times


@kernel
def mul(a: loose, b: loose) -> loose:
    return fold(a.value * b.value)


@kernel(computes=lambda a, b: a * b)
def mul_canon(a: loose, b: loose) -> canonical:
    """a * b, the one value below the modulus."""
    return fold(a.value * b.value, reduced=True)


@kernel
def sqr(a: loose) -> loose:
    return fold(a.value * a.value)


@kernel(computes=lambda a: a * a)
def sqr_canon(a: loose) -> canonical:
    """a * a, the one value below the modulus."""
    return fold(a.value * a.value, reduced=True)


@kernel
def square_n(a: loose, n: Count) -> loose:
    """a^(2^n): the loop is inside, the words stay in registers."""
    return repeat(n, sqr, a)


@kernel
def mul_small(a: loose, c: Small(2**32)) -> loose:
    rest, q = (a.value * c).split(255)
    return rest + 19 * q


@kernel
def add(a: loose, b: loose) -> loose:
    rest, q = (a.value + b.value).split(255)
    return rest + 19 * q


@kernel
def sub(a: loose, b: loose) -> loose:
    return difference(a, b)


@kernel
def neg(a: loose) -> loose:
    """2P is 2^256 - 38, so that a may be a little more."""
    rest, q = (2 * P - a.value).split(256)
    return rest + 38 * q


@kernel
def canon(a: loose) -> canonical:
    return reduced(a.value)


@kernel
def to_bytes(a: loose) -> Bytes(32, "little"):
    return reduced(a.value)


@kernel
def from_bytes(s: Bytes(32, "little")) -> tuple[canonical, Bit]:
    """1 for the one encoding of an element, otherwise 0 and zeros."""
    beyond = s.value.at_least(P)
    return fe.limbs_of(pick(beyond, 0, s.value)), 1 - beyond


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
def is_zero(a: loose) -> Bit:
    return reduced(a.value).is_zero()


@kernel
def equal(a: loose, b: loose) -> Bit:
    return reduced(difference(a, b)).is_zero()


@kernel
def swap(bit: Bit, a: loose, b: loose) -> tuple[loose, loose]:
    """(b, a) if the bit is 1, else (a, b), in constant time."""
    return pick(bit, b, a), pick(bit, a, b)


@kernel
def absolute(a: loose) -> canonical:
    x = reduced(a.value)
    return pick(x.split(1)[0], P - x, x)


@kernel(computes=lambda x, y: x | y)
def either(x: Bit, y: Bit) -> Bit:
    """1 if one of the bits is."""
    return pick(x, 1, y)


@program
def invert(a: loose) -> loose:
    """1 / a, and 0 for 0: a^(P - 2)."""
    return power(a, P - 2)


@program
def pow22523(a: loose) -> loose:
    """a^(2^252 - 3), which is a^((P - 5) / 8)."""
    return power(a, 2**252 - 3)


@program
def sqrt_ratio(u: loose, v: loose) -> tuple[canonical, Bit]:
    """RFC 9496, 4.2: the candidate u v^3 (u v^7)^((P - 5) / 8) is a root of u / v times 1, -1, ROOT or -ROOT."""
    v3 = mul(sqr(v), v)
    root = mul(mul(u, v3), pow22523(mul(mul(sqr(v3), v), u)))
    square, minus = mul(v, sqr(root)), neg(u)
    of_minus = equal(square, minus)
    root = select(either(of_minus, equal(square, mul(minus, ROOT))), mul(root, ROOT), root)
    return absolute(root), either(of_minus, equal(square, u))


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
        mul(between, add(plus, mul_small(between, 121665))),
        sqr(add(one, other)),
        mul(x1, sqr(sub(one, other))),
    )
