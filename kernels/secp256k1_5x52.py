"""secp256k1: integers modulo 2^256 - 2^32 - 977 in five limbs of 52 bits, with the bounds of libsecp256k1.

An element of magnitude m has limbs below 2m * 2^52, the last one below 2m * 2^48. Products take magnitude 8 and give
limbs below 2^52, the last one below 2^49, which is magnitude 1.
"""

from asmgen import Bit, Bytes, Count, Field, Small, Table, choose, kernel, power, program, repeat
from asmgen import select as pick

EXCESS = 2**32 + 977  # 2^256 less the modulus
P = 2**256 - EXCESS
FOLD = EXCESS << 4  # 2^260, where limb 5 would stand

fe = Field("secp256k1", P, limbs=[52] * 5)
words = Field("secp256k1", P, limbs=[64] * 4)


def magnitude(m):
    return fe.limbs_below([2 * m * 2**52] * 4 + [2 * m * 2**48])


loose = magnitude(8)
tight = fe.limbs_below([2**52] * 4 + [2**49])
canonical = fe.below(P)
stored = words.below(P)


def product(a, b, times):
    """The columns of a * b."""
    columns = [0] * 9
    for i in range(5):
        for j in range(5):
            columns[i + j] += times(a[i], b[j])
    return columns


def square(a, times):
    """The columns of a * a, each product of two limbs once."""
    columns = [0] * 9
    for i in range(5):
        for j in range(i, 5):
            columns[i + j] += times(a[i], a[j] if i == j else 2 * a[j])
    return columns


def chained(limbs):
    """Each limb's excess goes to the next one when that is its turn; the last one keeps its own."""
    done, carry = [], 0
    for limb in limbs[:-1]:
        low, carry = (limb + carry).split(52)
        done.append(low)
    return [*done, limbs[-1] + carry]


# Two ways to reduce them: the first one takes fewer instructions where a product of two words is one, the second one
# where its halves are two.


def in_whole(columns):
    """Columns of two words. From column 3 on the excess of each goes to the next one; as soon as a word above 2^260 is
    final it comes back times FOLD. This is the order of libsecp256k1."""
    c = columns(lambda x, y: x * y)
    low, high = c[8].split(64)
    r3, over = (c[3] + FOLD * low).split(52)
    r4, over = (c[4] + over + (FOLD << 12) * high).split(52)
    r4, top = r4.split(48)
    upper, over = (c[5] + over).split(52)
    r0, carry = (c[0] + EXCESS * ((upper << 4) + top)).split(52)
    upper, over = (c[6] + over).split(52)
    r1, carry = (c[1] + carry + FOLD * upper).split(52)
    upper, over = (c[7] + over).split(64)
    r2, carry = (c[2] + carry + FOLD * upper).split(52)
    r3, carry = (carry + r3 + (FOLD << 12) * over).split(52)
    return [r0, r1, r2, r3, r4 + carry]


class Halves:
    """A sum x of products, of which `high` is the part above 2^56 of each: what is left is found modulo 2^64 and needs
    no carry."""

    def __init__(self, x, high):
        self.x, self.high = x, high

    def __add__(self, other):
        return Halves(self.x + other.x, self.high + other.high)

    def __radd__(self, zero):
        return self


def in_halves(columns):
    """Columns of a word, with the high part of the one below; those above 2^260 are carried once, then come back."""
    c = columns(lambda x, y: Halves(x * y, ((x << 8) * y).split(64)[1]))
    limbs = [column.x - (column.high << 56) for column in c] + [0]
    limbs = [limbs[0], *(limbs[k] + (c[k - 1].high << 4) for k in range(1, 10))]
    low, high = zip(*(limb.split(52) for limb in limbs[5:9]))
    upper = [low[0], *(low[k] + high[k - 1] for k in range(1, 4)), limbs[9] + high[3]]

    def fold(k):
        """upper[k] comes back to limb k, but for what it has above 2^52, which limb k + 1 gets."""
        over = (upper[k] * (FOLD << 12)).split(64)[1]
        limbs[k] = limbs[k] + upper[k] * FOLD - (over << 52)
        return over

    upper[0] += fold(4)
    for k in range(4):
        limbs[k + 1] += fold(k)
    limbs[4], q = limbs[4].split(48)
    return chained([limbs[0] + q * EXCESS, *limbs[1:5]])


by_columns = choose("columns", in_whole, in_halves)


@kernel
def mul(a: loose, b: loose) -> tight:
    return by_columns(lambda times: product(a, b, times))


@kernel
def sqr(a: loose) -> tight:
    return by_columns(lambda times: square(a, times))


def weak(a):
    """Magnitude 1: what limb 4 has above 48 bits is put back first."""
    top, q = a[4].split(48)
    return chained([a[0] + q * EXCESS, a[1], a[2], a[3], top])


@kernel
def normalize_weak(a: fe.limbs_below(2**63)) -> tight:
    return weak(a)


@kernel
def square_n(a: loose, n: Count) -> tight:
    """a^(2^n): the loop is inside, the limbs stay in registers."""
    return repeat(n, sqr, a, empty=normalize_weak)


@kernel
def canon(a: fe.limbs_below(2**63)) -> canonical:
    """q says whether P comes off: that is where EXCESS carries to 2^256."""
    t = normalize_weak(a)
    q = t[0] + EXCESS
    for limb in t[1:]:
        q = limb + q.split(52)[1]
    q = q.split(48)[1]
    *low, top = chained([t[0] + q * EXCESS, *t[1:]])
    return [*low, top - (q << 48)]


@kernel
def mul_small(a: loose, c: Small(2**32)) -> tight:
    top, q = (c * a[4]).split(48)
    return chained([c * a[0] + q * EXCESS, *(c * limb for limb in a[1:4]), top])


# Magnitudes: sums, multiples and negatives are not carried.


@kernel
def add(a: magnitude(4), b: magnitude(4)) -> loose:
    return [x + y for x, y in zip(a, b)]


@kernel
def mul_int(a: magnitude(1), c: Small(9)) -> loose:
    return [c * limb for limb in a]


def negated(a, m):
    """-a of magnitude m + 1 for a of magnitude m: 2 (m + 1) P less a, limb by limb."""
    return [2 * (m + 1) * limb - x for limb, x in zip(fe.limbs_of(P), a)]


@kernel
def neg(a: magnitude(1)) -> magnitude(2):
    """Of larger magnitudes negate_2 to negate_7 take the negative."""
    return negated(a, 1)


def negation(m):
    """The kernel that negates what has magnitude m."""

    def negate(a: magnitude(m)) -> magnitude(m + 1):
        """-a; what comes out is larger by one magnitude."""
        return negated(a, m)

    negate.__name__ = f"negate_{m}"
    return kernel(computes=lambda a: -a)(negate)


negate_2, negate_3, negate_4, negate_5, negate_6, negate_7 = map(negation, range(2, 8))


@kernel
def sub(a: magnitude(4), b: magnitude(3)) -> loose:
    return [x + y for x, y in zip(a, negated(b, 3))]


# Other forms.


@kernel
def to_storage(a: canonical) -> stored:
    return a.value


@kernel
def from_storage(a: stored) -> canonical:
    return a.value


@kernel
def to_bytes(a: loose) -> Bytes(32, "big"):
    return canon(a).value


@kernel
def from_bytes(s: Bytes(32, "big")) -> tuple[canonical, Bit]:
    """1 for the one encoding of an element, otherwise 0 and zeros."""
    beyond = s.value.at_least(P)
    return [pick(beyond, 0, limb) for limb in fe.limbs_of(s.value)], 1 - beyond


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
    return sum(canon(a)).is_zero()


@kernel
def is_odd(a: loose) -> Bit:
    return canon(a)[0].split(1)[0]


@kernel
def equal(a: magnitude(4), b: magnitude(3)) -> Bit:
    return is_zero(sub(a, b))


@program
def invert(a: loose) -> tight:
    """1 / a, and 0 for 0: a^(P - 2)."""
    return power(a, P - 2)


@program
def sqrt(a: magnitude(3)) -> tuple[tight, Bit]:
    """a^((P + 1) / 4), and whether it is a square root of a: one is, if there are any."""
    root = power(a, (P + 1) // 4)
    return root, equal(sqr(root), a)
