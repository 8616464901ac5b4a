"""secp256k1 and p448."""
from asmgen import Field, kernel

K = 2**256 - 2**32 - 977
C = 2**32 + 977
f5 = Field("k5x52", K, limbs=[52] * 4 + [48])
loose5 = f5.limbs_below([2**56]*4 + [2**52])
f4 = Field("k4x64", K, limbs=[64] * 4)
any4 = f4.below(2**256)
p448 = 2**448 - 2**224 - 1
f8 = Field("p448", p448, limbs=[56] * 8)
l8 = f8.limbs_below(2**58)
t8 = f8.limbs_below(2**57)

def fold(t):
    low, high = t.split(256)
    r = low + C * high
    low, high = r.split(256)
    r = low + C * high
    low, high = r.split(256)
    return low + C * high

@kernel(computes=lambda a, b: a * b)
def mul_k4(a: any4, b: any4) -> any4:
    return fold(a.value * b.value)

def product(a, b, n):
    columns = [0] * (2 * n - 1)
    for i in range(n):
        for j in range(n):
            columns[i + j] += a[i] * b[j]
    return columns

@kernel(computes=lambda a, b: a * b)
def mul_448(a: l8, b: l8) -> t8:
    c = product(a, b, 8) + [0]
    for k in range(15, 7, -1):
        c[k - 8] += c[k]
        c[k - 4] += c[k]
    c = c[:8]
    for _ in range(2):
        low, high = zip(*(x.split(56) for x in c), strict=False)
        c = [low[k] + high[k - 1] for k in range(8)]
        c[4] += high[7]
    return c
