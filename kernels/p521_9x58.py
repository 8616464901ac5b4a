"""P-521: integers modulo 2^521 - 1 in nine limbs, eight of 58 bits and one of 57."""

from asmgen import Bit, Bytes, Count, Field, Small, Table, choose, kernel, power, program, repeat
from asmgen import select as pick

P = 2**521 - 1
WIDTHS = [58] * 8 + [57]
fe = Field("p521", P, limbs=WIDTHS)
full = fe.limbs_below(2**64)  # any nine words
wide = fe.limbs_below([13 << width - 2 for width in WIDTHS])  # what add, sub and neg give, and products take
tight = fe.limbs_below([2**width + 2**9 for width in WIDTHS])  # what products give
canonical = fe.below(P)


def product(a, b):
    """a * b as rows: a limb x of a, and for each column n and a limb y of b whose product n * x * y goes there.

    n is 2 for what would stand at 2^522 and above.
    """
    return [(x, {(i + j) % 9: (1 + (i + j) // 9, y) for j, y in enumerate(b)}) for i, x in enumerate(a)]


def square(a):
    """a * a as such rows, each product of two limbs once."""
    return [
        (x, {(i + j) % 9: (1 + (i + j) // 9, x if i == j else 2 * a[j]) for j in range(i + 1)}) for i, x in enumerate(a)
    ]


def rippled(columns):
    """Each column's excess goes to the next one when that is its turn; the last one's comes in at the lowest."""
    limbs, carry = [], 0
    for column, width in zip(columns, WIDTHS):
        limb, carry = (column + carry).split(width)
        limbs.append(limb)
    limbs[0], carry = (limbs[0] + carry).split(58)
    limbs[1] += carry
    return limbs


def carried(limbs):
    """Each limb's excess goes to the next one, the last one's to the first, all at once."""
    low, high = zip(*(limb.split(width) for limb, width in zip(limbs, WIDTHS)))
    return [low[k] + high[k - 1] for k in range(9)]


def in_whole(rows):
    """The columns, summed up as they are."""
    columns = [0] * 9
    for x, row in rows:
        for k, (n, y) in row.items():
            columns[k] += (n * x) * y
    return rippled(columns)


def in_halves(rows):
    """The columns without a carry in their sums.

    Of each product the part above 2^60 is taken, and the rest as one sum modulo 2^64, which is more than all these are.
    A column with what comes from the one below may take 66 bits: its excess is found from a quarter of it.
    """
    sums, highs = [0] * 9, [0] * 9
    for x, row in rows:
        for k, (n, y) in row.items():
            sums[k] += x * (n * y)
        for k, (n, y) in row.items():
            highs[k] += ((x << 4) * (n * y)).split(64)[1]
    highs = [2 * highs[8], *highs[:8], highs[8]]
    limbs, carries = [], []
    for k, width in enumerate(WIDTHS):
        rest = sums[k] - (highs[k + 1] << 60)
        limbs.append((sums[k] + (highs[k] << 2)).split(width)[0])
        carries.append((highs[k] + rest.split(2)[1]).split(width - 2)[1])
    return [limbs[k] + carries[k - 1] for k in range(9)]


multiplied = choose("product", in_whole, in_halves)


@kernel
def carry(a: full) -> tight:
    """Any nine words, carried once."""
    return carried(a)


@kernel
def mul(a: wide, b: wide) -> tight:
    return multiplied(product(a, b))


@kernel
def sqr(a: wide) -> tight:
    return multiplied(square(a))


@kernel
def square_n(a: wide, n: Count) -> tight:
    """a^(2^n): the loop is inside, the limbs stay in registers."""
    return repeat(n, sqr, a, empty=carry)


@kernel
def mul_small(a: wide, c: Small(2**32)) -> tight:
    return rippled([c * limb for limb in a])


# The limbs of the modulus.
modulus = [2**width - 1 for width in WIDTHS]


@kernel
def add(a: tight, b: tight) -> wide:
    """Not carried: the limbs grow by one bit."""
    return [x + y for x, y in zip(a, b)]


@kernel
def sub(a: tight, b: tight) -> wide:
    """Not carried; twice the modulus keeps each limb from becoming negative."""
    return [x + 2 * m - y for x, m, y in zip(a, modulus, b)]


@kernel
def neg(a: tight) -> wide:
    """Not carried, as a difference is."""
    return [2 * m - x for m, x in zip(modulus, a)]


def reduced(limbs):
    """The one value below the modulus. Carried, it is below twice the modulus; q says whether the modulus comes off."""
    x = fe.element(carried(limbs)).value
    q = (x + 1).split(521)[1]
    return x + q - (q << 521)


@kernel
def canon(a: full) -> canonical:
    return reduced(a)


@kernel
def to_bytes(a: full) -> Bytes(66, "big"):
    return reduced(a)


@kernel
def from_bytes(s: Bytes(66, "big")) -> tuple[canonical, Bit]:
    """1 for the one encoding of an element, otherwise 0 and zeros."""
    beyond = s.value.at_least(P)
    return fe.limbs_of(pick(beyond, 0, s.value)), 1 - beyond


@kernel
def select(bit: Bit, a: wide, b: wide) -> wide:
    """a if the bit is 1, else b, in constant time."""
    return pick(bit, a, b)


@kernel
def lookup(table: Table(wide, 16), index: Small(16)) -> wide:
    """table[index]: every entry is read, each up to that one takes the place of those before."""
    entry = table[0]
    for i in range(1, 16):
        entry = select(index.at_least(i), table[i], entry)
    return entry


@kernel
def is_zero(a: full) -> Bit:
    return reduced(a).is_zero()


@kernel
def equal(a: wide, b: wide) -> Bit:
    return reduced([x + 4 * m - y for x, m, y in zip(a, modulus, b)]).is_zero()


@program
def invert(a: wide) -> tight:
    """1 / a, and 0 for 0: a^(P - 2)."""
    return power(a, P - 2)


@program
def sqrt(a: wide) -> tuple[tight, Bit]:
    """a^((P + 1) / 4), which takes squarings alone, and whether it is a square root of a: one is, if there are any."""
    root = square_n(a, 519)
    return root, equal(sqr(root), a)
