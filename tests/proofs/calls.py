"""A small field with programs, of which some do not what they say."""

from asmgen import Bit, Field, kernel, power, program

P = 2**61 - 1
fe = Field("tiny", P, limbs=[61])
loose = fe.limbs_below(2**63)
tight = fe.limbs_below(2**62)


def fold(x):
    low, high = x.split(61)
    return low + high


@kernel
def mul(a: tight, b: tight) -> tight:
    return [fold(fold(a[0] * b[0]))]


@kernel
def sqr(a: tight) -> tight:
    return [fold(fold(a[0] * a[0]))]


@kernel
def equal(a: tight, b: tight) -> Bit:
    return fold(a[0] + 4 * P - b[0]).reduce_once(P).reduce_once(P).is_zero()


@program
def invert(a: tight) -> tight:
    return power(a, P - 2)


@program
def sqrt(a: tight) -> tuple[tight, Bit]:
    root = power(a, (P + 1) // 4)
    return root, equal(sqr(root), a)


@program(computes=lambda a: a**6)
def wrong_power(a: tight) -> tight:
    return mul(sqr(sqr(a)), a)


@program(computes=lambda a, b: (a * b) % (2**61 - 1) == 0)
def wrong_bit(a: tight, b: tight) -> Bit:
    return equal(mul(a, b), b)
