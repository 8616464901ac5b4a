"""R09: the carries of two chains, one in CF and one in OF, had to be added to the same word, and one was lost."""

from __future__ import annotations

import random

import pytest
from vectors import emulated

from asmgen import Field, kernel
from asmgen.passes import Options, compile_kernel
from asmgen.targets.row import Instruction

MASK = 2**64 - 1
SEED = 20260401
two, one, three = (Field("any", 3, limbs=[64] * count).below(2 ** (64 * count)) for count in (2, 1, 3))


@kernel(computes=lambda t, x, y: t + x * y)
def mac(t: two, x: one, y: two) -> three:
    """Low halves and high halves of x * y in a chain each; both end in the third word."""
    return t.value + x.value * y.value


def carries(t: int, x: int, y: int) -> tuple[int, int]:
    """What the chain of low halves and then that of high halves carry into the third word."""
    products = [x * (y & MASK), x * (y >> 64)]
    low = (t & MASK) + (products[0] & MASK)
    second = (t >> 64) + (products[1] & MASK) + (low >> 64)
    return second >> 64, ((second & MASK) + (products[0] >> 64)) >> 64


def cases() -> dict[tuple[int, int], list[tuple[int, int, int]]]:
    """Inputs for each of the four pairs of carries."""
    rng, found = random.Random(SEED), {(i, j): list[tuple[int, int, int]]() for i in (0, 1) for j in (0, 1)}
    while any(len(each) < 20 for each in found.values()):
        t, y = (rng.choice([rng.getrandbits(128), 2**128 - 1, rng.getrandbits(64) << 64 | MASK]) for _ in range(2))
        x = rng.choice([rng.getrandbits(64), MASK, 2**63])
        found[carries(t, x, y)].append((t, x, y))
    return found


def test_there_are_two_chains() -> None:
    names = [item.row.mnemonic for item in compile_kernel(mac, Options("amd64")).items if isinstance(item, Instruction)]
    assert names.count("adcx") == 3 and names.count("adox") == 2


@pytest.mark.parametrize("registers", [None, 7, 6])
@pytest.mark.parametrize("target, features", [("amd64", "default"), ("amd64", "base"), ("arm64", "default")])
def test_all_four_pairs_of_carries(target: str, features: str, registers: int | None) -> None:
    from emulate.campaign import job
    from emulate.machine import Machine

    made = job(mac, Options(target, features, registers=registers))
    machine = Machine(made.target, made.code, made.entry, mac.signature, made.features, stack=made.stack)
    for pair, inputs in cases().items():
        for t, x, y in inputs:
            (out,) = machine.call(((t & MASK, t >> 64), (x,), (y & MASK, y >> 64)))
            assert isinstance(out, tuple)
            assert sum(word << 64 * i for i, word in enumerate(out)) == t + x * y, (pair, t, x, y)


def test_in_shared_buffers() -> None:
    for inputs in cases().values():
        t, x, y = inputs[0]
        for _, (out,) in emulated(mac, ((t & MASK, t >> 64), (x,), (y & MASK, y >> 64)), "amd64"):
            assert isinstance(out, tuple) and sum(word << 64 * i for i, word in enumerate(out)) == t + x * y
