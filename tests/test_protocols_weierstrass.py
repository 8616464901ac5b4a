"""ECDH on P-256, ECDSA on P-256 and secp256k1 over generated field routines, against Wycheproof's files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256

import pytest
from calculator import TARGETS, Calculator
from weierstrass import P256, SECP256K1, Curve, Group
from wycheproof import cases

SCRIPTS = {"p256": P256, "secp256k1_4x64": SECP256K1, "secp256k1_5x52": SECP256K1}
#: One case in so many is tried: qemu takes its time.
EVERY = {"amd64": 9, "arm64": 60}


@dataclass(frozen=True)
class Setting:
    """The points of a script's curve; `order` are the routines modulo the order of the base point, if there are any."""

    group: Group
    order: Calculator | None
    every: int

    @property
    def curve(self) -> Curve:
        return self.group.curve

    def ratios(self, e: int, r: int, s: int) -> tuple[int, int]:
        """e / s and r / s modulo the order."""
        n = self.curve.n
        if self.order is None:
            return e * pow(s, -1, n) % n, r * pow(s, -1, n) % n
        calculator = self.order
        places = [calculator.put(x) for x in (e, r)]
        divisor = calculator.put(0)
        assert calculator.decode(s.to_bytes(32, "big"), divisor)
        calculator.do(calculator.code("invert", [divisor], [divisor]))
        for place in places:
            calculator.do(calculator.code("mul", [place], [place, divisor]))
        first, second = (int.from_bytes(calculator.encode(place), "big") for place in places)
        return first, second


@pytest.fixture(scope="module", params=[(script, target) for script in SCRIPTS for target in TARGETS], ids="-".join)
def setting(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Setting]:
    script, target = request.param
    directory = tmp_path_factory.mktemp("weierstrass")
    with Calculator(script, target, directory) as calculator:
        group = Group(SCRIPTS[script], calculator)
        if script != "p256":
            yield Setting(group, None, EVERY[target])
            return
        with Calculator("p256_order", target, directory) as order:
            yield Setting(group, order, EVERY[target])


def test_multiples_of_the_base(setting: Setting) -> None:
    """The order and its neighbors, small numbers, and sums of two multiples that meet in every special case."""
    group, (x, y), n = setting.group, setting.curve.base, setting.curve.n
    assert group.take(x.to_bytes(32, "big"), y.to_bytes(32, "big"))
    base = x.to_bytes(32, "big")
    assert group.multiply(1) == group.multiply(n - 1) == group.multiply(n + 1) == base
    assert group.multiply(n) is group.multiply(0) is None
    assert group.multiply(2) == group.multiply(1, 1) == group.multiply(n - 2) != base
    assert group.multiply(5, n - 5) is None and group.multiply(5, n - 4) == group.multiply(7, n - 6) == base
    assert not group.take(x.to_bytes(32, "big"), (y ^ 1).to_bytes(32, "big"))
    for odd in (0, 1):
        assert group.take_compressed(base, odd) and group.multiply(3, 1) == group.multiply(4 if odd == y % 2 else 2)
    assert not group.take(setting.curve.p.to_bytes(32, "big"), y.to_bytes(32, "big"))


@pytest.mark.parametrize("setting", [("p256", target) for target in TARGETS], indirect=True, ids="-".join)
def test_ecdh(setting: Setting, pytestconfig: pytest.Config) -> None:
    """Points as they come: on the curve or not, compressed or not, of no length at all."""
    results = set()
    for _, case in cases("ecdh_secp256r1_ecpoint", pytestconfig, setting.every):
        point, where = bytes.fromhex(case["public"]), (case["tcId"], case["comment"])
        group = setting.group
        taken = False
        if len(point) == 65 and point[0] == 4:
            taken = group.take(point[1:33], point[33:])
        elif len(point) == 33 and point[0] in (2, 3):
            taken = group.take_compressed(point[1:], point[0] - 2)
        if case["result"] == "invalid":
            assert not taken, where
        else:
            shared = group.multiply(int(case["private"], 16)) if taken else None
            assert shared == bytes.fromhex(case["shared"]), where
        results.add(case["result"])
    assert "valid" in results


def number(text: bytes, at: int) -> tuple[int, int] | None:
    """The positive DER integer at a place and where it ends."""
    if at + 2 > len(text) or text[at] != 2 or text[at + 1] > 0x7F:
        return None
    digits = text[at + 2 : at + 2 + text[at + 1]]
    if len(digits) != text[at + 1] or not digits or digits[0] > 0x7F or (len(digits) > 1 and digits[:2] < b"\0\x80"):
        return None
    return int.from_bytes(digits, "big"), at + 2 + len(digits)


def signature(text: bytes) -> tuple[int, int] | None:
    """r and s of a signature in DER, None where it is not in that one form."""
    if len(text) < 2 or text[0] != 0x30 or text[1] > 0x7F or text[1] != len(text) - 2:
        return None
    first = number(text, 2)
    second = number(text, first[1]) if first else None
    return (first[0], second[0]) if first and second and second[1] == len(text) else None


def verified(setting: Setting, message: bytes, text: bytes) -> bool:
    """Whether a signature by `key` is good: SEC 1, 4.1.4."""
    n, found = setting.curve.n, signature(text)
    if not found or not all(0 < each < n for each in found):
        return False
    r, s = found
    for_base, for_key = setting.ratios(int.from_bytes(sha256(message).digest(), "big"), r, s)
    x = setting.group.multiply(for_key, for_base)
    return x is not None and int.from_bytes(x, "big") % n == r


def test_ecdsa(setting: Setting, pytestconfig: pytest.Config) -> None:
    """Signatures that are good, and all ways in which one is not."""
    name = "secp256r1" if setting.curve is P256 else "secp256k1"
    results = set()
    for group, case in cases(f"ecdsa_{name}_sha256", pytestconfig, setting.every):
        key = bytes.fromhex(group["publicKey"]["uncompressed"])
        assert setting.group.take(key[1:33], key[33:])
        found = verified(setting, bytes.fromhex(case["msg"]), bytes.fromhex(case["sig"]))
        assert found == (case["result"] == "valid"), (case["tcId"], case["comment"])
        results.add(case["result"])
    assert {"valid", "invalid"} <= results
