"""Montgomery fields: P-256 and its order."""
from asmgen import Count, Field, kernel, repeat

N = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551
P = 2**256 - 2**224 + 2**192 + 2**96 - 1
fn = Field("n256", N, limbs=[64] * 4, montgomery=2**256)
en = fn.below(N)
fp = Field("p256", P, limbs=[64] * 4, montgomery=2**256)
ep = fp.below(P)

def redc(t, m, words):
    inv = (-pow(m, -1, 2**64)) % 2**64
    low, high = t.split(64 * words)
    w = low
    for _ in range(words):
        q = (w.split(64)[0] * inv).split(64)[0]
        w = (w + q * m).divide_exact(2**64)
    return (w + high).reduce_once(m)

@kernel(computes=lambda a, b: a * b)
def mul_n(a: en, b: en) -> en:
    return redc(a.value * b.value, N, 4)

@kernel(computes=lambda a: a * a)
def sqr_p(a: ep) -> ep:
    x = a.value
    return redc(x * x, P, 4)

@kernel
def square_n(a: ep, n: Count) -> ep:
    return repeat(n, sqr_p, a)

@kernel
def add(a: ep, b: ep) -> ep:
    return fp.limbs_of((a.value + b.value).reduce_once(P))

@kernel
def to_mont(a: fp.plain.below(P)) -> ep:
    return redc(a.value * (2**512 % P), P, 4)

@kernel
def from_mont(a: ep) -> fp.plain.below(P):
    return redc(a.value, P, 4)
