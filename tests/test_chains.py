"""Addition chains: right for every exponent, no longer than the best published ones, fit to be pasted into scripts."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest

from asmgen.chain_search import SMALL, growth, made_of, ones, search, sequences, smallest
from asmgen.chain_text import parsed, text
from asmgen.chains import Chain, Step, assembled, best, record, record_text, recorded, searching
from asmgen.errors import AsmgenError, UsageError
from asmgen.program import Program
from asmgen.scripts import find

SEED = 20260401

P25519 = 2**255 - 19
P256 = 2**256 - 2**224 + 2**192 + 2**96 - 1
N256 = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
K256 = 2**256 - 2**32 - 977
NK256 = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
P448 = 2**448 - 2**224 - 1
P384 = 2**384 - 2**128 - 2**96 + 2**32 - 1
P521 = 2**521 - 1

#: Exponent, then squarings and multiplications that the search must not exceed in all, and its own.
CHAINS = {
    "curve25519 p - 2": (P25519 - 2, (254, 11), (254, 11)),
    "curve25519 (p - 5) / 8": ((P25519 - 5) // 8, (252, 11), (251, 11)),
    "P-256 p - 2": (P256 - 2, (255, 12), (255, 12)),
    "P-256 (p + 1) / 4": ((P256 + 1) // 4, (253, 7), (253, 7)),
    "P-256 n - 2": (N256 - 2, (253, 39), (256, 35)),
    "secp256k1 p - 2": (K256 - 2, (255, 15), (255, 14)),
    "secp256k1 (p + 1) / 4": ((K256 + 1) // 4, (253, 13), (253, 13)),
    "secp256k1 n - 2": (NK256 - 2, (253, 37), (254, 35)),
    "p448 p - 2": (P448 - 2, (447, 13), (447, 13)),
    "p448 (p - 3) / 4": ((P448 - 3) // 4, (445, 13), (445, 12)),
    "P-384 p - 2": (P384 - 2, (383, 15), (383, 14)),
    "P-521 p - 2": (P521 - 2, (520, 13), (520, 13)),
}


@pytest.mark.parametrize("name", CHAINS)
def test_counts(name: str) -> None:
    exponent, published, ours = CHAINS[name]
    chain = best(exponent)
    assert (chain.squarings, chain.multiplications) == ours
    assert sum(ours) <= sum(published)
    assert chain.exponents()[-1] == exponent


def modular(p: int) -> tuple[Any, Any, Any]:
    return (lambda x, y: x * y % p), (lambda x: x * x % p), (lambda x, n: pow(x, 1 << n, p))


def follows(chain: Chain, p: int = P25519) -> None:
    """The chain's steps and its statements raise to the exponent."""
    multiply, square, square_n = modular(p)
    x = 0x1234567 % p
    assert chain.apply(x, multiply, square_n) == pow(x, chain.exponent, p)
    scope: dict[str, Any] = {"mul": multiply, "sqr": square, "square_n": square_n}
    exec("def power(x):\n" + "\n".join(f"    {line}" for line in chain.lines()), scope)
    assert scope["power"](x) == pow(x, chain.exponent, p)
    joined = " ".join(chain.lines())
    assert joined.count("mul(") == chain.multiplications


@pytest.mark.parametrize("name", CHAINS)
def test_statements(name: str) -> None:
    follows(best(CHAINS[name][0]))


def test_every_small_exponent() -> None:
    for exponent in range(1, 260):
        chain = best(exponent)
        follows(chain)
        binary = exponent.bit_length() - 1 + exponent.bit_count() - 1
        assert chain.squarings + chain.multiplications <= binary, exponent


def test_random_exponents() -> None:
    """Never worse than sliding windows of the usual width, and right."""
    rng = Random(SEED)
    for bits in (17, 40, 64, 100, 130):
        for _ in range(3):
            exponent = rng.getrandbits(bits) | 1 << bits - 1
            exponent <<= rng.randrange(3)
            chain = best(exponent)
            follows(chain)
            assert chain.multiplications <= 0.3 * bits + 4, (SEED, exponent)


def test_the_same_each_time() -> None:
    exponent = N256 % 2**90
    assert search(exponent) == search(exponent)
    assert assembled(exponent, *search(exponent)) == best(exponent)


def test_squarings_are_shared() -> None:
    """x^5 and x^9 both from x^4: two squarings, not three."""
    chain = best(0b1001_0000000_0101)
    assert chain.exponents()[-1] == 0b1001_0000000_0101
    steps = (Step(0, 2), Step(1, 0, 0), Step(1, 1), Step(3, 0, 0))
    found = Chain(9, steps)
    assert found.exponents() == [1, 4, 5, 8, 9] and (found.squarings, found.multiplications) == (3, 2)


def test_sequences() -> None:
    for wanted, least in (((250,), 11), ((22, 223), 11), ((222, 223), 11), ((32,), 5), ((519,), 12), ((5, 15), 5)):
        for found in sequences(frozenset(wanted)):
            assert len(found) == least and set(wanted) <= set(found)
            known = {1, *found}
            assert all(any(each - other in known for other in known if other < each) for each in found)
    assert growth([2, 3, 223]) == 2 + 7


def test_small_elements() -> None:
    """Three multiplications for 11 and 31, as in the best chain of curve25519; none beyond one helper."""
    pool = smallest(frozenset({11, 31}))
    assert pool is not None and len(pool) == 3 and {11, 31} <= set(pool)
    for element, parts in pool.items():
        assert (parts.left << parts.left_shift) + (parts.right << parts.right_shift) == element < SMALL
    assert made_of(45, [1, 15], {}) is not None and made_of(45, [1, 3], {}) is None
    assert ones(5) == 31


def test_a_chain_that_is_put_together_wrong_is_noticed() -> None:
    pool, terms = search(1000)
    with pytest.raises(AssertionError, match="not 1001"):
        assembled(1001, pool, terms)


def test_text() -> None:
    assert parsed("2**255 - 21") == P25519 - 2 and parsed("(2**255-24)//8") == (P25519 - 5) // 8
    assert parsed("0x10") == 16 and parsed("curve25519_5x51.invert") is None and parsed("1.5") is None
    for wrong in ("0", "3 - 5", "2**5000", "9**9**9"):
        with pytest.raises(UsageError):
            parsed(wrong)
    lines = text("0b1011").splitlines()
    assert lines[0] == "x^0xb" and lines[1].startswith("3 squarings, 2 multiplications") and "return" in lines[-1]
    shown = text("curve25519_5x51.invert").splitlines()
    assert shown[0] == "curve25519_5x51_invert: 254 squarings, 11 multiplications"
    for wrong in ("curve25519_5x51.mul", "curve25519_5x51.sqrt_ratio", "curve25519_5x51"):
        with pytest.raises(AsmgenError, match="program|power"):
            text(wrong)


def test_the_record_is_what_the_search_finds() -> None:
    """All programs' chains, from kernels/plans/chains.json; after a change of the search: asmgen chain --record."""
    with searching() as found:
        for function in find():
            if isinstance(function, Program):
                assert function.steps.calls
    assert found == recorded()
    assert record().read_text() == record_text(found)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"0x5": "0<<2 0*1"}', None),
        ('{"0x5": "0<<2"}', "make another exponent"),
        ('{"0x5": "0<<2 0*7"}', "out of range"),
        ('{"0x5": "what"}', "invalid literal"),
        ('["0x5"]', "no attribute"),
        ("{", "Expecting"),
    ],
)
def test_bad_records(text: str, said: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "chains.json"
    path.write_text(text)
    monkeypatch.setattr("asmgen.chains.record", lambda: path)
    recorded.cache_clear()
    try:
        if said is None:
            assert recorded()[5].counts == "2 squarings, 1 multiplications"
        else:
            with pytest.raises(AsmgenError, match=f"chains.json is no record of chains: .*{said}"):
                recorded()
    finally:
        recorded.cache_clear()
