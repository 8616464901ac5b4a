"""Ed448 over the generated routines of p448 against `cryptography`: keys, signatures and their verification."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import shake_256
from random import Random

import pytest
from calculator import TARGETS, Calculator, Number
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed448 import Ed448PrivateKey, Ed448PublicKey

ORDER = 2**446 - 13818066809895115352007386748515426880336692474882178609894547503885
MINUS_D = 39081
#: The base point, encoded; its x is even.
BASE = bytes.fromhex(
    "14fa30f25b790898adc8d74e2c13bdfdc4397ce61cffd33ad7c2a0051e9c78874098a36c7373ea4b62c7c9563720768824bcb66e71463f6900"
)
SEED = 20260401
SIGNATURES = {"amd64": 12, "arm64": 3}


class Edwards:
    """Points of x^2 + y^2 = 1 - 39081 x^2 y^2, as places of x, y and z. One addition holds for all: RFC 8032, 5.2.4."""

    def __init__(self, calculator: Calculator) -> None:
        self.calculator = calculator
        self._zero, self._one = calculator.put(0), calculator.put(1)
        self._total, self._base, self.key, self._sum = (
            [calculator.put(x) for x in (0, 1, 1)] for _ in range(4)
        )  # fmt: skip
        self._ratio, self._affine = ([calculator.place(), calculator.place()] for _ in range(2))
        assert self.take(BASE, self._base)
        tape = calculator.tape()
        tape.keep(self._sum, total(tape.numbers(self._base), tape.numbers(self.key)))
        tape.keep(self._total, tape.numbers((self._zero, self._one, self._one)))
        self._start = tape.code
        self._double = self._added(self._total)
        # What is added to the total for a bit of one scalar, of the other, of both.
        self._add = {key: self._added(point)
                     for key, point in (((1, 0), self._base), ((0, 1), self.key), ((1, 1), self._sum))}  # fmt: skip
        tape = calculator.tape()
        x, y, z = tape.numbers(self._total)
        unit = tape.call("invert", z.place)
        tape.keep(self._affine, [x * unit, y * unit])
        self._division = tape.code

    def _added(self, point: Sequence[int]) -> bytes:
        tape = self.calculator.tape()
        tape.keep(self._total, total(tape.numbers(self._total), tape.numbers(point)))
        return tape.code

    def take(self, text: bytes, point: Sequence[int], opposite: bool = False) -> bool:
        """Make `point` the one that is encoded so, or its opposite; whether there is one: RFC 8032, 5.2.3."""
        calculator, (x, y, _) = self.calculator, point
        odd = text[56] >> 7
        if text[56] & 0x7F or not calculator.decode(text[:56], y):
            return False
        tape = calculator.tape()
        one, number = tape.numbers((self._one, y))
        square = number.squared()
        tape.keep(self._ratio, [one - square, one + MINUS_D * square])
        calculator.do(tape.code)
        if not calculator.bit("sqrt_ratio", [x], *self._ratio) or (odd and calculator.bit("is_zero", [], x)):
            return False
        if odd ^ opposite:
            tape = calculator.tape()
            tape.keep([x], [tape.carried(tape.call("neg", x))])
            calculator.do(tape.code)
        return True

    def multiply(self, of_base: int, of_key: int = 0) -> bytes:
        """of_base * base + of_key * key, encoded."""
        parts = [self._start]
        for at in reversed(range(max(of_base.bit_length(), of_key.bit_length()))):
            bits = of_base >> at & 1, of_key >> at & 1
            parts += [self._double, self._add[bits]] if any(bits) else [self._double]
        self.calculator.do(b"".join([*parts, self._division]))
        x, y = (self.calculator.encode(place) for place in self._affine)
        return y + bytes([(x[0] & 1) << 7])

    # RFC 8032, 5.2.5 to 5.2.7.

    def public(self, secret: bytes) -> bytes:
        return self.multiply(_scalar(secret)[0])

    def sign(self, secret: bytes, message: bytes) -> bytes:
        scalar, prefix = _scalar(secret)
        r = _hashed(prefix, message)
        commitment = self.multiply(r)
        s = (r + _hashed(commitment, self.public(secret), message) * scalar) % ORDER
        return commitment + s.to_bytes(57, "little")

    def verify(self, public: bytes, message: bytes, signature: bytes) -> bool:
        commitment, s = signature[:57], int.from_bytes(signature[57:], "little")
        if s >= ORDER or not self.take(public, self.key, opposite=True):
            return False
        return self.multiply(s, _hashed(commitment, public, message)) == commitment


def total(left: Sequence[Number], right: Sequence[Number]) -> list[Number]:
    """The sum of two points."""
    (x1, y1, z1), (x2, y2, z2) = left, right
    z, xx, yy = z1 * z2, x1 * x2, y1 * y2
    zz, product = z.squared(), MINUS_D * (xx * yy)
    more, less = zz + product, zz - product
    cross = (x1 + y1) * (x2 + y2) - xx - yy
    return [z * more * cross, z * less * (yy - xx), more * less]


def _hashed(*parts: bytes) -> int:
    """Without a context, not hashed before."""
    return int.from_bytes(shake_256(b"SigEd448\0\0" + b"".join(parts)).digest(114), "little") % ORDER


def _scalar(secret: bytes) -> tuple[int, bytes]:
    """The scalar, and what the secret of a signature is made of."""
    text = shake_256(secret).digest(114)
    return int.from_bytes(text[:56], "little") & -4 | 1 << 447, text[57:]


FORMS = [(script, target) for script in ("p448_7x64", "p448_8x56") for target in TARGETS]


@pytest.fixture(scope="module", params=FORMS, ids="-".join)
def edwards(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Edwards, int]]:
    script, target = request.param
    with Calculator(script, target, tmp_path_factory.mktemp("ed448")) as calculator:
        yield Edwards(calculator), SIGNATURES[target]


def test_ed448(edwards: tuple[Edwards, int]) -> None:
    """The same keys and signatures, byte for byte; each verifies theirs, and neither one that was changed."""
    curve, count = edwards
    rng = Random(SEED)
    for length in range(count):
        secret, message = rng.randbytes(57), rng.randbytes(length)
        theirs = Ed448PrivateKey.from_private_bytes(secret)
        public, signature = curve.public(secret), curve.sign(secret, message)
        assert public == theirs.public_key().public_bytes_raw(), SEED
        assert signature == theirs.sign(message), SEED
        assert curve.verify(public, message, signature)
        at = rng.randrange(114)
        changed = bytearray(signature)
        changed[at] ^= 1 << rng.randrange(8)
        for text, what in ((bytes(changed), message), (signature, message + b"\0")):
            assert not curve.verify(public, what, text), (SEED, at)
            with pytest.raises(InvalidSignature):
                Ed448PublicKey.from_public_bytes(public).verify(text, what)


def test_multiples(edwards: tuple[Edwards, int]) -> None:
    """The neutral point, the order and its neighbors, and sums that meet in every special case."""
    curve, _ = edwards
    neutral, opposite = bytes([1, *(0,) * 56]), BASE[:56] + bytes([0x80])
    assert curve.take(BASE, curve.key)
    assert curve.multiply(0) == curve.multiply(ORDER) == curve.multiply(5, ORDER - 5) == neutral
    assert curve.multiply(1) == curve.multiply(ORDER + 1) == curve.multiply(0, 1) == BASE
    assert curve.multiply(ORDER - 1) == curve.multiply(2, ORDER - 3) == opposite
    assert curve.multiply(2) == curve.multiply(1, 1) == curve.multiply(ORDER - 1, 3) != BASE
    assert curve.take(opposite, curve.key) and curve.multiply(7, 7) == neutral
    for wrong in (neutral[:56] + b"\x80", BASE[:56] + b"\1", bytes([255] * 56 + [0]), bytes([2, *(0,) * 56])):
        assert not curve.take(wrong, curve.key), "no point, or not the way to write it"
