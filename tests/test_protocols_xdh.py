"""X25519 and X448 by the generated ladder steps: RFC 7748's vectors and Wycheproof's, on both targets."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from calculator import TARGETS, Calculator
from wycheproof import cases


@dataclass(frozen=True)
class Curve:
    """RFC 7748, 5: `bits` of a coordinate, and of a scalar the lowest `cofactor` cleared and the one at `top` set."""

    bits: int
    cofactor: int
    top: int
    base: int
    scripts: tuple[str, ...]
    #: Scalar, coordinate and what comes out: RFC 7748, 5.2, and one more.
    single: tuple[tuple[str, str, str], ...]
    #: After one iteration and after 1,000.
    iterated: tuple[str, str]

    @property
    def length(self) -> int:
        return -(-self.bits // 8)


X25519 = Curve(
    255, 3, 254, 9, ("curve25519_4x64", "curve25519_5x51"),
    (
        (
            "a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4",
            "e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c",
            "c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552",
        ),
        (
            "4b66e9d4d1b4673c5ad22691957d6af5c11b6421e0ea01d42ca4169e7918ba0d",
            "e5210f12786811d3f4b7959d0538ae2c31dbe7106fc03c3efc4cd549c715a493",
            "95cbde9476e8907d7aade45cb4b873f88b595a68799fa152e6f8f7647aac7957",
        ),
        # What comes out is close below the modulus: a library of 2013 wrote it down wrong.
        (
            "76f6507a08e5d77a9a7b316d93cbb59bafa2e13d1f84d181a35779e7fc471d19",
            "0900000000000000000000000000000000000000000000000000000000000000",
            "6f9253d8647cd88e3fb76358cfef0a9151aa8e7189fb6326dfb0603f6bffff7f",
        ),
    ),
    (
        "422c8e7a6227d7bca1350b3e2bb7279f7897b87bb6854b783c60e80311ae3079",
        "684cf59ba83309552800ef566f2f4d3c1c3887c49360e3875f2eb94d99532c51",
    ),
)  # fmt: skip
X448 = Curve(
    448, 2, 447, 5, ("p448_7x64", "p448_8x56"),
    (
        (
            "3d262fddf9ec8e88495266fea19a34d28882acef045104d0d1aae121700a779c984c24f8cdd78fbff44943eba368f54b29259a4f1c6"
            "00ad3",
            "06fce640fa3487bfda5f6cf2d5263f8aad88334cbd07437f020f08f9814dc031ddbdc38c19c6da2583fa5429db94ada18aa7a7fb4ef"
            "8a086",
            "ce3e4ff95a60dc6697da1db1d85e6afbdf79b50a2412d7546d5f239fe14fbaadeb445fc66a01b0779d98223961111e21766282f73dd"
            "96b6f",
        ),
        (
            "203d494428b8399352665ddca42f9de8fef600908e0d461cb021f8c538345dd77c3e4806e25f46d3315c44e0a5b4371282dd2c8d5be"
            "3095f",
            "0fbcc2f993cd56d3305b0b7d9e55d4c1a8fb5dbb52f8e9a1e9b6201b165d015894e56c4d3570bee52fe205e28a78b91cdfbde71ce8d"
            "157db",
            "884a02576239ff7a2f2f63b2db6a9ff37047ac13568e1e30fe63c4a7ad1b3ee3a5700df34321d62077e63633c575c1c954514e99da7"
            "c179d",
        ),
    ),
    (
        "3f482c8a9f19b01e6c46ee9711d9dc14fd4bf67af30765c2ae2b846a4d23a8cd0db897086239492caf350b51f833868b9bc2b3bca9cf411"
        "3",
        "aa3b4749d55b9daf1e5b00288826c467274ce3ebbdd5c17b975e09d4af6c67cf10d087202db88286e2b79fceea3ec353ef54faa26e219f3"
        "8",
    ),
)  # fmt: skip
CURVES = {"x25519": X25519, "x448": X448}
FORMS = [(name, script, target) for name, curve in CURVES.items() for script in curve.scripts for target in TARGETS]


class Ladder:
    """The function of RFC 7748, 5, over a script's routines."""

    def __init__(self, curve: Curve, calculator: Calculator) -> None:
        self.curve, self.calculator = curve, calculator
        self.x1, self.quotient = calculator.place(), calculator.place()
        self.one, self.zero = calculator.put(1), calculator.put(0)
        self.state = [calculator.place() for _ in range(4)]  # x2, z2, x3, z3: outputs over inputs
        self.steps = [calculator.code("ladder_step", self.state, [bit, self.x1, *self.state]) for bit in (0, 1)]
        tape = calculator.tape()
        x1, one, zero = tape.numbers((self.x1, self.one, self.zero))
        tape.keep(self.state, [one, zero, x1, one])
        self.start = tape.code
        tape = calculator.tape()
        x2, z2, x3, z3 = tape.numbers(self.state)
        tape.keep([self.quotient], [x2 * tape.call("invert", z2.place)])
        self.end = tape.code

    def __call__(self, scalar: bytes, coordinate: bytes) -> bytes:
        curve, calculator = self.curve, self.calculator
        k = int.from_bytes(scalar, "little") % (1 << curve.top) | 1 << curve.top
        k = k >> curve.cofactor << curve.cofactor
        # Any coordinate is taken, but for its bits beyond those of the field.
        x = int.from_bytes(coordinate, "little") % (1 << curve.bits)
        calculator.write(self.x1, [int(limb) for limb in calculator.field.limbs_of(x)])
        swaps, last = [], 0
        for at in reversed(range(curve.top + 1)):
            swaps.append((k >> at & 1) ^ last)
            last = k >> at & 1
        assert last == 0, "the lowest bit of a scalar is clear: nothing is to be swapped at the end"
        calculator.do(b"".join([self.start, *(self.steps[swap] for swap in swaps), self.end]))
        return calculator.encode(self.quotient)


@pytest.fixture(scope="module", params=FORMS, ids="-".join)
def ladder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ladder]:
    name, script, target = request.param
    with Calculator(script, target, tmp_path_factory.mktemp("xdh")) as calculator:
        yield Ladder(CURVES[name], calculator)


def test_rfc_7748(ladder: Ladder) -> None:
    """The single vectors, then one iteration and 1,000: each result is the next scalar, the scalar the coordinate."""
    curve = ladder.curve
    for scalar, coordinate, wanted in curve.single:
        assert ladder(bytes.fromhex(scalar), bytes.fromhex(coordinate)).hex() == wanted
    k = u = curve.base.to_bytes(curve.length, "little")
    for turn in range(1000):
        k, u = ladder(k, u), k
        if turn == 0:
            assert k.hex() == curve.iterated[0]
    assert k.hex() == curve.iterated[1]


def test_wycheproof(ladder: Ladder, pytestconfig: pytest.Config) -> None:
    """Twist points, points of low order, coordinates that are not reduced: all give what is written there."""
    name = next(name for name, curve in CURVES.items() if curve is ladder.curve)
    tried = 0
    for _, case in cases(name, pytestconfig, 7):
        public = bytes.fromhex(case["public"])
        if len(public) != ladder.curve.length:
            assert case["result"] == "invalid", "only what has another length is refused"
            continue
        found = ladder(bytes.fromhex(case["private"]), public)
        assert found.hex() == case["shared"], (case["tcId"], case["comment"])
        tried += 1
    assert tried > 50
