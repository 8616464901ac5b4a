"""emulate.inputs: within the contract, at its edges, and the same again for the same seed."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import pytest
from emulated import ADD, ADD_N, BOTH, COPY, FIELD, LOOK_UP, SUM, Described

from asmgen.contracts import Bit, Bytes, Contract, Count, Element, Parameter, Signature, Small, Table
from asmgen.field import Field
from emulate.aliasing import cases
from emulate.inputs import BLOCK, Generator, Input, values, vectors

SEED = 20260401

P255 = Field("curve25519", 2**255 - 19, limbs=[51] * 5)
LOOSE = P255.limbs_below(2**54)
P256 = Field("p256", 2**256 - 2**224 + 2**192 + 2**96 - 1, limbs=[64] * 4, montgomery=2**256)
CANONICAL = P256.below(P256.modulus)
P448 = Field("p448", 2**448 - 2**224 - 1, limbs=[56] * 8)
SCALED = Element(P255, tuple(2**13 * (2**50 - 1) for _ in range(5)), 2**13 * (2**254 + 12345), 2**13)
ODD = Element(P255, (5, 0, 1, 2**51 + 7, 2**64 - 1), 2**230 + 99)
ORDER = Field("composite", 3 * 5 * 2**60 - 15, limbs=[32, 32])


def signature(*contracts: Contract) -> Signature:
    names = "abcdefgh"
    return Signature("test", "any", (), tuple(Parameter(n, c) for n, c in zip(names, contracts, strict=False)))


def fault(contract: Contract, value: Input) -> str | None:
    if isinstance(contract, Table) and isinstance(value, tuple):
        width = contract.element.words
        entries = [value[at : at + width] for at in range(0, len(value), width)]
        assert len(entries) == contract.count
        return next((each for entry in entries if (each := contract.element.fault(entry))), None)
    if isinstance(contract, Element) and isinstance(value, tuple):
        assert len(value) == contract.words
        return contract.fault(value)
    if isinstance(contract, Bytes):
        return None if isinstance(value, bytes) and len(value) == contract.length else "no bytes"
    assert isinstance(value, int) and not isinstance(contract, (Table, Element))
    return None if 0 <= value <= contract.value_max else "out of range"


ALL = [
    signature(LOOSE, LOOSE), signature(CANONICAL, CANONICAL), signature(P448.limbs_below(2**58)),
    signature(SCALED, LOOSE), signature(ODD, LOOSE, ODD),
    signature(Bytes(32, "little"), Bytes(57, "big"), Bytes(1, "big")), signature(Table(CANONICAL, 3), Small(3)),
    signature(Small(1), Small(121666), Small(2**32), Small(2**64), Bit, Count),
    signature(ORDER.below(ORDER.modulus), ORDER.limbs_below(2**33)), signature(P256.below(1), P256.below(2)),
    *(kernel.signature for kernel in (ADD, ADD_N, BOTH, COPY, SUM, LOOK_UP)),
]  # fmt: skip


@pytest.mark.parametrize("sig", ALL, ids=lambda sig: "-".join(p.contract.kind for p in sig.inputs))
def test_all_values_keep_the_contract(sig: Signature) -> None:
    made = list(vectors(sig, 2 * BLOCK + 10 if len(sig.inputs) < 8 else 100, SEED))
    for vector in made:
        for parameter, value in zip(sig.inputs, vector, strict=True):
            assert fault(parameter.contract, value) is None, (parameter.name, value)


def test_the_same_for_the_same_seed_everywhere() -> None:
    digest = hashlib.sha256()
    for sig in ALL:
        for number in (0, 3):
            block = Generator(sig, SEED).block(number)
            for columns in block.columns:
                for column in columns:
                    digest.update(column.tobytes())
            digest.update(block.junk.tobytes())
    assert digest.hexdigest() == "6a162254a4d3cc84ee4bdc90c2a240f8dca1f1673f033e3a36afb21bb2d5345b"
    assert Generator(ALL[0], 1).block(0).columns != Generator(ALL[0], 2).block(0).columns
    assert Generator(ALL[0], 1).block(0).columns != Generator(ALL[0], 1).block(1).columns


def test_any_vector_can_be_made_alone() -> None:
    sig = ALL[0]
    everything = list(vectors(sig, 3 * BLOCK, SEED))
    assert len(everything) == 3 * BLOCK
    assert Generator(sig, SEED).block(2, 77).vector(76) == everything[2 * BLOCK + 76]
    assert list(vectors(sig, 100, SEED)) == everything[:100]


def limbs_met(contract: Element, count: int = 20 * BLOCK) -> tuple[set[tuple[int, ...]], list[set[int]]]:
    rows = {vector[0] for vector in vectors(signature(contract), count, SEED) if isinstance(vector[0], tuple)}
    return rows, [set(column) for column in zip(*rows, strict=True)]


def test_edges_of_loose_limbs_are_met() -> None:
    rows, columns = limbs_met(LOOSE)
    p = P255.modulus
    for column in columns:
        assert {0, 1, 2**54 - 1, 2**54 - 2, 2**51 - 1, 2**51, 2**51 + 1, 2**51 - 19, 2**53} <= column
    found = {LOOSE.value(row) for row in rows}
    assert {0, 1, p, p - 1, p + 1, 2 * p, 2 * p - 1, 2 * p + 1, 2**255, 2**255 - 1} <= found
    assert (2**54 - 1,) * 5 in rows and (0,) * 5 in rows
    assert any(row[1:] == (2**51 - 1,) * 4 and row[0] >= 2**51 - 19 for row in rows), "no carry runs through all limbs"
    spread = [row for row in rows if LOOSE.value(row) in (p, 2 * p) and any(limb >= 2**51 for limb in row[:4])]
    assert spread, "multiples of p only with reduced limbs"
    assert len(rows) > 12 * BLOCK, "few different values"


def test_edges_of_canonical_values_are_met() -> None:
    rows, columns = limbs_met(CANONICAL)
    p, r = P256.modulus, 2**256
    found = {CANONICAL.value(row) for row in rows}
    assert {0, 1, p - 1, p - 2, r % p, -r % p, (p - 1) // 2, 2**255, 2**224, 2**96 - 1, r - p} <= found
    assert max(found) == p - 1
    assert columns[1] >= {2**32 - 1, 0, 1, 2**64 - 1}


def test_a_second_input_completes_the_first() -> None:
    p = P256.modulus
    sums, products = set(), set()
    for a, b in vectors(signature(CANONICAL, CANONICAL), 30 * BLOCK, SEED):
        assert isinstance(a, tuple) and isinstance(b, tuple)
        x, y = CANONICAL.value(a), CANONICAL.value(b)
        if x > 2**64 and y > 2**64:
            sums.add(x + y)
            sums.add(x - y)
            products.add(x * y * P256.unscale % p)
    assert {p - 1, p, p + 1, 2**256, 0, 1, -1} <= sums
    assert {1, p - 1} <= products


def test_inputs_in_one_buffer_are_equal() -> None:
    for sig, contracts in ((ADD.signature, 1), (signature(LOOSE, P255.limbs_below(2**52)), 2)):
        every = cases(sig)
        outputs = len(sig.outputs)
        shared = 0
        for index, vector in enumerate(vectors(sig, 2 * BLOCK + 300, SEED)):
            slots = every[index % len(every)].mode.slots
            if slots[outputs] == slots[outputs + 1]:
                shared += 1
                assert vector[0] == vector[1]
        assert shared > BLOCK // 2 and contracts


def test_counts_are_small_and_include_zero() -> None:
    counts = [vector[0] for vector in vectors(signature(Count), 4 * BLOCK, SEED)]
    assert set(counts) >= set(range(21)) and max(counts) == 100  # type: ignore[type-var]
    assert sum(counts) / len(counts) < 8  # type: ignore[arg-type]


def test_byte_strings_have_edges_in_their_order() -> None:
    p = P255.modulus
    for order in ("little", "big"):
        contract = Bytes(32, order)  # type: ignore[arg-type]
        sig = Signature("t", "t", (Parameter("out", LOOSE),), (Parameter("a", contract),))
        found = {int.from_bytes(value, order) for (value,) in vectors(sig, 20 * BLOCK, SEED)}  # type: ignore[arg-type]
        assert {0, 1, p, p - 1, p + 1, 2**255, 2**256 - 1, 2 * p + 1} <= found


def test_values_of_whole_columns() -> None:
    """The quick way to values of limbs and bytes agrees with the plain one."""
    contracts: Sequence[Element | Bytes] = (LOOSE, CANONICAL, SCALED, ODD, Bytes(57, "big"), Bytes(9, "little"))
    block = Generator(signature(*contracts), SEED).block(0)
    for index, contract in enumerate(contracts):
        quick = values(contract, block.columns[index])
        for row in range(0, block.count, 7):
            value = block.vector(row)[index]
            if isinstance(contract, Bytes):
                assert isinstance(value, bytes) and quick[row] == int.from_bytes(value, contract.order)
            else:
                assert isinstance(value, tuple) and quick[row] == contract.value(value)


def test_described_kernels_have_the_fields_they_say() -> None:
    assert isinstance(ADD, Described) and ADD.expected((FIELD.modulus - 1, 2)) == (1,)
