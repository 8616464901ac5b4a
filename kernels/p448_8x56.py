"""p448: integers modulo 2^448 - 2^224 - 1 in eight limbs of 56 bits."""

from asmgen import Bit, Bytes, Count, Field, Small, Table, choose, kernel, power, program, repeat
from asmgen import select as pick

P = 2**448 - 2**224 - 1
fe = Field("p448", P, limbs=[56] * 8)
full = fe.limbs_below(2**64)  # any eight words
loose = fe.limbs_below(2**57 + 2**10)  # what products take, and add gives
tight = fe.limbs_below(2**56 + 2**9)  # what everything else gives
canonical = fe.below(P)


def carried(columns):
    """Each column's excess over 56 bits goes to the next one, the last one's to columns 0 and 4: 2^448 is 2^224 + 1.

    From the highest column down, as each is cut its excess is in already, so that few are under way at a time.
    """

    def low(k):
        return columns[k].split(56)[0]

    def high(k):
        return columns[k].split(56)[1]

    limbs = [low(k) + (high(3) + high(7) if k == 4 else high(k - 1)) for k in (7, 6, 5, 4, 3, 2, 1)]
    return [low(0) + high(7), *reversed(limbs)]


# With f = 2^224 the modulus is f^2 - f - 1, so that three products of four limbs do:
# (a0 + a1 f)(b0 + b1 f) = a0 b0 + a1 b1 + ((a0 + a1)(b0 + b1) - a0 b0) f.
# Of the seven columns of each the upper three stand at f.


def product(a, b, times, columns):
    """a * b of four limbs each, added to seven columns."""
    columns = list(columns)
    for i in range(4):
        for j in range(4):
            columns[i + j] += times(a[i], b[j])
    return columns


def square(a, times, columns):
    """a * a of four limbs, each product of two of them once."""
    columns = list(columns)
    for i in range(4):
        for j in range(i, 4):
            columns[i + j] += times(a[j], a[i] if i == j else 2 * a[i])
    return columns


def multiplied(multiply, operands, times, spare):
    """The eight columns of a product or square; `spare` is added to each."""
    sums = [[x + y for x, y in zip(a[:4], a[4:])] for a in operands]
    both = multiply(*sums, times, [0, 0, 0, 2 * spare, spare, spare, spare])
    first = multiply(*(a[:4] for a in operands), times, [0, 0, 0, spare, 0, 0, 0])
    rest = [x - y for x, y in zip(both, first)]
    low = [both[k + 4] + first[k] - first[k + 4] for k in range(3)]
    high = [both[k + 4] + rest[k] for k in range(3)]
    return multiply(*(a[4:] for a in operands), times, [*low, first[3], *high, rest[3]])


# Two ways with a column: the first one takes fewer instructions where a product of two words is one, the second one
# where its halves are two.


def in_whole(multiply, *operands):
    """Columns of two words, carried twice."""
    return carried(carried(multiplied(multiply, operands, lambda x, y: x * y, 0)))


class Halves:
    """A sum x of products, of which `high` is the part above 2^59 of each: what is left is found modulo 2^64 and needs
    no carry."""

    def __init__(self, x, high):
        self.x, self.high = x, high

    def __add__(self, other):
        return Halves(self.x + other.x, self.high + other.high)

    def __radd__(self, zero):
        return self

    def __rmul__(self, n):
        return Halves(n * self.x, n * self.high)

    def __sub__(self, other):
        return Halves(self.x - other.x, self.high - other.high)


def halved(x, y):
    return Halves(x * y, ((x << 5) * y).split(64)[1])


def in_halves(multiply, *operands):
    """Columns of a word, with the high part of the one below; 64 times the modulus keeps them from being negative."""
    columns = multiplied(multiply, operands, halved, Halves(2**62 - 64, 0))
    high = [column.high for column in columns]
    high = [high[7], *high[:3], high[3] + high[7], *high[4:7]]
    limbs = [column.x - (column.high << 59) + (h << 3) for column, h in zip(columns, high)]
    limbs[4] -= 64
    return carried(limbs)


by_columns = choose("columns", in_whole, in_halves)


@kernel
def carry(a: full) -> tight:
    """Any eight words, carried once."""
    return carried(a)


@kernel
def mul(a: loose, b: loose) -> tight:
    return by_columns(product, a, b)


@kernel
def sqr(a: loose) -> tight:
    return by_columns(square, a)


@kernel
def square_n(a: loose, n: Count) -> tight:
    """a^(2^n): the loop is inside, the limbs stay in registers."""
    return repeat(n, sqr, a, empty=carry)


@kernel
def mul_small(a: loose, c: Small(2**32)) -> tight:
    return carried(carried([c * limb for limb in a]))


twice = [2 * limb for limb in fe.limbs_of(P)]


@kernel
def add(a: tight, b: tight) -> loose:
    """Not carried: the limbs grow by one bit."""
    return [x + y for x, y in zip(a, b)]


@kernel
def sub(a: tight, b: tight) -> tight:
    """Twice the modulus keeps each limb from becoming negative."""
    return carried([x + m - y for x, m, y in zip(a, twice, b)])


@kernel
def neg(a: tight) -> tight:
    """As a difference."""
    return carried([m - x for m, x in zip(twice, a)])


@kernel
def canon(a: full) -> canonical:
    """Carried, the value is below twice the modulus; where it is not below it, 2^224 + 1 more reaches 2^448: q is 1."""
    limbs = carry(a)
    q = 1
    for k in range(8):
        q = (limbs[k] + (q + 1 if k == 4 else q)).split(56)[1]
    reduced, over = [], q
    for k in range(7):
        limb, over = (limbs[k] + (over + q if k == 4 else over)).split(56)
        reduced.append(limb)
    return [*reduced, limbs[7] + over - (q << 56)]


@kernel
def to_bytes(a: full) -> Bytes(56, "little"):
    return canon(a).value


@kernel
def from_bytes(s: Bytes(56, "little")) -> tuple[canonical, Bit]:
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
def swap(bit: Bit, a: tight, b: tight) -> tuple[tight, tight]:
    """(b, a) if the bit is 1, else (a, b), in constant time."""
    return pick(bit, b, a), pick(bit, a, b)


@kernel
def is_zero(a: full) -> Bit:
    return sum(canon(a)).is_zero()


@kernel
def equal(a: tight, b: tight) -> Bit:
    return is_zero(sub(a, b))


@kernel
def absolute(a: full) -> canonical:
    x = canon(a).value
    return pick(x.split(1)[0], P - x, x)


@program
def invert(a: loose) -> tight:
    """1 / a, and 0 for 0: a^(P - 2)."""
    return power(a, P - 2)


@program
def sqrt_ratio(u: tight, v: tight) -> tuple[canonical, Bit]:
    """RFC 8032, 5.2.3: u^3 v (u^5 v^3)^((P - 3) / 4) is a root of u / v or of -u / v."""
    uv = mul(u, v)
    u3v = mul(sqr(u), uv)
    root = mul(u3v, power(mul(u3v, sqr(uv)), (P - 3) // 4))
    return absolute(root), equal(mul(v, sqr(root)), u)


@program
def ladder_step(bit: Bit, x1: tight, x2: tight, z2: tight, x3: tight, z3: tight) -> tuple[tight, tight, tight, tight]:
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
