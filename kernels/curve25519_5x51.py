"""curve25519: integers modulo 2^255 - 19 in five limbs of 51 bits."""

from asmgen import Bit, Count, Field, Small, amd64, arm64, kernel, repeat, select
from asmgen.targets.explicit import fresh, word

fe = Field("curve25519", 2**255 - 19, limbs=[51] * 5)
full = fe.limbs_below(2**64)  # any five words
loose = fe.limbs_below(2**54)  # what mul, sqr and square_n take, and add, sub and neg give
tight = fe.limbs_below(2**52)  # what everything else gives


def product(a, b):
    """The columns of a * b, row by row; what would stand at 2^255 and above comes back times 19."""
    columns = [0] * 5
    for i in range(5):
        for j in range(5):
            columns[(i + j) % 5] += (a[i] if i + j < 5 else 19 * a[i]) * b[j]
    return columns


def square(a):
    """The columns of a * a: each product of two limbs once, doubled on one side and folded on the other."""
    columns = [0] * 5
    for i in range(5):
        for j in range(i, 5):
            columns[(i + j) % 5] += (a[i] if i == j else 2 * a[i]) * (a[j] if i + j < 5 else 19 * a[j])
    return columns


def carried(columns):
    """Each column's excess over 51 bits handed to the next one, the last one's to the first."""
    low, high = zip(*(column.split(51) for column in columns))
    return [low[0] + 19 * high[4]] + [low[k] + high[k - 1] for k in range(1, 5)]


@kernel
def carry(a: full) -> tight:
    """Any five words, carried once."""
    return carried(a)


@kernel
def mul(a: loose, b: loose) -> tight:
    return carried(carried(product(a, b)))


@kernel
def sqr(a: loose) -> tight:
    return carried(carried(square(a)))


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


@kernel
def canon(a: full) -> fe.below(fe.modulus):
    """Carried, the value is below twice the modulus; q says whether the modulus comes off."""
    x = fe.element(carried(a)).value
    q = (x + 19).split(255)[1]
    return x + 19 * q - (q << 255)


@kernel(computes=lambda bit, a, b: (b, a) if bit else (a, b))
def swap(bit: Bit, a: full, b: full) -> tuple[full, full]:
    """(b, a) if the bit is 1, else (a, b), in constant time."""
    return select(bit, b, a), select(bit, a, b)


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
