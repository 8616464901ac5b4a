"""mersenne127: integers modulo 2^127 - 1 in two words of 64 and 63 bits."""

from asmgen import Count, Field, kernel, repeat

fe = Field("mersenne127", 2**127 - 1, limbs=[64, 63])
full = fe.below(2**127)


def fold(x):
    """What stands at 2^127 and above comes back once."""
    low, high = x.split(127)
    return low + high


@kernel
def add(a: full, b: full) -> fe.below(2**128):
    """No carry: the sum has 128 bits."""
    return a.value + b.value  # a "string"; and a # within


@kernel(computes=lambda a, n: a << n)
def double_n(a: full, n: Count) -> full:
    """a * 2^n, n doublings in registers; /* it says */ so."""
    return repeat(n, lambda x: fold(2 * x.value), a)


@kernel
def mul(a: full, b: full) -> full:
    return fold(fold(a.value * b.value))
