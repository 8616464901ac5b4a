"""secp256k1 in four words, with the carry out of the second fold lost: wrong for almost no inputs."""

from asmgen import Field, kernel

P = 2**256 - 2**32 - 977
fe = Field("secp256k1", P, limbs=[64] * 4)
words = fe.below(2**256)


@kernel(computes=lambda a, b: a * b)
def mul(a: words, b: words) -> words:
    total = a.value * b.value
    for _ in range(2):
        low, high = total.split(256)
        total = low + (2**32 + 977) * high
    return fe.limbs_of(total.split(256)[0])
