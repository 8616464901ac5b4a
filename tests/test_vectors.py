"""Every vector of tests/vectors that a shipped script can take, in every way to share buffers, on both targets."""

from __future__ import annotations

import pytest
from vectors import FOLDER, Call, calls, emulated, machine, vectors

from asmgen.contracts import Element
from asmgen.function import Function
from asmgen.scripts import load

SCRIPTS = sorted(path.stem for path in FOLDER.glob("*.json"))
#: Vectors that do not keep a script's contracts: operands that are not below the modulus, or limbs that are longer than
#: a limb of such a one.
REFUSED = {
    "curve25519_4x64": 7, "curve25519_5x51": 0, "p256": 9, "p256_order": 8, "p384": 7, "p448_7x64": 11,
    "p448_8x56": 11, "p521_9x58": 0, "secp256k1_4x64": 15, "secp256k1_5x52": 0,
}  # fmt: skip
TARGETS = [("amd64", "default"), ("amd64", "base"), ("arm64", "default")]


def test_there_are_vectors() -> None:
    assert set(REFUSED) == set(SCRIPTS)
    for script in SCRIPTS:
        found = vectors(script)
        assert len({vector.id for vector in found}) == len(found) > 80


@pytest.mark.parametrize("script", SCRIPTS)
def test_what_is_refused_breaks_a_contract(script: str) -> None:
    taken = {call.vector.id for call in calls(script)}
    refused = [vector for vector in vectors(script) if vector.id not in taken]
    assert len(refused) == REFUSED[script]
    contract = next(calls(script)).kernel.signature.outputs[0].contract
    assert isinstance(contract, Element)
    field = contract.field
    for vector in refused:
        canonical = max(vector.inputs) < field.modulus
        assert not canonical or vector.limbs and [list(limbs) for limbs in vector.limbs] != [
            [int(limb) for limb in field.limbs_of(value)] for value in vector.inputs
        ], (vector, "nothing canonical is refused")


@pytest.mark.parametrize("script", SCRIPTS)
def test_on_plain_integers(script: str) -> None:
    for call in calls(script):
        out, *rest = _several(call.kernel(*(list(x) if isinstance(x, tuple) else x for x in call.inputs)))
        assert not call.faults((tuple(map(int, out)), *map(int, rest))), call.vector


def _several(made: object) -> tuple[object, ...]:
    return made if isinstance(made, tuple) else (made,)


@pytest.mark.parametrize(("target", "features"), TARGETS, ids=[f"{target}-{features}" for target, features in TARGETS])
@pytest.mark.parametrize("script", SCRIPTS)
def test_emulated(script: str, target: str, features: str) -> None:
    ways: set[str] = set()
    for call in calls(script):
        for way, outputs in emulated(call.kernel, call.inputs, target, features):
            assert not call.faults(outputs), (call.vector, way)
            ways.add(way.partition(", buffers")[0])
    assert {"separate", "out = a", "out = b", "a = b", "out = a = b"} <= ways
    counts_are_whole(load(script).kernels["square_n"], target, features)


def counts_are_whole(square_n: Function, target: str, features: str) -> None:
    """The loop looks at all 64 bits of its count: after more instructions than three passes take, calls with small
    counts are done and no others."""
    contract = square_n.signature.inputs[0].contract
    assert isinstance(contract, Element)
    emulator = machine(square_n, target, features)
    for n in (0, 1, 3, 2**31, 2**32, 2**32 + 1, 2**63, 2**64 - 1):
        block = emulator._single(((1, *(0,) * (contract.words - 1)), n), 0)
        emulator._load(emulator._engine, block, 1)
        emulator._go(emulator._engine, block, 0, limit=10_000)
        assert emulator._memory.remaining == (n > 3), n


def test_a_wrong_result_is_found() -> None:
    call = next(call for call in calls("p256") if call.vector.op == "mul" and min(call.vector.inputs) > 1)
    _, outputs = next(emulated(call.kernel, call.inputs, "amd64"))
    (out,) = outputs
    assert isinstance(out, tuple) and not call.faults((out,))
    contract = call.kernel.signature.outputs[0].contract
    assert isinstance(contract, Element)
    for wrong in ((out[0] ^ 1, *out[1:]), contract.field.limbs_of(call.vector.expected)):
        assert call.faults((tuple(map(int, wrong)),)), "one bit, and the residue without its Montgomery form"
    assert isinstance(call, Call)
