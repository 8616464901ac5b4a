"""R37: code was made for inputs that are reduced more than those it was documented for."""

from __future__ import annotations

from pathlib import Path

import pytest
from shipped import kernel
from vectors import calls, emulated

from asmgen.contracts import Element
from asmgen.errors import AsmgenError
from asmgen.kernel import Kernel
from asmgen.scripts import directory, load
from emulate.compare import judge

P = 2**255 - 19


def widened(bits: int, tmp_path: Path) -> Path:
    """The shipped script, but taking limbs of so many bits."""
    text = (directory() / "curve25519_5x51.py").read_text()
    assert "limbs_below(2**54)" in text
    path = tmp_path / "widened.py"
    path.write_text(text.replace("limbs_below(2**54)", f"limbs_below(2**{bits})"))
    return path


@pytest.mark.parametrize("target", ["amd64", "arm64"])
@pytest.mark.parametrize("bits", [55, 57, 58, 60, 64])
def test_a_wider_promise_is_kept_or_refused(bits: int, target: str, tmp_path: Path) -> None:
    """The bound is proved, not believed: more words are made where they are needed, or it is said what may happen."""
    try:
        made = load(widened(bits, tmp_path)).kernels["mul"]
        assert isinstance(made, Kernel) and made.trace()
    except AsmgenError as error:
        assert "may reach" in str(error)
        return
    for a, b in ((2**bits - 1, 2**bits - 1), (2**bits - 1, 1), (2 ** (bits - 1), 2**bits - 19)):
        inputs = ((a,) * 5, (b,) * 5)
        for _, outputs in emulated(made, inputs, target):
            assert not judge(made, inputs, outputs), (bits, a, b)


LIBSECP256K1 = (2 * 8 * 2**52 - 1,) * 4 + (2 * 8 * 2**48 - 1,)


def of_magnitude(m: int, tmp_path: Path) -> Path:
    """The shipped script of secp256k1 in five limbs, but with products that take magnitude m."""
    text = (directory() / "secp256k1_5x52.py").read_text()
    assert text.count("loose = magnitude(8)") == 1
    path = tmp_path / f"magnitude_{m}.py"
    path.write_text(text.replace("loose = magnitude(8)", f"loose = magnitude({m})"))
    return path


@pytest.mark.parametrize("target", ["amd64", "arm64"])
@pytest.mark.parametrize("m", [8, 9, 15, 16, 32, 2**11])
def test_a_larger_magnitude_is_taken_or_refused(m: int, target: str, tmp_path: Path) -> None:
    """secp256k1 in five limbs: magnitude 8 is promised; what lies beyond is proved right anew, or refused."""
    try:
        made = load(of_magnitude(m, tmp_path)).kernels["mul"]
        assert isinstance(made, Kernel) and made.trace()
    except AsmgenError as error:
        assert m > 8 and "may reach" in str(error)
        return
    contract = made.signature.inputs[0].contract
    assert isinstance(contract, Element)
    most = contract.limb_max
    assert m != 8 or most == LIBSECP256K1
    for a, b in ((most, most), (most, (1, 0, 0, 0, 0)), ((*most[:4], 0), (0, 0, 0, 0, most[4]))):
        for _, outputs in emulated(made, (a, b), target):
            assert not judge(made, (a, b), outputs), (m, a, b)


def test_libsecp256k1s_contract_is_the_one_promised() -> None:
    """Limbs up to 2^56 and the last one 2^52 come in, 2^52 and 2^49 go out."""
    for name in ("mul", "sqr"):
        signature = kernel("secp256k1_5x52", name).signature
        taken, (given,) = {p.contract for p in signature.inputs}, [p.contract for p in signature.outputs]
        assert all(isinstance(each, Element) and each.limb_max == LIBSECP256K1 for each in taken)
        assert isinstance(given, Element) and given.limb_max == (2**52 - 1,) * 4 + (2**49 - 1,)


def test_a_promise_that_results_break_is_refused(tmp_path: Path) -> None:
    path = widened(54, tmp_path)
    path.write_text(path.read_text().replace("limbs_below(2**52)", "limbs_below(2**51)"))
    with pytest.raises(AsmgenError, match="may reach"):
        load(path).kernels["mul"].trace()  # type: ignore[union-attr]


@pytest.mark.parametrize("target", ["amd64", "arm64"])
@pytest.mark.parametrize("name", ["mul", "sqr", "square_n"])
def test_the_largest_inputs_of_the_contract(name: str, target: str) -> None:
    """All limbs at what the header promises to take, which is four times the bound that results keep."""
    made = kernel("curve25519_5x51", name)
    contract = made.signature.inputs[0].contract
    assert isinstance(contract, Element)
    most = contract.limb_max
    value = contract.value(most)
    given = tuple(most if isinstance(p.contract, Element) else 3 for p in made.signature.inputs)
    wanted = {"mul": value * value, "sqr": value * value, "square_n": pow(value, 8, P)}[name]
    for _, (out,) in emulated(made, given, target):
        assert isinstance(out, tuple) and (contract.value(out) - wanted) % P == 0
        assert all(limb < 2**52 for limb in out)


def test_vectors_at_the_bounds_are_there() -> None:
    limbs = [(call, max(map(max, call.vector.limbs))) for call in calls("curve25519_5x51") if call.vector.limbs]
    large = [call for call, most in limbs if most > 2**52]
    assert len(large) >= 5 and {call.kernel.name for call in large} >= {"mul", "sqr"}
