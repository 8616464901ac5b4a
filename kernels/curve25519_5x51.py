"""curve25519: integers modulo 2^255 - 19 in five limbs of 51 bits."""

from asmgen import Bit, Bytes, Count, Field, Small, Table, amd64, arm64, choose, kernel, power, program, repeat
from asmgen import select as pick
from asmgen.targets.explicit import fresh, word

P = 2**255 - 19
fe = Field("curve25519", P, limbs=[51] * 5)
full = fe.limbs_below(2**64)  # any five words
loose = fe.limbs_below(2**54)  # what mul, sqr and square_n take, and add, sub and neg give
tight = fe.limbs_below(2**52)  # what everything else gives


def product(a, b):
    """The terms of a * b, row by row: (k, m, x, n, y) is m * x * n * y in column k.

    What would stand at 2^255 and above comes back times 19.
    """
    return [((i + j) % 5, 1 if i + j < 5 else 19, a[i], 1, b[j]) for i in range(5) for j in range(5)]


def square(a):
    """The terms of a * a: each product of two limbs once, doubled on one side and folded on the other."""
    return [
        ((i + j) % 5, 1 if i == j else 2, a[i], 1 if i + j < 5 else 19, a[j]) for i in range(5) for j in range(i, 5)
    ]


def carried(columns):
    """Each column's excess over 51 bits handed to the next one, the last one's to the first."""
    low, high = zip(*(column.split(51) for column in columns))
    return [low[0] + 19 * high[4]] + [low[k] + high[k - 1] for k in range(1, 5)]


# Two ways with a column: the first one takes fewer instructions where a product of two words is one, the second one
# where its halves are two.


def in_whole(terms):
    """Columns of two words, carried twice."""
    columns = [0] * 5
    for k, m, x, n, y in terms:
        columns[k] += (m * x) * (n * y)
    return carried(carried(columns))


def in_halves(terms):
    """Columns of a word, the parts above 2^54 of their products apart: eight times they belong to the next column.

    What is left of five products is found modulo 2^64 and needs no carry.
    """
    sums, highs = [0] * 5, [0] * 5
    for k, m, x, n, y in terms:
        sums[k] += (m * n * x) * y
        highs[k] += ((m * n * x) * (y << 10)).split(64)[1]
    low = [total - (high << 54) for total, high in zip(sums, highs)]
    return carried([low[0] + 8 * 19 * highs[4]] + [low[k] + 8 * highs[k - 1] for k in range(1, 5)])


multiplied = choose("columns", in_whole, in_halves)


@kernel
def carry(a: full) -> tight:
    """Any five words, carried once."""
    return carried(a)


@kernel
def mul(a: loose, b: loose) -> tight:
    return multiplied(product(a, b))


@kernel
def sqr(a: loose) -> tight:
    return multiplied(square(a))


@kernel
def square_n(a: loose, n: Count) -> tight:
    """a^(2^n): the loop is inside, the limbs stay in registers."""
    return repeat(n, sqr, a, empty=carry)


@kernel
def mul_small(a: loose, c: Small(2**32)) -> tight:
    return carried([c * limb for limb in a])


# Four times the modulus, with limbs that no tight limb exceeds.
multiple = [4 * (2**51 - 19)] + [4 * (2**51 - 1)] * 4


@kernel
def add(a: tight, b: tight) -> loose:
    """Not carried: the limbs grow by one bit."""
    return [x + y for x, y in zip(a, b)]


@kernel
def sub(a: tight, b: tight) -> loose:
    """Not carried; a multiple of the modulus keeps each limb from becoming negative."""
    return [x + m - y for x, m, y in zip(a, multiple, b)]


@kernel
def neg(a: tight) -> loose:
    """Not carried, as a difference is."""
    return [m - x for m, x in zip(multiple, a)]


def reduced(limbs):
    """The value of any five words below the modulus.

    Carried, it is below twice the modulus; q says whether the modulus comes off.
    """
    x = fe.element(carried(limbs)).value
    q = (x + 19).split(255)[1]
    return x + 19 * q - (q << 255)


@kernel
def canon(a: full) -> fe.below(P):
    return reduced(a)


@kernel
def is_zero(a: full) -> Bit:
    return reduced(a).is_zero()


@kernel
def equal(a: loose, b: loose) -> Bit:
    """By the difference, to which a multiple of the modulus is added that no limb of b exceeds."""
    return is_zero([x + 4 * m - y for x, m, y in zip(a, multiple, b)])


@kernel
def is_odd(a: full) -> Bit:
    return reduced(a).split(1)[0]


@kernel
def absolute(a: full) -> fe.below(P):
    """The root that is called positive is the even one."""
    x = reduced(a)
    odd, _ = x.split(1)
    return pick(odd, P - x, x)


@kernel
def to_bytes(a: full) -> Bytes(32, "little"):
    return reduced(a)


@kernel
def from_bytes(s: Bytes(32, "little")) -> tuple[fe.below(P), Bit]:
    """Nothing but the one encoding of each element is taken; what is not leaves 0."""
    good = 1 - s.value.at_least(P)
    return pick(good, s.value, 0), good


@kernel(computes=lambda s: s % 2**255)
def from_bytes_255(s: Bytes(32, "little")) -> tight:
    """The integer s without its top bit, modulo p, as RFC 7748 reads a coordinate."""
    return fe.limbs_of(s.value.split(255)[0])


@kernel
def select(bit: Bit, a: tight, b: tight) -> tight:
    """In constant time."""
    return pick(bit, a, b)


@kernel
def lookup(table: Table(tight, 16), index: Small(16)) -> tight:
    """Every entry is read, whatever the index."""
    entry = table[0]
    for i in range(1, 16):
        entry = pick(index.at_least(i), table[i], entry)
    return entry


@kernel
def swap(bit: Bit, a: tight, b: tight) -> tuple[tight, tight]:
    """In constant time."""
    return pick(bit, b, a), pick(bit, a, b)


@swap.on("amd64")
def swap_amd64(out0, out1, bit, a, b):
    x, y, z = fresh("x"), fresh("y"), fresh("z")
    amd64.test(bit, bit)
    for i in range(5):
        amd64.mov(x, word(a, i))
        amd64.mov(y, word(b, i))
        amd64.mov(z, x)
        amd64.cmovnz(x, y)
        amd64.cmovnz(y, z)
        amd64.mov(word(out0, i), x)
        amd64.mov(word(out1, i), y)


@swap.on("arm64")
def swap_arm64(out0, out1, bit, a, b):
    x, y, z = fresh("x"), fresh("y"), fresh("z")
    arm64.cmp(bit, 0)
    for i in range(5):
        arm64.ldr(x, word(a, i))
        arm64.ldr(y, word(b, i))
        arm64.csel_ne(z, y, x)
        arm64.csel_ne(y, x, y)
        arm64.str(z, word(out0, i))
        arm64.str(y, word(out1, i))


@program
def invert(a: loose) -> tight:
    return power(a, P - 2)


@program
def pow22523(a: loose) -> tight:
    return power(a, 2**252 - 3)


SQRT_M1 = 0x2B8324804FC1DF0B2B4D00993DFBD7A72F431806AD2FE478C4EE1B274A0EA0B0  # the even root of -1


@program
def sqrt_ratio(u: tight, v: tight) -> tuple[tight, Bit]:
    """r^2 * v is u or -u where u / v is a square, else i * u or -i * u; where it has the wrong sign, r is turned by i.

    RFC 9496, 4.2, for ristretto255, and the decompression of points.
    """
    v3 = mul(sqr(v), v)
    r = mul(mul(u, v3), pow22523(mul(u, mul(sqr(v3), v))))
    found = mul(sqr(r), v)
    square = equal(sqr(found), sqr(u))
    wanted = select(square, u, mul(u, SQRT_M1))
    return absolute(select(equal(found, wanted), r, mul(r, SQRT_M1))), square


@program
def ladder_step(bit: Bit, x1: loose, x2: tight, z2: tight, x3: tight, z3: tight) -> tuple[tight, tight, tight, tight]:
    """One bit of X25519: the points are swapped for bit 1, then (x2, z2) is doubled and (x3, z3) becomes their sum.

    x1 is the coordinate of their difference. RFC 7748, 5.
    """
    x2, x3 = swap(bit, x2, x3)
    z2, z3 = swap(bit, z2, z3)
    a, b = add(x2, z2), sub(x2, z2)
    da, cb = mul(sub(x3, z3), a), mul(add(x3, z3), b)
    z3 = mul(x1, sqr(sub(da, cb)))
    x3 = sqr(add(da, cb))
    aa, bb = sqr(a), sqr(b)
    e = sub(aa, bb)
    z2 = mul(e, add(aa, mul_small(e, 121665)))
    return mul(aa, bb), z2, x3, z3
